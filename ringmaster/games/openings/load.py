"""Which format an opening file has, and the loading of those that are lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

from ringmaster.errors import OpeningsError
from ringmaster.games.openings.positions import read_epd, read_sfen, read_variant_epd
from ringmaster.games.openings.text import QUOTED, cannot_read, numbered_lines
from ringmaster.games.start import Begin, beginning
from ringmaster.games.text import shown
from ringmaster.model.jobs import Opening
from ringmaster.model.players import GameName

Format = Literal["epd", "pgn", "polyglot", "sfen"]

_SUFFIXES: dict[str, Format] = {
    ".epd": "epd",
    ".fen": "epd",
    ".pgn": "pgn",
    ".bin": "polyglot",
    ".sfen": "sfen",
}
#: Formats that a game has; the first is for a file that says nothing else.
FORMATS: dict[GameName, tuple[Format, ...]] = {
    "chess": ("epd", "pgn", "polyglot"),
    "shogi": ("sfen",),
}
#: Bytes of a file by which its format is guessed.
_LOOK = 4096


def format_of(
    path: str, game: GameName, *, variant: str = "standard", format: Format | None = None
) -> Format:
    """Return the format of a file: the given one, else by its suffix, else by its
    look.  Raises OpeningsError for one that the game does not have."""
    if game not in FORMATS:
        raise OpeningsError(path, None, f"openings are for chess and shogi so far, not for {game}")
    found = format or _SUFFIXES.get(os.path.splitext(path)[1].lower()) or _guess(path, game)
    if found not in FORMATS[game]:
        raise OpeningsError(
            path, None, f"openings in the format {found!r} are not for {game}; {_wanted(game)}"
        )
    if found == "polyglot" and variant != "standard":
        raise OpeningsError(path, None, f"Polyglot books are for standard chess, not for {variant}")
    return found


def _wanted(game: GameName) -> str:
    return f"expected {' or '.join(map(repr, FORMATS[game]))}"


def _guess(path: str, game: GameName) -> Format:
    if game == "shogi":
        return "sfen"
    try:
        with open(path, "rb") as file:
            start = file.read(_LOOK)
    except OSError as error:
        raise cannot_read(path, error) from None
    if b"\0" in start:
        return "polyglot"
    first = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    return "pgn" if first.startswith((b"[", b"1.", b"1 ", b"%", b"{")) else "epd"


def load_openings(
    path: str,
    game: GameName,
    *,
    variant: str = "standard",
    format: Format | None = None,
    plies: int | None = None,
) -> tuple[Opening, ...]:
    """Return the openings of the file `path`, in order, duplicates included.

    plies  moves of a line that are used; None for all

    In lists of positions, lines that are blank or begin with # or ; are skipped.
    Raises OpeningsError, with the line number, for a line that is no legal
    position or line of moves, or after which the game is over, and for a file that
    cannot be read, is not UTF-8 text, is a Polyglot book, or has no opening in it.
    """
    found = format_of(path, game, variant=variant, format=format)
    begin = beginning(game, variant=variant)
    name = os.path.basename(path)
    if found == "polyglot":
        raise OpeningsError(path, None, "a Polyglot book is no list of openings")
    if found == "pgn":
        # not at the top, for a quick start of what loads no book
        from ringmaster.games.openings.pgn import read_pgn

        openings = tuple(read_pgn(path, name, begin, variant, plies))
    else:
        openings = tuple(_one_a_line(path, name, begin, found, variant, plies))
    if not openings:
        raise OpeningsError(path, None, "there is no opening in this file")
    if variant == "chess960":
        openings = tuple(_with_fen(opening, begin) for opening in openings)
    return openings


def _one_a_line(
    path: str, name: str, begin: Begin, format: Format, variant: str, plies: int | None
) -> Iterator[Opening]:
    if format == "sfen":
        read = read_sfen
    else:
        read = read_epd if variant in ("standard", "chess960") else read_variant_epd
    for number, line in numbered_lines(path):
        if line[0] in "#;":
            continue
        try:
            yield read(line, begin, plies, f"{name}:{number}")
        except ValueError as error:
            raise OpeningsError(path, number, f"{error}: {shown(line, QUOTED)}") from None


def _with_fen(opening: Opening, begin: Begin) -> Opening:
    """Return an opening of Chess960 with its start position, which no record and
    no engine should have to guess."""
    if opening.fen is not None:
        return opening
    return Opening(begin(None).position(), opening.moves, opening.source, opening.name)
