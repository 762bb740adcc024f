"""Make engine text harmless before it enters a record or a message.

Names, comments and moves come from hostile processes.  Cleaning removes control characters,
lone surrogates (which UTF-8 cannot hold) and excess length.
"""

from __future__ import annotations

import re
from typing import Final

from ringmaster.errors import OBEYED, cut

_CONTROLS: Final = re.compile(rf"[\t\n{OBEYED}]+")
_CONTROLS_BUT_NEWLINE: Final = re.compile(rf"[\t{OBEYED}]+")
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_NEWLINES: Final = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")


def shown(text: str, limit: int = 40) -> str:
    """Return `text` quoted for an error message, escaped, cut to `limit` characters."""
    return repr(cut(text, limit))


def one_line(text: str, limit: int = 500) -> str:
    """Return `text` on one line, with a space for each run of control characters."""
    # printable text, in Python's sense, has nothing to replace
    if len(text) <= limit and text.isprintable():
        return text.strip()
    text = _CONTROLS.sub(" ", text[: 2 * limit])
    return cut(_SURROGATES.sub("\ufffd", text).strip(), limit)


def lines(text: str, limit: int = 20_000) -> str:
    """Return `text` with its line breaks as "\\n" and no other control character."""
    text = _NEWLINES.sub("\n", text[: 2 * limit])
    text = _CONTROLS_BUT_NEWLINE.sub(" ", text)
    return cut(_SURROGATES.sub("\ufffd", text).strip(), limit)
