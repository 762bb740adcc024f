"""How values and names are put into messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shown(value: Any, limit: int = 60) -> str:
    """Return `value` as an error message shows it: its repr, cut to size."""
    if callable(value) and hasattr(value, "__name__"):
        return f"function {value.__name__}"  # its repr has an address, which changes
    try:
        text = repr(value)
    except Exception:  # a class of the control file, or an int of too many digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def counted(number: int, thing: str) -> str:
    """Return "1 win", "2 wins", "0 losses"."""
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}{'es' if thing.endswith('s') else 's'}"


def is_text(value: str) -> bool:
    """Whether a string can be written anywhere: no NUL, no lone surrogates."""
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def nearest(name: str, known: Sequence[str], most: int = 3) -> str:
    """Return "'a' or 'b'": the names most like `name`, or all names if none is."""
    import difflib

    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=most, cutoff=0.6)
    names = [folded[c] for c in close] or list(known)
    return "one of " + ", ".join(names) if len(names) > 2 else " or ".join(map(repr, names))
