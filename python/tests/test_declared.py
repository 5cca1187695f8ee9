"""Declared types by chance, with values: what comes out of a program goes in again, and is the same there.

``declared.jsonl`` has a line for each type. Others are made by the test ``declared_types_as_lines`` of the crate ``diffeo``,
and are read from the file that ``DIFFEO_DECLARED`` names.
"""

import json
import os
from pathlib import Path

import diffeo
import pytest

FILE = Path(os.environ.get("DIFFEO_DECLARED", Path(__file__).with_name("declared.jsonl")))


def wrong(case, engine):
    """What differs for a type, a line each."""
    ty = case["type"]
    text = f"""{case["definitions"]}
def given: {ty} = {case["value"]}
def same(x: {ty}) = x
def shown(x: {ty}) -> String = show(x)
def f(x: {ty}) -> Real = {case["norm"]}
"""
    try:
        module = diffeo.source(text)
    except diffeo.Error as error:
        # Arrays of different lengths cannot be written side by side.
        return [] if "size" in str(error) else [str(error)]
    shown, same, f = (module.function(name, engine=engine) for name in ("shown", "same", "f"))
    given = module.given
    # The parts of a tuple are the arguments.
    parts = isinstance(given, tuple)
    arguments = given if parts else (given,)
    found = [("out and in", shown(*arguments), case["value"])]
    again = same(*arguments)
    found.append(("twice", shown(*again) if parts else shown(again), case["value"]))
    which = tuple(range(len(given))) if parts else 0
    try:
        gradient = diffeo.grad(f, argnums=which)(*arguments)
        found.append(("gradient", shown(*gradient) if parts else shown(gradient), case["doubled"]))
    except diffeo.ArgumentError as error:
        # A type without a Real, whose values have nothing to double.
        if "no Real to differentiate by" not in str(error) or case["doubled"] != case["value"]:
            found.append(("gradient", str(error), case["doubled"]))
    return [f"{what}: expected {to}, found {now}" for what, now, to in found if now != to]


@pytest.mark.parametrize("engine", ["jit", "interp"])
def test_values_of_declared_types(engine):
    failures = []
    cases = [json.loads(line) for line in FILE.read_text().splitlines()]
    assert len(cases) >= 90
    for case in cases:
        failures += [f"type {case['seed']} {case['type']}\n{case['definitions']}{what}" for what in wrong(case, engine)]
        if len(failures) > 20:
            break
    assert not failures, "\n".join(failures)
