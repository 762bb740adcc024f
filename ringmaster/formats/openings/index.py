"""Index a list of openings, and read single openings of it.

The index has the place of each opening in the file's bytes.  It is made without knowledge of
the rules, so that a book of a million lines is ready at once.  An opening is verified when it
is read: from a game, from a position, or from a line with `startpos` or a position and `moves`.
"""

from __future__ import annotations

import itertools
import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from ringmaster.errors import DataFileError, IllegalMove
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.registry import Format
from ringmaster.formats.sgf import LONGEST_TREE, sgf_ends
from ringmaster.formats.source import LONGEST, LONGEST_OF_GAMES, Progress, Source
from ringmaster.formats.text_formats import COMMENTS, HEADING, Notation, notation_of
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Begin, Game
from ringmaster.model.jobs import Opening

#: Lists up to this length are verified before the first game.
VERIFIED_AT_FIRST: Final = 2000
#: Openings that are verified before their faults are reported.
_TOGETHER: Final = 500
#: Characters of a bad line that an error shows.
_QUOTED: Final = 60
_UNKNOWN, _GOOD, _BAD = range(3)

#: The openings of a file's bytes: where they begin and end.
Spans = Iterator[tuple[int, int]]


class OpeningFile:
    """The openings of a file, by number from 0; the first one follows the last.

    Bad openings are faults of the source.  Where it skips them, the next good opening takes
    the place of a bad one.
    """

    def __init__(
        self,
        source: Source,
        format: Format,
        begin: Begin,
        plies: int | None,
        say: Callable[[str], None],
    ) -> None:
        """Index a file.

        plies  number of moves used of each line, None for all
        say    gets reports of progress, and the notices of `verify`

        Raises DataFileError for a file that cannot be read or has no opening.
        """
        progress = Progress(say)
        self._source, self._say = source, say
        source.plies = plies
        self._format, self._begin, self._plies = format, begin, plies
        self._name = os.path.basename(source.path)
        is_list = format.kind == "lines"
        self._notation = notation_of(source.game, source.variant) if is_list else None
        self._bad_ones = "bad games" if format.kind == "games" else ""
        self._data = _content(source, format, progress)
        # without NumPy, which doubles the memory of a short run
        self._starts, self._stops, self._lines = array("q"), array("q"), array("q")
        line, before = 1, 0
        split = _SPLITTERS.get(format.name) or _lines
        for start, stop in split(self._data):
            line += self._data.count(b"\n", before, start)
            before = start
            for column, value in ((self._starts, start), (self._stops, stop), (self._lines, line)):
                column.append(value)
            if not len(self._lines) % _TOGETHER:
                progress.report(f"{source.path}: {len(self._lines):,} openings indexed")
        self._states = bytearray(len(self._starts))
        #: Numbers of the good openings of a list that was verified at first.
        self._good: list[int] | None = None
        if not len(self):
            raise source.error(None, "there is no opening in this file")
        if len(self) <= VERIFIED_AT_FIRST:
            for number in self.verify():
                progress.report(f"{source.path}: {number:,} openings verified")
            self._good = [i for i, state in enumerate(self._states) if state == _GOOD]

    def __len__(self) -> int:
        return len(self._starts) if self._good is None else len(self._good)

    @property
    def is_verified(self) -> bool:
        """Return whether all openings have been verified."""
        return self._good is not None

    def opening(self, number: int) -> Opening:
        """Return an opening.  Raises DataFileError for a bad one."""
        if self._good is not None:
            number = self._good[number]
        for _ in self._states:
            opening = None if self._states[number] == _BAD else self._read(number)
            self._source.finish()
            if opening is not None:
                return opening
            number = (number + 1) % len(self._states)
        raise self._without_openings()

    def verify(self) -> Iterator[int]:
        """Verify one opening a step; yield the number of verified openings.

        The end tells of another encoding, and of bad openings that are left out.  Raises
        DataFileError for others.
        """
        source = self._source
        for number, state in enumerate(self._states, 1):
            if state == _UNKNOWN:
                self._read(number - 1)
            if not number % _TOGETHER:
                source.finish()
            yield number
        source.finish()
        if _GOOD not in self._states:
            raise self._without_openings()
        for note in source.notes:
            self._say(note)
        omitted = ", ".join(f"{count:,} {kind}" for kind, count in source.counts.items())
        if omitted:
            self._say(f"{source.path}: left out: {omitted}; the first: {source.first_bad}")

    def _without_openings(self) -> DataFileError:
        return self._source.error(
            None,
            f"there is no good opening in this file; the first fault: {self._source.first_bad}",
        )

    def _read(self, number: int) -> Opening | None:
        """Return an opening; record the fault of a bad one."""
        data = self._data[self._starts[number] : self._stops[number]]
        line = self._lines[number]
        try:
            opening = self._opening(number, line, data)
        except DataFileError as error:
            if error.number is None:
                raise
            opening = None
            self._source.bad(error.number, error.message, self._bad_ones)
        except ValueError as error:
            opening = None
            self._source.bad(line, str(error), self._bad_ones)
        self._states[number] = _BAD if opening is None else _GOOD
        if opening is not None and opening.fen is None and self._source.variant == "chess960":
            return msgspec.structs.replace(opening, fen=self._begin(None).position())
        return opening

    def _opening(self, number: int, line: int, data: bytes) -> Opening | None:
        """Return an opening, None for a bad one that a reader has reported.

        Raises ValueError, DataFileError.
        """
        source = self._source
        if self._format.kind == "games":
            source.data, source.first, source.previous = data, line, number
            games: list[RecordedGame] = list(self._format.function(source))
            return self._opening_of(games[0]) if games else None
        if self._notation is not None:
            text = source.decode(line, data).strip()
            place = f"{self._name}:{line}"
            try:
                return self._read_line(text, self._notation, place)
            except ValueError as error:
                raise ValueError(f"{error}: {shown(text, _QUOTED)}") from None
        is_text = self._format.name not in _PACKED
        source.data, source.first = data, line if is_text else number + 1
        texts = [text for batch in self._format.read(source) for text in batch.texts]
        if not texts:
            return None
        position = self._begin(texts[0].decode())
        _check_goes_on(position)
        place = f"{self._name}:{line}" if is_text else f"{self._name}#{number + 1}"
        return Opening(fen=position.position(), source=place)

    def _read_line(self, line: str, notation: Notation, source: str) -> Opening:
        """Return the opening of a line.

        The operations `hmvc`, `fmvn`, `id` and `eco` of an EPD are used; labels are ignored.

        Raises ValueError for an illegal line, or one that ends the game.
        """
        first, *_ = line.split(None, 1)
        if first in ("position", "startpos", "fen") or (" moves " in line and '"' not in line):
            return self._read_moves(line, notation, source)
        fen, operations = notation.position(line)
        game = self._begin(fen)
        _check_goes_on(game)
        names = filter(None, (operations.get("eco"), operations.get("id")))
        return Opening(fen=game.position(), source=source, name=" ".join(names))

    def _read_moves(self, line: str, notation: Notation, source: str) -> Opening:
        words = line.split()
        if words[0] == "position":
            del words[0]
        at = words.index("moves") if "moves" in words else len(words)
        place, moves = words[:at], words[at + 1 :]
        if not place:
            raise ValueError(
                "there is no position before the moves: expected startpos or a position"
            )
        fen = None
        if place[0] != "startpos":
            fen, _ = notation.position(" ".join(place[place[0] == "fen" :]))
        elif len(place) > 1:
            raise ValueError(f"after startpos comes {shown(place[1])}, not moves")
        game = self._begin(fen)
        fen = None if fen is None else game.position()
        _play_line(game, moves[: self._plies])
        return Opening(fen=fen, moves=tuple(game.moves), source=source)

    def _opening_of(self, game: RecordedGame) -> Opening:
        number = f"game {game.number}"
        position = self._begin(game.start)
        try:
            _play_line(position, game.moves[: self._plies])
        except ValueError as error:
            remedy = "; fewer `plies` would end the line before" if position.ending() else ""
            raise self._source.error(game.line, f"{number}: {error}{remedy}") from None
        return Opening(
            fen=game.start,
            moves=tuple(position.moves),
            source=f"{self._name}#{game.number}",
            name=game.opening,
        )


def _play_line(game: Game, moves: Sequence[str]) -> None:
    """Play the moves of an opening.

    Raises ValueError for an illegal move, and for a line that ends the game.
    """
    for number, move in enumerate(moves, 1):
        try:
            game.play(move)
        except IllegalMove as error:
            raise ValueError(
                f"move {number}, {shown(error.move)}, is not legal: {error.reason}"
            ) from None
    _check_goes_on(game)


def _check_goes_on(game: Game) -> None:
    """Raise ValueError for a finished game."""
    ending = game.ending()
    if ending is not None:
        after = f"after {len(game.moves)} plies" if game.moves else "in this position"
        raise ValueError(f"the game is over {after} ({ending.reason})")


# the index

#: Bytes of a record.
_PACKED: Final = {"psv": 40, "hcpe": 38}


def _content(source: Source, format: Format, progress: Progress) -> bytes:
    """Return a file's bytes, of text its lines in UTF-8."""
    pieces: list[bytes] = []
    size = 0
    parts, joint = source.pieces(), b"\n"
    if format.name in _PACKED:
        joint = b""
    elif format.name == "sgf":
        parts = (chunk for _, chunk in source.chunks(LONGEST_TREE))
    else:
        longest = LONGEST if format.kind == "lines" else LONGEST_OF_GAMES
        parts = (text.encode() for _, text in source.texts(longest))
    for piece in parts:
        pieces.append(piece)
        size += len(piece)
        progress.report(f"{source.path}: {size >> 20:,} MB read")
    return joint.join(pieces)


#: A line that is neither blank nor a comment.
_FILLED: Final = re.compile(rb"^[ \t]*(?![%b])[^ \t\n][^\n]*" % re.escape(COMMENTS), re.MULTILINE)


def _lines(data: bytes) -> Spans:
    """Yield lines with openings."""
    spans = (match.span() for match in _FILLED.finditer(data))
    for start, stop in itertools.islice(spans, 1):
        if not HEADING.match(data[start:stop]):
            yield start, stop
    yield from spans


def _pgn(data: bytes) -> Spans:
    """Yield games as the reader finds them."""
    from ringmaster.formats.pgn import game_texts

    start = 0
    for game in game_texts(Source("", "chess", data=data)):
        stop = start + len(game.text[0].encode())
        yield start, stop
        start = stop


def _shogi(name: str, data: bytes) -> Spans:
    """Yield games as the reader finds them."""
    from ringmaster.formats.shogi_records import game_texts

    texts = game_texts(Source("", "shogi", data=data), is_csa=name == "csa")
    begins = [0, *(match.end() for match in re.finditer(b"\n", data))]
    starts = (begins[first - 1] for first, _ in texts)
    return itertools.pairwise(itertools.chain(starts, [len(data)]))


def _plain(data: bytes) -> Spans:
    """Yield blocks of lines."""
    ends = [match.end() for match in re.finditer(rb"^e[ \t]*(?:\n|\Z)", data, re.MULTILINE)]
    return _filled(data, [*ends, len(data)], b"e \t\n")


def _filled(data: bytes, ends: list[int], blank: bytes) -> Spans:
    """Yield the parts between some offsets that have other bytes than `blank`."""
    for start, stop in itertools.pairwise([0, *ends]):
        if data[start:stop].strip(blank):
            yield start, stop


def _records(size: int, data: bytes) -> Spans:
    """Yield records of `size` bytes."""
    return zip(range(0, len(data), size), itertools.count(size, size), strict=False)


_SPLITTERS: Final[dict[str, Callable[[bytes], Spans]]] = {
    "pgn": _pgn,
    "sgf": lambda data: _filled(data, sgf_ends(data), b" \t\n"),
    "csa": partial(_shogi, "csa"),
    "kif": partial(_shogi, "kif"),
    "plain": _plain,
    **{name: partial(_records, size) for name, size in _PACKED.items()},
}
