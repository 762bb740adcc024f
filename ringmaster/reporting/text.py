"""Make foreign text printable, and measure, cut and pad it by terminal columns.

Engine names, messages and descriptions may contain escape sequences, right-to-left overrides or a
megabyte of letters.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator

#: Replaces unprintable characters.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS = "…"
#: Columns after which a line is cut, however much room there is.
LINE_LIMIT = 1000
#: Columns of texts that are not for a terminal.
TEXT_COLUMNS = 100

# CSI sequences, strings (OSC, DCS, APC, PM, SOS) with their terminator, and other escapes
# (ECMA-48 8.3), also in eight-bit form.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_NEWLINES = re.compile("[\t\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]+")
_PLAIN = re.compile(r"[ -~]*\Z")

# No language has more marks on a letter.
_MARKS_PER_LETTER = 3

_ASCII_FORMS = str.maketrans(
    {
        ELLIPSIS: "...",
        "\u2018": "'",
        "\u2019": "'",
        "│": "|",
        "×": "x",
        "≤": "<=",
        "≥": ">=",
        "−": "-",
        "·": ".",
        "½": "1/2",
        "θ": "theta",
        "δ": "delta",
        "–": "-",
        "—": "-",
        "━": "#",
        "╸": "#",
        "─": "-",
        "±": "+/-",
        "→": ">",
        "↑": "^",
        "↓": "v",
        **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)),
        REPLACEMENT: "?",
    }
)


def folded(lines: Iterable[str], columns: int = TEXT_COLUMNS, indent: int = 4) -> tuple[str, ...]:
    """Return sanitised lines broken between words; longer words stay whole.

    indent  columns by which continuations are indented, in addition to their line
    """
    broken: list[str] = []
    for line in lines:
        margin = " " * (len(line) - len(line.lstrip()) + indent)
        while width(line) > columns:
            # the space may be just beyond the last column
            most = len(cut(line, columns + 2)) - 1
            first = len(line) - len(line.lstrip()) + 1
            space = line.rfind(" ", first, most)
            if space < 0:
                space = line.find(" ", max(first, most))
            if space < 0:
                break
            broken.append(line[:space].rstrip())
            line = margin + line[space:].lstrip()
        broken.append(line)
    return tuple(broken)


def sanitise(text: str, limit: int | None = None) -> str:
    """Return `text` as one line that is safe to print.

    Line breaks and tabs become a space.  Escape sequences and control characters become U+FFFD.
    Invisible format characters, such as bidi controls, are removed.

    limit  columns; a longer text is cut and ends in "…"
    """
    if limit is not None and len(text) > 8 * limit + 64:
        # cut first, so that a megabyte costs nothing; a column has at most eight characters
        text = text[: 8 * limit + 64]
    if not _PLAIN.match(text):
        text = _ESCAPE.sub(REPLACEMENT, text)
        text = _NEWLINES.sub(" ", text)
        text = "".join(_visible(unicodedata.normalize("NFC", text)))
    return text if limit is None else cut(text, limit)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, each safe to print and without spaces at its end."""
    # not splitlines: an engine's U+2028 must not begin a line
    lines = text.expandtabs().removesuffix("\n").split("\n") if text else []
    return [sanitise(line, LINE_LIMIT).rstrip() for line in lines]


def _visible(text: str) -> Iterator[str]:
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        if category in ("Mn", "Me"):
            marks += 1
            # variation selectors change the width of the character before them
            if marks <= _MARKS_PER_LETTER and not "\ufe00" <= char <= "\ufe0f":
                yield char
            continue
        if category == "Cf":
            continue
        marks = 0
        if category == "Zs":
            yield " "
        elif category[0] == "C":
            yield REPLACEMENT
        else:
            yield char


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    """Return the number of terminal columns of sanitised text."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def clusters(text: str) -> Iterator[str]:
    """Yield letters with their combining marks."""
    cluster = ""
    for char in text:
        if cluster and _char_width(char):
            yield cluster
            cluster = ""
        cluster += char
    if cluster:
        yield cluster


def cut(text: str, columns: int) -> str:
    """Return sanitised text, shortened to `columns` with "…" at its end."""
    if columns <= 0:
        return ""
    if width(text) <= columns:
        return text
    start, used = "", 0
    for cluster in clusters(text):
        used += width(cluster)
        if used > columns - 1:
            break
        start += cluster
    return start + ELLIPSIS


def pad(text: str, columns: int) -> str:
    """Return sanitised text with spaces up to `columns`."""
    return text + " " * (columns - width(text))


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end].translate(_ASCII_FORMS)
    return "".join(char if char.isascii() else "?" for char in missing), error.end


#: How streams encode the characters that their encoding lacks: in ASCII, "…" becomes "...",
#: and "技" and the bytes of a file name that are not UTF-8 become "?".
ENCODING_ERRORS = "ringmaster.in_ascii"
codecs.register_error(ENCODING_ERRORS, _in_ascii)
