"""Read an opening from one line, or check the moves of one.

A line has a position in any format of lists (EPD, FEN, SFEN, with labels or without), or
`startpos` or a position with `moves`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.errors import IllegalMove
from ringmaster.formats.text_formats import Notation
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Begin, Game
from ringmaster.model.jobs import Opening


def read_line(
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
    check_goes_on(game)
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
    play_line(game, moves if plies is None else moves[:plies])
    return Opening(fen=fen, moves=tuple(game.moves), source=source)


def play_line(game: Game, moves: Sequence[str]) -> None:
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
    check_goes_on(game)


def check_goes_on(game: Game) -> None:
    """Raise ValueError for a finished game."""
    ending = game.ending()
    if ending is not None:
        after = f"after {len(game.moves)} plies" if game.moves else "in this position"
        raise ValueError(f"the game is over {after} ({ending.reason})")
