"""A file of labelled positions: its bytes, unpacked, as lines or records, and what there
is to say of it."""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import lzma
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from ringmaster.errors import DatasetError
from ringmaster.model.players import GameName

#: Bytes that are read at once.
_PIECE = 1 << 20
#: Bytes a line may have; keeps a wrong file (a disk image, /dev/zero) out of memory.
LONGEST = 1 << 16
#: Bad lines of a file that are listed before it is refused.
LISTED = 20
_REMEDY = "skip_bad=True in Positions(…), or --skip-bad, leaves bad positions out and counts them"
PACKED = (".gz", ".bz2", ".xz", ".zst")


class Source:
    """One file, for one game.

    variant  as in the settings of a game, "standard" for the usual rules
    counts   what was left out in reading, by what it is, as words for the user
    where    what places are numbers of: "line", "record", "game"
    skip_bad whether bad positions are left out and counted
    first_bad  the first of these, with its place
    """

    def __init__(
        self, path: str, game: GameName, variant: str = "standard", *, skip_bad: bool = False
    ) -> None:
        self.path = path
        self.game: GameName = game
        self.variant = variant
        self.counts: Counter[str] = Counter()
        self.where = "line"
        self.skip_bad = skip_bad
        self.first_bad = ""
        self._bad: list[tuple[int, str]] = []

    @property
    def suffix(self) -> str:
        """The suffix in lower case, that of packing apart."""
        stem, suffix = os.path.splitext(self.path.lower())
        return os.path.splitext(stem)[1] if suffix in PACKED else suffix

    def error(self, place: int | None, message: str) -> DatasetError:
        """Return the error for a place in the file."""
        return DatasetError(self.path, place, message, where=self.where)

    def bad(self, place: int, message: str) -> None:
        """Record a position that cannot be used.  Raises DatasetError where the list of bad
        positions is full."""
        if self.skip_bad:
            self.first_bad = self.first_bad or str(self.error(place, message))
            self.counts[f"bad {self.where}s"] += 1
            return
        self._bad.append((place, message))
        if len(self._bad) == LISTED:
            self.finish()

    def finish(self) -> None:
        """Raise DatasetError if there were bad positions that are not skipped: one error with
        all of them."""
        if not self._bad:
            return
        (first, message), *others = sorted(self._bad)
        lines = [message, *(str(self.error(place, text)) for place, text in others)]
        if len(self._bad) == LISTED:
            lines.append(f"these are the first {LISTED}; the rest of the file was not read")
        raise self.error(first, "\n".join([*lines, _REMEDY]))

    def open(self) -> IO[bytes]:
        """Open it for reading, unpacked.  Raises DatasetError."""
        try:
            return _open(self.path)
        except ImportError:
            raise self.error(
                None, "there is nothing here to unpack .zst; unpack it, or install zstandard"
            ) from None
        except OSError as error:
            raise self._unreadable(error) from None

    def pieces(self, size: int = _PIECE) -> Iterator[bytes]:
        """Yield its bytes.  Raises DatasetError."""
        with self.open() as file:
            while True:
                try:
                    piece = file.read(size)
                except (EOFError, zlib.error, lzma.LZMAError) as error:
                    raise self.error(None, f"cannot be unpacked: {error}") from None
                except OSError as error:
                    raise self._unreadable(error) from None
                if not piece:
                    return
                yield piece

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, whole lines) of a text file, with "\\n"
        between lines.  Raises DatasetError for what is no text."""
        number, rest = 1, b""
        for piece in self.pieces():
            if number == 1 and not rest:
                piece = piece.removeprefix(codecs.BOM_UTF8)
            if b"\0" in piece:
                at = number + (rest + piece).partition(b"\0")[0].count(b"\n")
                raise self.error(at, "this is not a text file (it has a NUL)")
            head, newline, tail = piece.rpartition(b"\n")
            if not newline:
                rest += piece
            else:
                chunk = rest + head
                rest = tail
                yield number, chunk.replace(b"\r", b"")
                number += chunk.count(b"\n") + 1
            if len(rest) > LONGEST:
                raise self.error(number, "the line is too long for a list of positions")
        if rest.strip():
            yield number, rest.replace(b"\r", b"")

    def _unreadable(self, error: OSError) -> DatasetError:
        reason = (error.strerror or str(error)).lower()
        return self.error(None, f"cannot read the positions: {reason}")


def _open(path: str) -> IO[bytes]:
    suffix = os.path.splitext(path)[1].lower()
    opened: Any
    if suffix == ".gz":
        opened = gzip.open(path)
    elif suffix == ".bz2":
        opened = bz2.open(path)
    elif suffix == ".xz":
        opened = lzma.open(path)
    elif suffix == ".zst":
        opened = _zstandard().open(path, "rb")
    else:
        opened = open(path, "rb")
    return opened  # type: ignore[no-any-return]  # each is a file of bytes


def _zstandard() -> Any:
    """Return a module that opens .zst: the standard library's from Python 3.14 on."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("zstandard")
