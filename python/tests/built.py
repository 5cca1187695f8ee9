"""What is built beside the package."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program():
    """The program `diffeo`: the one that DIFFEO names, else one that was built here."""
    named = [pathlib.Path(os.environ["DIFFEO"])] if "DIFFEO" in os.environ else []
    found = [path for path in [*named, *(ROOT / "target" / how / "diffeo" for how in ("release", "quick"))] if path.exists()]
    if not found:
        pytest.skip("there is no program `diffeo` in target/", allow_module_level=True)
    return found[0]
