"""The formats of games, openings and labelled positions, and the recognition of a file's format.

A suffix of one format only decides; otherwise the first lines or records do.  An ambiguous
file is an error.  The table itself imports no reader, so that programs start fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ringmaster.errors import DataFileError
from ringmaster.model.players import GameName

if TYPE_CHECKING:
    from ringmaster.formats.recorded_game import RecordedGame
    from ringmaster.formats.source import Batch, Record, Source

#: Point of view of a score or result: the player who moves first in a game, or the player to
#: move in the position.
Pov = Literal["first", "mover"]
#: Contents of a file: positions, one a line or in larger blocks; games; or a book, a tree of
#: moves with weights.
Kind = Literal["lines", "positions", "games", "book"]


@dataclass(frozen=True)
class Format:
    """One format.

    reader    "module:function" in this package.  The function yields the `Batch`es of a
              `Source`, or its `RecordedGame`s, or returns the choices of a book.
    result    point of view of its results
    score     point of view of its scores
    games     games with this format
    suffixes  suffixes of this format only
    """

    name: str
    kind: Kind
    reader: str
    result: Pov = "first"
    score: Pov = "first"
    games: tuple[GameName, ...] = ("chess", "shogi")
    suffixes: tuple[str, ...] = ()

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.reader.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"ringmaster.formats.{module}"), name)
        return function

    def read(self, source: Source) -> Iterator[Batch]:
        """Yield the labelled positions of a file.  Raises DataFileError."""
        if self.kind != "games":
            batches: Iterator[Batch] = self.function(source)
            return batches
        from ringmaster.formats.recorded_game import positions_of
        from ringmaster.formats.source import batches_of

        games: Iterator[RecordedGame] = self.function(source)
        records = positions_of(source, games, mover=self.score == "mover")
        return batches_of(records, moves=source.moves)

    def write(self, record: Record, game: GameName) -> bytes:
        """Return the lines or the packed record of a position.

        record  with the first player's labels, and a score unless the format is in UNSCORED
        """
        module = self.reader.partition(":")[0]
        write = getattr(import_module(f"ringmaster.formats.{module}"), f"write_{self.name}")
        if record.text.split(b" ", 2)[1] == (b"b" if game == "chess" else b"w"):
            # no negative zero
            teacher = 0.0 - record.teacher if self.score == "mover" else record.teacher
            result = 1 - record.result if self.result == "mover" else record.result
            record = record._replace(result=result, teacher=teacher)
        data: bytes = write(record)
        return data

    def refusal(self, game: GameName, variant: str) -> str:
        """Return the reason why a game cannot have the format, "" if it can."""
        if game not in self.games:
            return f"the format {self.name!r} is for {' and '.join(self.games)}, not for {game}"
        if self.kind == "book" and variant != "standard":
            return f"books of the format {self.name!r} are for standard chess, not for {variant}"
        return ""


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format("epd", "lines", "text_formats:read_epd", score="mover"),
        Format("fen", "lines", "text_formats:read_fen"),
        Format("sfen", "lines", "text_formats:read_fen", games=("shogi",)),
        Format("bar", "lines", "text_formats:read_list"),
        Format("comma", "lines", "text_formats:read_list", result="mover", score="mover"),
        Format(*("plain", "positions", "plain:read_plain", "mover", "mover"), suffixes=(".plain",)),
        Format("psv", "positions", "packed:read_psv", "mover", "mover", ("shogi",), (".psv",)),
        Format("hcpe", "positions", "packed:read_hcpe", "first", "mover", ("shogi",), (".hcpe",)),
        # most programs write the mover's scores; `score_pov` selects another point of view
        Format("pgn", "games", "pgn:pgn_games", "first", "mover", ("chess",), (".pgn",)),
        Format("csa", "games", "shogi_records:csa_games", games=("shogi",), suffixes=(".csa",)),
        Format(
            "kif", "games", "shogi_records:kif_games", games=("shogi",), suffixes=(".kif", ".kifu")
        ),
        Format("sgf", "games", "sgf:sgf_games", games=("go",), suffixes=(".sgf",)),
        Format("polyglot", "book", "openings.books:Polyglot", games=("chess",), suffixes=(".bin",)),
        Format(
            "yaneuraou", "book", "openings.books:Yaneuraou", games=("shogi",), suffixes=(".db",)
        ),
    )
}
#: Formats in which labelled positions are written, with the games; the first is the default.
WRITTEN: dict[str, tuple[GameName, ...]] = {
    "plain": ("chess", "shogi"),
    "epd": ("chess",),
    "bar": ("chess", "shogi"),
    "sfen": ("shogi",),
    "psv": ("shogi",),
    "hcpe": ("shogi",),
}
#: Those of them in which a score may be missing.
UNSCORED = ("epd", "sfen")
#: Formats with labelled positions.
LABELLED = {f.name: f for f in FORMATS.values() if f.kind != "book" and f.games != ("go",)}
_OF_SUFFIX = {suffix: format for format in FORMATS.values() for suffix in format.suffixes}
#: Suffixes of lists of positions: the first lines decide which labels they have.
_LISTS = (".epd", ".fen", ".sfen")
#: Bytes and lines that are read to guess a format.
_LOOK = 1 << 16
_LINES = 50
#: Control characters except white space and ^Z, which ends files of CP/M.
_NOT_TEXT = re.compile(rb"[\0-\x08\x0e-\x19\x1b-\x1f]")
_JAPANESE = ("utf-8", "cp932")
_JSON = re.compile(rb'\s*(?:\{\s*"|\[\s*[\[{"0-9-])')


def format_of(source: Source, name: str | None = None, *, labelled: bool = True) -> Format:
    """Return the format of a file: `name`'s, else by suffix or content.

    labelled  whether labelled positions are read, not openings

    Raises DataFileError for an unknown format, or one that the game does not have.
    """
    if name is not None:
        format = FORMATS.get(name)
        if format is None:
            raise source.error(None, f"there is no format {name!r}; {_choices(source.game)}")
    else:
        format = _OF_SUFFIX.get(source.suffix)
        # .bin and .db are suffixes of other files as well
        if format is None or (
            format.kind == "book" and (labelled or source.game not in format.games)
        ):
            format = FORMATS[_guessed(source, labelled)]
    reason = format.refusal(source.game, source.variant)
    if not reason and labelled and format.name not in LABELLED:
        reason = f"the format {format.name!r} has no labelled positions"
    if reason:
        raise source.error(None, reason)
    return format


def _choices(game: GameName) -> str:
    return f"there are {', '.join(repr(f.name) for f in LABELLED.values() if game in f.games)}"


def _guessed(source: Source, labelled: bool) -> str:
    from ringmaster.formats.source import quoted
    from ringmaster.formats.text_formats import COMMENTS, guessed_format, other_game

    start = next(source.pieces(_LOOK), b"").rstrip(b"\x1a")
    if source.game == "go":
        return "sgf"
    usual = "epd" if source.game == "chess" else "sfen"
    if not labelled and (not start or source.suffix in _LISTS):
        return usual
    if not start:
        raise source.error(None, "this file is empty")
    if b"\0" in start or _NOT_TEXT.search(start, 0, 4096):
        return "polyglot" if source.game == "chess" and not labelled else _packed(source, start)
    if _JSON.match(start):
        message = "these are lines of JSON, which are not read; write lines such as FEN,35,1.0"
        raise source.error(1, message)
    if start.startswith(b"#YANEURAOU-DB"):
        return "yaneuraou"
    pieces = start.replace(b"\r", b"\n").split(b"\n")
    # the last line of a long file may be cut
    lines = [line.strip() for line in (pieces[:-1] if len(start) == _LOOK else pieces)]
    lines = [line for line in lines if line and line[:1] not in COMMENTS]
    if not lines and not labelled:
        return usual
    if not lines:
        raise source.error(None, "there is no position at its beginning")
    first = lines[0].removeprefix(b"\xef\xbb\xbf")
    if source.game == "chess" and first.startswith((b"[", b"1.", b"1 ", b"{")):
        return "pgn"
    if source.game == "shogi" and (name := record_format(start, first)):
        return name
    words = {line.split(b" ", 1)[0] for line in lines[:20]}
    if words & {b"fen", b"sfen"} and words & {b"score", b"result"}:
        return "plain"
    if not labelled:
        # labels are of no use to openings: all lists of positions are alike
        return usual
    board = first.split(b",")[0].split(b"|")[0]
    other = other_game(board.strip(b'" '), source.game)
    if other:
        raise source.error(
            None, f"it begins with a position of {other}, but the game is {source.game}"
        )
    name = guessed_format(source, lines[:_LINES])
    if not name:
        raise _doubtful(source, f"the format of {quoted(first, 60)} is not known")
    return name


def read_record(source: Source) -> Iterator[RecordedGame]:
    """Yield the games of one of our own records; see the readers.  Raises DataFileError."""
    start = next(source.pieces(_LOOK), b"")
    name = {"chess": "pgn", "go": "sgf"}.get(source.game) or record_format(start, start) or "kif"
    games: Iterator[RecordedGame] = FORMATS[name].function(source)
    return games


def record_format(start: bytes, first: bytes) -> str:
    """Return the format of shogi records that a file begins like, "" for none."""
    if first.startswith((b"V2", b"V3", b"N+", b"N-", b"PI", b"P1", b"'", b"$")):
        return "csa"
    marks = [mark.encode(code) for mark in ("手合割", "手数--") for code in _JAPANESE]
    if start.startswith(b"#KIF") or any(mark in start for mark in marks):
        return "kif"
    return ""


def _doubtful(source: Source, what: str) -> DataFileError:
    return source.error(
        None,
        f'{what}; name the format by Positions(…, format="…") or --format: {_choices(source.game)}',
    )


def _packed(source: Source, start: bytes) -> str:
    if source.game != "shogi":
        raise source.error(
            None,
            "this is not text; packed positions (PSV, hcpe) are for shogi only; for chess, "
            "convert them to .plain",
        )
    from ringmaster.formats.packed import fits

    names = [name for name in ("psv", "hcpe") if fits(name, start)]
    if len(names) != 1:
        what = "it could be 'psv' or 'hcpe'" if names else "its format is not known"
        raise _doubtful(source, what)
    return names[0]
