"""Index a list of openings, and read single openings of it.

The index has the place of each opening in the file's bytes.  It is made without knowledge of
the rules, so that a book of a million lines is ready at once.  An opening is verified when it
is read: from a game, from a position, or from a line with `startpos` or a position and `moves`.
"""

from __future__ import annotations

import os
import re
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

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

#: Offsets in the file's bytes: no NumPy, which doubles the memory of a short run.
Offsets = Sequence[int]


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
        self._format, self._begin, self._plies = format, begin, plies
        self._name = os.path.basename(source.path)
        is_list = format.kind == "lines"
        self._notation = notation_of(source.game, source.variant) if is_list else None
        self._bad_ones = "bad games" if format.kind == "games" else ""
        self._data = _content(source, format, progress)
        split = _SPLITTERS.get(format.name) or _lines
        self._starts, self._stops = split(self._data)
        self._lines = _numbers_of_lines(self._data, self._starts)
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
        """Whether all openings have been verified."""
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
        return opening

    def _opening(self, number: int, line: int, data: bytes) -> Opening | None:
        """Return an opening, None for a bad one that a reader has reported.

        Raises ValueError, DataFileError.
        """
        source = self._source
        if self._format.kind == "games":
            source.data, source.first, source.previous = data, line, number
            games = list(self._games())
            return self._opening_of(games[0]) if games else None
        if self._notation is not None:
            text = source.decode(line, data).strip()
            place = f"{self._name}:{line}"
            try:
                opening = _read_line(text, self._notation, self._begin, self._plies, place)
            except ValueError as error:
                raise ValueError(f"{error}: {shown(text, _QUOTED)}") from None
            return self._with_position(opening)
        is_text = self._format.name not in _PACKED
        source.data, source.first = data, line if is_text else number + 1
        texts = [text for batch in self._format.read(source) for text in batch.texts]
        if not texts:
            return None
        position = self._begin(texts[0].decode())
        _check_goes_on(position)
        place = f"{self._name}:{line}" if is_text else f"{self._name}#{number + 1}"
        return Opening(fen=position.position(), source=place)

    def _games(self) -> Iterator[RecordedGame]:
        read: Callable[..., Iterator[RecordedGame]] = self._format.function
        # only this reader can leave later moves unread
        return read(self._source, self._plies) if self._format.name == "pgn" else read(self._source)

    def _opening_of(self, game: RecordedGame) -> Opening:
        number = f"game {game.number}"
        position = self._begin(game.start)
        try:
            _play_line(position, game.moves[: self._plies])
        except ValueError as error:
            remedy = "; fewer `plies` would end the line before" if position.ending() else ""
            raise self._source.error(game.line, f"{number}: {error}{remedy}") from None
        opening = Opening(
            fen=game.start,
            moves=tuple(position.moves),
            source=f"{self._name}#{game.number}",
            name=game.opening,
        )
        return self._with_position(opening)

    def _with_position(self, opening: Opening) -> Opening:
        """Return an opening of Chess960 with an explicit start position."""
        if opening.fen is not None or self._source.variant != "chess960":
            return opening
        fen = self._begin(None).position()
        return Opening(fen, opening.moves, opening.source, opening.name)


# single openings


def _read_line(
    line: str, notation: Notation, begin: Begin, plies: int | None, source: str
) -> Opening:
    """Return the opening of a line.

    The operations `hmvc`, `fmvn`, `id` and `eco` of an EPD are used; labels are ignored.

    Raises ValueError for an illegal line, or one that ends the game.
    """
    first, *_ = line.split(None, 1)
    if first in ("position", "startpos", "fen") or (" moves " in line and '"' not in line):
        return _read_moves(line, notation, begin, plies, source)
    fen, operations = notation.position(line)
    game = begin(fen)
    _check_goes_on(game)
    names = filter(None, (operations.get("eco"), operations.get("id")))
    return Opening(fen=game.position(), source=source, name=" ".join(names))


def _read_moves(
    line: str, notation: Notation, begin: Begin, plies: int | None, source: str
) -> Opening:
    words = line.split()
    if words[0] == "position":
        del words[0]
    at = words.index("moves") if "moves" in words else len(words)
    place, moves = words[:at], words[at + 1 :]
    if not place:
        raise ValueError("there is no position before the moves: expected startpos or a position")
    fen = None
    if place[0] != "startpos":
        fen, _ = notation.position(" ".join(place[place[0] == "fen" :]))
    elif len(place) > 1:
        raise ValueError(f"after startpos comes {shown(place[1])}, not moves")
    game = begin(fen)
    fen = None if fen is None else game.position()
    _play_line(game, moves if plies is None else moves[:plies])
    return Opening(fen=fen, moves=tuple(game.moves), source=source)


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
    """Return a file's bytes; of text only those of its lines."""
    pieces: list[bytes] = []
    size = 0
    longest = LONGEST if format.kind == "lines" else LONGEST_OF_GAMES
    if format.name == "sgf":
        longest = LONGEST_TREE
    if format.name in _PACKED:
        parts, joint = source.pieces(), b""
    else:
        parts, joint = (chunk for _, chunk in source.chunks(longest)), b"\n"
    for piece in parts:
        pieces.append(piece)
        size += len(piece)
        progress.report(f"{source.path}: {size >> 20:,} MB read")
    data = joint.join(pieces)
    # files with the mark may have been joined
    return data if format.name in _PACKED else data.replace(b"\n" + BOM_UTF8, b"\n")


def _numbers_of_lines(data: bytes, starts: Offsets) -> Offsets:
    """Return the numbers of the lines at some offsets."""
    numbers = array("q")
    line, before = 1, 0
    for start in starts:
        line += data.count(b"\n", before, start)
        before = start
        numbers.append(line)
    return numbers


#: A line that is neither blank nor a comment.
_FILLED: Final = re.compile(rb"^[ \t]*(?![%b])[^ \t\n][^\n]*" % re.escape(COMMENTS), re.MULTILINE)


def _lines(data: bytes) -> tuple[Offsets, Offsets]:
    """Return where lines with openings begin and end."""
    starts, stops = array("q"), array("q")
    for match in _FILLED.finditer(data):
        starts.append(match.start())
        stops.append(match.end())
    headed = int(len(starts) > 0 and HEADING.match(data[starts[0] : stops[0]]) is not None)
    return starts[headed:], stops[headed:]


def _parts(data: bytes, ends: Sequence[int], blank: bytes = b" \t\n") -> tuple[Offsets, Offsets]:
    """Return the parts between some offsets that have other bytes than `blank`."""
    starts, stops = array("q"), array("q")
    for start, stop in zip([0, *ends], ends, strict=False):
        if data[start:stop].strip(blank):
            starts.append(start)
            stops.append(stop)
    return starts, stops


#: A comment, up to a tag behind an empty line; an escaped line; a tag, which begins its line or
#: follows another; a tag that is not complete; a parenthesis; other text up to the end of its line.
_PGN: Final = re.compile(
    rb"(\{)(?:[^}\n]+|\n(?!(?:[ \t]*\n)+\[\s*\w+\s+\"))*\}?|;[^\n]*|^%[^\n]*|\$\d*"
    rb'|(?:^|(?<=\])[ \t]*)\[\s*(\w+)\s+"'
    rb'(?:\\.|[^"\\\n\[]|\[(?!\s*\w+\s+")|"(?!\s*\])|\n(?![ \t]*\n|\[))*"\s*\]'
    rb"|(^\[[^\n]*(?:\n(?!\[|[ \t]*\n|\Z)[^\n]*){0,9})|([()])|([^{}();$\n]+|.)",
    re.MULTILINE,
)
_AFTER_BLANK: Final = re.compile(rb"\n[ \t]*\n\Z")
_RESULT: Final = re.compile(rb"(?<!\S)(?:1-0|0-1|1/2(?:-1/2)?|\xc2\xbd-\xc2\xbd|\*)(?!\S)")
_MOVE: Final = re.compile(rb"[A-Za-z@]|--|0000")


def _pgn(data: bytes) -> tuple[Offsets, Offsets]:
    """Return where games begin and end: at a result, and before a tag that follows moves."""
    ends: list[int] = []
    names: set[bytes] = set()
    has_moves = False
    depth = 0
    for match in _PGN.finditer(data):
        kind = match.lastindex
        if kind == 5:
            if depth:
                continue
            text, at = match[0], 0
            for result in _RESULT.finditer(text):
                if has_moves or names or _MOVE.search(text, at, result.start()):
                    ends.append(match.start() + result.end())
                at = result.end()
                has_moves = False
                names.clear()
            has_moves = has_moves or _MOVE.search(text, at) is not None
        elif kind == 4:
            depth = depth + 1 if match[0] == b"(" else max(depth - 1, 0)
        elif kind == 2:
            name = match[2].lower()
            start = match.start()
            is_repeated = name in names and _AFTER_BLANK.search(data[max(start - 80, 0) : start])
            if has_moves or is_repeated:
                ends.append(match.start())
                has_moves = False
                names.clear()
            depth = 0
            names.add(name)
        elif kind == 3:
            names.add(b"")  # the reader reports the tag
        elif kind == 1 and not match[0].endswith(b"}"):
            has_moves = True  # the reader reports the comment
    if has_moves or names:
        ends.append(len(data))
    return _parts(data, ends)


def _sgf(data: bytes) -> tuple[Offsets, Offsets]:
    """Return where the game trees of a collection begin and end."""
    return _parts(data, sgf_ends(data))


def _plain(data: bytes) -> tuple[Offsets, Offsets]:
    """Return where blocks of lines begin and end."""
    ends = [match.end() for match in re.finditer(rb"^e[ \t]*(?:\n|\Z)", data, re.MULTILINE)]
    return _parts(data, [*ends, len(data)], b"e \t\n")


def _shogi(name: str, data: bytes) -> tuple[Offsets, Offsets]:
    """Return where games begin and end, as the reader splits them."""
    from ringmaster.formats.shogi_games import game_texts

    texts = game_texts(Source("", "shogi", data=data), is_csa=name == "csa")
    begins = [0, *(match.end() for match in re.finditer(b"\n", data))]
    starts = [begins[first - 1] for first, text in texts if any(text)]
    return starts, [*starts[1:], len(data)]


def _records(size: int, data: bytes) -> tuple[Offsets, Offsets]:
    """Return where records of `size` bytes begin and end."""
    starts = range(0, len(data), size)
    return starts, range(size, len(data) + size, size)


_SPLITTERS: Final[dict[str, Callable[[bytes], tuple[Offsets, Offsets]]]] = {
    "pgn": _pgn,
    "sgf": _sgf,
    "csa": partial(_shogi, "csa"),
    "kif": partial(_shogi, "kif"),
    "plain": _plain,
    **{name: partial(_records, size) for name, size in _PACKED.items()},
}
