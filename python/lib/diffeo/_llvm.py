"""The LLVM that `pip install 'diffeo[llvm]'` brings: that of llvmlite."""

import importlib.util
import os

from ._diffeo import look_for_llvm_in


def look_for_llvm():
    """Tells the engines where llvmlite's library is, if it is installed; it is loaded when it is needed."""
    spec = importlib.util.find_spec("llvmlite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        look_for_llvm_in(os.path.join(folder, "binding"))
