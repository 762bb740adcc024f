"""The lines of an opening file, and how much of one an error shows."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from ringmaster.errors import OpeningsError
from ringmaster.games.text import shown

#: Characters of a bad line that an error shows.
QUOTED = 60
#: Bytes in a line: keeps a wrong file (a disk image, /dev/zero) out of memory.
LONGEST = 1 << 16
#: A whole game with comments may stand on one line.
LONGEST_OF_PGN = 1 << 20


def cannot_read(path: str, error: OSError) -> OpeningsError:
    """Return the error for a file that the system will not give us."""
    reason = (error.strerror or str(error)).lower()
    return OpeningsError(path, None, f"cannot read the opening file: {reason}")


def numbered_lines(
    path: str, *, longest: int = LONGEST, latin: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, stripped line) for the lines that hold something.

    longest  bytes a line may have
    latin    whether a line that is not UTF-8 is read as ISO 8859-1, which the PGN
             standard prescribes

    Raises OpeningsError for a file that cannot be read or is no text.
    """
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(longest), b""), 1):
                if number == 1:
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                if len(raw) == longest:
                    raise OpeningsError(path, number, "the line is too long for a text file")
                if b"\0" in raw:
                    raise OpeningsError(path, number, "this is not a text file (it has a NUL)")
                try:
                    line = raw.decode().strip()
                except UnicodeDecodeError:
                    if not latin:
                        line = raw.decode(errors="backslashreplace").strip()
                        raise OpeningsError(
                            path, number, f"this is not UTF-8 text: {shown(line, QUOTED)}"
                        ) from None
                    line = raw.decode("latin-1").strip()
                if line:
                    yield number, line
    except OSError as error:
        raise cannot_read(path, error) from None
