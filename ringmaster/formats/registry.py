"""The formats of labelled positions, and the recognition of a file's format.

A suffix of one format only decides; otherwise the first lines or records do.  An ambiguous
file is an error.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ringmaster.errors import DataFileError
from ringmaster.formats.source import Batch, Source, quoted
from ringmaster.formats.text_formats import COMMENTS, guessed_format, other_game
from ringmaster.model.players import GameName

#: Point of view of a score or result: the player who moves first in a game, or the player to
#: move in the position.
Pov = Literal["first", "mover"]
Reader = Callable[[Source], Iterator[Batch]]


@dataclass(frozen=True)
class Format:
    """One format.

    reader    "module:function" in this package; see `Reader`
    result    point of view of its results
    score     point of view of its scores
    games     games with this format
    suffixes  suffixes of this format only
    """

    name: str
    reader: str
    result: Pov = "first"
    score: Pov = "first"
    games: tuple[GameName, ...] = ("chess", "shogi")
    suffixes: tuple[str, ...] = ()

    def read(self, source: Source) -> Iterator[Batch]:
        """Yield the positions of a file.  Raises DataFileError."""
        module, _, function = self.reader.partition(":")
        reader: Reader = getattr(importlib.import_module(f"ringmaster.formats.{module}"), function)
        return reader(source)


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format("epd", "text_formats:read_epd", score="mover"),
        Format("fen", "text_formats:read_fen"),
        Format("sfen", "text_formats:read_fen", games=("shogi",)),
        Format("bar", "text_formats:read_list"),
        Format("comma", "text_formats:read_list", result="mover", score="mover"),
        Format("plain", "text_formats:read_plain", "mover", "mover", suffixes=(".plain",)),
        Format("psv", "packed:read_psv", "mover", "mover", ("shogi",), (".psv",)),
        Format("hcpe", "packed:read_hcpe", "first", "mover", ("shogi",), (".hcpe",)),
        Format("pgn", "pgn:read_pgn", "first", "mover", ("chess",), (".pgn",)),
        Format("csa", "shogi_games:read_csa", games=("shogi",), suffixes=(".csa",)),
        Format("kif", "shogi_games:read_kif", games=("shogi",), suffixes=(".kif", ".kifu")),
    )
}
_OF_SUFFIX = {suffix: format for format in FORMATS.values() for suffix in format.suffixes}
#: Bytes and lines that are read to guess a format.
_LOOK = 1 << 16
_LINES = 50
_JAPANESE = ("utf-8", "cp932")


def format_of(source: Source, name: str | None = None) -> Format:
    """Return the format of a file: `name`'s, else by suffix or content.

    Raises DataFileError for an unknown format, or one that the game does not have.
    """
    if name is not None:
        format = FORMATS.get(name)
        if format is None:
            raise source.error(None, f"there is no format {name!r}; {_choices(source.game)}")
    else:
        format = _OF_SUFFIX.get(source.suffix) or _guessed(source)
    if source.game not in format.games:
        raise source.error(
            None,
            f"the format {format.name!r} is for {' and '.join(format.games)}, "
            f"but the game is {source.game}",
        )
    return format


def _choices(game: GameName) -> str:
    names = ", ".join(repr(f.name) for f in FORMATS.values() if game in f.games)
    return f"there are {names}"


def _guessed(source: Source) -> Format:
    start = next(source.pieces(_LOOK), b"").rstrip(b"\x1a")
    if not start:
        raise source.error(None, "this file is empty")
    if b"\0" in start or not _is_text(start):
        return FORMATS[_packed(source, start)]
    pieces = start.split(b"\n")
    # the last line of a long file may be cut
    lines = [line.strip() for line in (pieces[:-1] if len(start) == _LOOK else pieces)]
    lines = [line for line in lines if line and line[:1] not in COMMENTS]
    if not lines:
        raise source.error(None, "there is no position at its beginning")
    first = lines[0].removeprefix(b"\xef\xbb\xbf")
    if re.match(rb'\{\s*"', first):
        message = "these are lines of JSON, which are not read; write lines such as FEN,35,1.0"
        raise source.error(1, message)
    if source.game == "chess" and first.startswith((b"[", b"1. ", b"{")):
        return FORMATS["pgn"]
    if source.game == "shogi" and (name := record_format(start, first)):
        return FORMATS[name]
    if _is_plain(lines):
        return FORMATS["plain"]
    board = first.split(b",")[0].split(b"|")[0]
    other = other_game(board.strip(b'" '), source.game)
    if other:
        raise source.error(
            None, f"it begins with a position of {other}, but the game is {source.game}"
        )
    name = guessed_format(source, lines[:_LINES])
    if not name:
        raise _doubtful(source, f"the format of {quoted(first, 60)} is not known")
    return FORMATS[name]


def record_format(start: bytes, first: bytes) -> str:
    """Return the format of shogi records that a file begins like, "" for none."""
    if first.startswith((b"V2", b"V3", b"N+", b"N-", b"PI", b"P1", b"'", b"$")):
        return "csa"
    if start.startswith(b"#KIF") or any("手合割".encode(code) in start for code in _JAPANESE):
        return "kif"
    return ""


def _doubtful(source: Source, what: str) -> DataFileError:
    return source.error(
        None,
        f'{what}; name the format by Positions(…, format="…") or --format: {_choices(source.game)}',
    )


def _is_text(start: bytes) -> bool:
    return sum(b < 9 or 13 < b < 32 for b in start[:4096]) == 0


def _is_plain(lines: list[bytes]) -> bool:
    words = {line.split(b" ", 1)[0] for line in lines[:20]}
    return bool({b"fen", b"sfen"} & words) and bool({b"score", b"result"} & words)


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
