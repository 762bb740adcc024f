"""Literal strings and numbers of a control file, decoded without CPython's parser."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: Letters before a string.
_PREFIXES: Final = frozenset({"", "f", "fr", "r", "rf", "u"})
_ESCAPES: Final = {
    **{"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f"},
    **{"n": "\n", "r": "\r", "t": "\t", "v": "\v"},
}
_ESCAPE: Final = re.compile(
    r"\\(?:([\n\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|N\{([^{}]*)\}|([xuUN]))"
)
#: Patterns for lark: its own take time that is quadratic in the length of a wrong string.
PATTERNS: Final = {
    "STRING": r"([ubf]?r?|r[ubf])"
    r"""("(?!"")(?:[^"\\\n]|\\[\s\S])*"|'(?!'')(?:[^'\\\n]|\\[\s\S])*')""",
    "LONG_STRING": r"([ubf]?r?|r[ubf])"
    r'''("""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]|\\[\s\S]|'(?!\'\'))*\'\'\')''',
}


def split_literal(token: str) -> tuple[str, str]:
    """Return the letters before a string and the text between its quotes.  Raises ValueError."""
    prefix = token[: min(token.find(quote) for quote in "\"'" if quote in token)]
    quotes = 3 if token[len(prefix) :].startswith(('"""', "'''")) else 1
    if prefix.lower() not in _PREFIXES:
        raise ValueError(f"{prefix} before a string is not allowed in safe mode")
    return prefix.lower(), token[len(prefix) + quotes : -quotes]


def decoded(text: str) -> str:
    """Return a text with its escapes replaced.  Raises ValueError."""
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    plain, octal, two, four, eight, name, wrong = match.groups()
    if plain is not None:
        return _ESCAPES[plain]
    try:
        if name is not None:
            return unicodedata.lookup(name)
        return chr(int(octal, 8) if octal else int(two or four or eight or wrong, 16))
    except (ValueError, OverflowError, KeyError):
        raise ValueError(f"{match[0]} is not a character") from None


def number(token: str, is_float: bool) -> int | float:
    """Return a number.  Raises ValueError."""
    digits = token.replace("_", "")
    if len(digits) > 1000:
        raise ValueError("this number is too long")
    return float(digits) if is_float else int(digits, 0)
