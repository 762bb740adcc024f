"""A file of games or positions: its bytes, its lines, its faults, and the batches of positions that
readers yield."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import importlib
import io
import itertools
import lzma
import os
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ringmaster.errors import DataFileError
from ringmaster.games.clean_text import shown
from ringmaster.model.players import GameName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Seconds before the first report of progress, and between two reports.
_FIRST_SECONDS, _REPORT_SECONDS = 1.0, 5.0
#: Bytes that are read at once.
_PIECE = 1 << 20
#: Bytes a line may have; keeps a wrong file (a disk image, /dev/zero) out of memory.
LONGEST = 1 << 16
#: A whole game with comments may stand on one line.
LONGEST_OF_GAMES = 1 << 20
#: Encodings of other text than UTF-8, with their names in messages.
_FALLBACKS = {
    "chess": ("latin-1", "ISO 8859-1"),
    "shogi": ("cp932", "Shift JIS"),
    "go": ("latin-1", "ISO 8859-1"),
}
#: Bytes of text files from Windows and CP/M: carriage return, end of file (^Z).
_IGNORED = b"\r\x1a"
#: Bad lines of a file that one error lists.
LISTED = 20
_REMEDY = "skip_bad=True in Positions(…), or --skip-bad, leaves bad positions out and counts them"
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
#: First bytes of files in another form than their suffix may tell.
_BEGINNINGS = {
    b"\x1f\x8b\x08": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\3\4": ".zip",
    codecs.BOM_UTF16_LE: ".utf16",
    codecs.BOM_UTF16_BE: ".utf16",
}


class Progress:
    """Reports progress after one second, then every five seconds."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._start = time.monotonic()
        self._due = self._start + _FIRST_SECONDS

    def report(self, text: str) -> None:
        """Report `text` and the elapsed time, unless the last report is recent."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _REPORT_SECONDS
            self._say(f"{text}, {now - self._start:.0f} s so far")


@dataclass(eq=False)
class Source:
    """One file for one game, or text in memory with a name for messages.

    variant    variant of chess, "standard" for the usual rules
    skip_bad   whether bad games and positions are left out and counted
    moves      whether batches have the played or best moves
    results    unit of numeric results in text, "0-1" or "0-2", None: by the file
    data       the text in memory; None to read the file
    board_size of Go, 0 for any
    where      unit of places: "line", "record" or "game"
    remedy     last line of an error that lists faults
    counts     numbers of omitted games and positions, by reason in words
    first_bad  message and place of the first bad game or position
    notes      sentences about the reading, for the user
    first      place of the first line or record, 1 in a whole file
    previous   number of games before those that are read
    plies      moves that are read of each game of PGN, None for all; later ones are not checked
    annotated  whether games have the fields for boards
    """

    path: str
    game: GameName
    variant: str = "standard"
    _: KW_ONLY
    skip_bad: bool = False
    moves: bool = False
    results: str | None = None
    data: bytes | None = None
    board_size: int = 0
    where: str = "line"
    remedy: str = _REMEDY
    counts: Counter[str] = field(default_factory=Counter)
    first_bad: str = ""
    notes: list[str] = field(default_factory=list)
    first: int = 1
    previous: int = 0
    plies: int | None = None
    annotated: bool = False
    _bad: list[tuple[int, str]] = field(default_factory=list)

    @property
    def suffix(self) -> str:
        """The suffix in lower case, without that of compression."""
        stem, suffix = os.path.splitext(self.path.lower())
        return os.path.splitext(stem)[1] if suffix in PACKED else suffix

    def error(self, place: int | None, message: str) -> DataFileError:
        return DataFileError(self.path, place, message, where=self.where)

    def bad(self, place: int, message: str, kind: str = "") -> None:
        """Record a bad game or position.  Raises DataFileError where the list is full.

        kind  plural of the omitted things in counts, e.g. "bad games"; by default bad lines,
              records or games
        """
        if self.skip_bad:
            self.first_bad = self.first_bad or str(self.error(place, message))
            self.counts[kind or f"bad {self.where}s"] += 1
            return
        self._bad.append((place, message))
        if len(self._bad) == LISTED:
            self.finish()

    def finish(self) -> None:
        """Raise one DataFileError that lists the faults, unless they are skipped."""
        if not self._bad:
            return
        (first, message), *others = sorted(self._bad)
        lines = [message, *(str(self.error(place, text)) for place, text in others)]
        if len(self._bad) == LISTED:
            lines.append(f"these are the first {LISTED}; the rest of the file was not read")
        raise self.error(first, "\n".join([*lines, self.remedy]))

    def state(self) -> tuple[int, int]:
        """Return the file's size and the time of its last change.  Raises DataFileError."""
        with self.reading():
            status = os.stat(self.path)
        return status.st_size, status.st_mtime_ns

    def open(self) -> IO[bytes]:
        """Open the file for reading, decompressed, UTF-16 as UTF-8.  Raises DataFileError."""
        if self.data is not None:
            return io.BytesIO(self.data)
        with self.reading():
            return self._open()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors of reading and of decompression into DataFileError."""
        try:
            yield
        except DataFileError:
            raise
        except Exception as error:  # decompressors raise errors of many types
            if not isinstance(error, OSError) or error.errno is None:
                raise self.error(None, f"cannot be unpacked: {error}") from None
            reason = (error.strerror or str(error)).lower()
            raise self.error(None, f"cannot read the file: {reason}") from None

    def _open(self) -> IO[bytes]:
        with open(self.path, "rb") as plain:
            start = plain.read(6)
        suffix = os.path.splitext(self.path)[1].lower()
        suffix = next((s for mark, s in _BEGINNINGS.items() if start.startswith(mark)), suffix)
        if suffix == ".utf16":
            return codecs.EncodedFile(open(self.path, "rb"), "utf-8", "utf-16")
        if suffix == ".zip":
            archive = zipfile.ZipFile(self.path)
            # macOS adds a folder with metadata
            names = [n for n in archive.namelist() if not re.search("^__MACOSX/|/$", n)]
            if len(names) != 1:
                archive.close()
                raise self.error(
                    None,
                    f"there are {len(names)} files in it; unpack it, and name those to be read: "
                    + ", ".join(shown(name) for name in names[:LISTED]),
                )
            return archive.open(names[0])
        openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
        opener = self._zstandard().open if suffix == ".zst" else openers.get(suffix, open)
        file: IO[bytes] = opener(self.path, "rb")
        return file

    def _zstandard(self) -> Any:
        """Return a module that opens .zst: the standard library's from Python 3.14 on."""
        for name in ("compression.zstd", "backports.zstd"):
            with suppress(ImportError):
                return importlib.import_module(name)
        raise self.error(
            None, "no package can decompress .zst; decompress it, or install backports.zstd"
        )

    def pieces(self, size: int = _PIECE) -> Iterator[bytes]:
        """Yield the file's bytes.  Raises DataFileError."""
        with self.open() as file:
            while True:
                with self.reading():
                    piece = file.read(size)
                if not piece:
                    return
                yield piece

    def chunks(self, longest: int = LONGEST) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, whole lines separated by "\\n") of a text file.

        longest  limit of a line in bytes

        Raises DataFileError for a file that is not text.
        """
        number, rest = self.first, b""
        has_only_cr = False
        for piece in self.pieces():
            if number == 1 and not rest:
                piece = piece.removeprefix(codecs.BOM_UTF8)
                # files of old Macs; the end may be half of "\r\n"
                has_only_cr = b"\r" in piece[:-1] and b"\n" not in piece
            if has_only_cr:
                piece = piece.replace(b"\r", b"\n")
            if b"\0" in piece:
                at = number + (rest + piece).partition(b"\0")[0].count(b"\n")
                raise self.error(at, "this is not a text file (it has a NUL)")
            head, newline, tail = piece.rpartition(b"\n")
            if not newline:
                rest += piece
            else:
                chunk = rest + head
                rest = tail
                yield number, chunk.translate(None, _IGNORED)
                number += chunk.count(b"\n") + 1
            if len(rest) > longest:
                raise self.error(number, "the line is too long for a text file")
        if rest.strip():
            yield number, rest.translate(None, _IGNORED)

    def texts(self, longest: int = LONGEST_OF_GAMES) -> Iterator[tuple[int, str]]:
        """Yield (number of the first line, text of whole lines) as `chunks` does.

        Lines other than UTF-8 are read in the usual encoding of the game's older files; a note
        tells of the first one.  Raises DataFileError for a file that is not text.
        """
        for first, chunk in self.chunks(longest):
            try:
                text = chunk.decode()
            except UnicodeDecodeError:
                lines = enumerate(chunk.split(b"\n"), first)
                text = "\n".join(self.decode(number, line) for number, line in lines)
            # files with the mark may have been joined
            yield first, text.removeprefix("\ufeff").replace("\n\ufeff", "\n")

    def lines(self, longest: int = LONGEST_OF_GAMES) -> Iterator[tuple[int, str]]:
        """Yield (number from 1, text without the line break) for each line; see `texts`."""
        for first, text in self.texts(longest):
            yield from enumerate(text.split("\n"), first)

    def decode(self, number: int, line: bytes) -> str:
        """Return the text of a line; see `texts`."""
        try:
            return line.decode()
        except UnicodeDecodeError:
            fallback, name = _FALLBACKS[self.game]
            if not any(name in note for note in self.notes):
                self.notes.append(f"{self.path}:{number} is not UTF-8; it is read as {name}")
            return line.decode(fallback, "replace")


#: Positions in a batch: many for NumPy, few for the processor's cache.
SIZE = 8192

NAN = float("nan")


class Record(NamedTuple):
    """One position.

    text     FEN or SFEN with single spaces and all fields, counters included
    result   of the game, 0 to 1 from the format's side, NaN unknown
    teacher  centipawns from the format's side, NaN unknown
    ply      number of plies before the position, -1 unknown
    place    number of the line, record or game in the file, from 1
    game     the game's name within the file, "" unknown
    length   plies of the whole game, 0 unknown
    move     the played or best move, in UCI's or USI's notation, "" unknown
    """

    text: bytes
    result: float = NAN
    teacher: float = NAN
    ply: int = -1
    place: int = 0
    game: str = ""
    length: int = 0
    move: str = ""


#: Types of the columns of numbers.
_TYPES = {
    "result": "f4",
    "teacher": "f4",
    "ply": "i4",
    "place": "i8",
    "game": "u8",
    "length": "i4",
}


@dataclass
class Batch:
    """Positions in the order of their file, with the columns of `Record`.

    game   `hash_of` the game's name, 0 unknown
    moves  empty unless `Source.moves` is set
    """

    texts: list[bytes]
    result: npt.NDArray[np.float32]
    teacher: npt.NDArray[np.float32]
    ply: npt.NDArray[np.int32]
    place: npt.NDArray[np.int64]
    game: npt.NDArray[np.uint64]
    length: npt.NDArray[np.int32]
    moves: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def without(self, bad: Collection[int]) -> Batch:
        """Return the batch without the positions of some indices."""
        good = [i for i in range(len(self)) if i not in bad]
        columns: dict[str, Any] = {
            name: [column[i] for i in good if column] if isinstance(column, list) else column[good]
            for name, column in vars(self).items()
        }
        return Batch(**columns)


def batch_of(columns: Sequence[Any], moves: Iterable[str] = ()) -> Batch:
    """Return the columns of a batch without moves; numbers of missing last columns are 0."""
    import numpy as np

    texts, *numbers = columns or ((),)
    given = dict(zip(_TYPES, numbers, strict=False))
    arrays = {
        name: np.array(given[name], kind) if name in given else np.zeros(len(texts), kind)
        for name, kind in _TYPES.items()
    }
    return Batch(list(texts), moves=list(moves), **arrays)


@lru_cache
def hash_of(name: bytes | str) -> int:
    """Return 64 bits, never 0, for the name of a game."""
    data = name.encode() if isinstance(name, str) else name
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") or 1


def batches_of(records: Iterable[Record], *, moves: bool = False) -> Iterator[Batch]:
    """Yield records as batches, with or without their moves."""
    remaining = iter(records)
    while some := list(itertools.islice(remaining, SIZE)):
        texts, result, teacher, ply, place, names, length, played = zip(*some, strict=True)
        games = [hash_of(name) if name else 0 for name in names]
        columns = (texts, result, teacher, ply, place, games, length)
        yield batch_of(columns, played if moves else ())


#: Scores from here on are mates, and are limited to this value.  Engines write a mate as
#: 30,000 to 32,767 less the plies.
MATE = 10_000.0


def quoted(text: bytes, limit: int = 40) -> str:
    """Return bytes of a file, quoted for an error message."""
    return shown(text.decode(errors="backslashreplace"), limit)
