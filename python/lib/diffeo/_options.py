"""Options of functions that are misnamed: the names that there are, and what other packages call them."""

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def known(elsewhere: Mapping[str, str]) -> Callable[[_F], _F]:
    """Has a function tell which options it has; ``elsewhere`` says what to do about names that others use."""

    def decorated(f: _F) -> _F:
        parameters = inspect.signature(f).parameters
        options = [name for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY]

        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            for name in named:
                if name not in parameters:
                    raise TypeError(_unknown(f.__name__, name, options, elsewhere))
            return f(*args, **named)

        return call  # type: ignore[return-value]

    return decorated


def _unknown(function: str, name: str, options: list[str], elsewhere: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name, options, 1)
    told = elsewhere.get(name) or (near[0] if near else None)
    if told is None:
        return f"{function} has no option {name}; it has {', '.join(options)}"
    does = f"write {told}=" if told.isidentifier() else told
    return f"{function} has no option {name}: {does} (it has {', '.join(options)})"
