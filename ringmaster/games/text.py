"""Engine text made harmless before it goes into a record or a message.

Names, comments and moves come from hostile processes.  Here they lose control
characters, lone surrogates (which UTF-8 cannot hold) and excess length; quoting
for one format or another is left to its writer.
"""

from __future__ import annotations

import re
from typing import Final

#: C0 and C1 controls, line and paragraph separators, bidirectional overrides
#: (which make a terminal or an editor show a line in another order).
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
_CONTROLS_BUT_NEWLINE: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+"
)
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_NEWLINES: Final = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")


def cut(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters, with "…" for what is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown(text: str, limit: int = 40) -> str:
    """Return `text` quoted for an error message, escaped, cut to `limit` characters."""
    return repr(cut(text, limit))


def one_line(text: str, limit: int = 500) -> str:
    """Return `text` on one line: runs of control characters become a space."""
    # what is printable in Python's sense has nothing that is replaced here
    if len(text) <= limit and text.isprintable():
        return text.strip()
    text = _CONTROLS.sub(" ", text[: 2 * limit])
    return cut(_SURROGATES.sub("\ufffd", text).strip(), limit)


def lines(text: str, limit: int = 20_000) -> str:
    """Return `text` with its line breaks as "\\n" and no other control character."""
    text = _NEWLINES.sub("\n", text[: 2 * limit])
    text = _CONTROLS_BUT_NEWLINE.sub(" ", text)
    return cut(_SURROGATES.sub("\ufffd", text).strip(), limit)
