"""Read an opening from one line, or check the moves of one.

A line has a position in any format of lists (EPD, FEN, SFEN, with labels or without), or
`startpos` or a position with `moves`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ringmaster.errors import IllegalMove
from ringmaster.formats.text_formats import Notation
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Begin, Game
from ringmaster.model.jobs import Opening

_COUNTER = re.compile("[0-9]{1,6}")
#: Results and scores behind a position, and a comment.
_LABELS = re.compile(r'[\s;,|\[\]"0-9.*/M+-]*(?:#.*)?')
_INTEGERS = re.compile(r"[\s0-9-]+")
#: An opcode and its operands, in which a quoted string may hold semicolons.
_OPERATION = re.compile(r'\s*([A-Za-z][A-Za-z0-9_]*)(?=[\s;"]|$)((?:[^;"]|"[^"]*")*)(?:;|$)')


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
    fen, name = _position(line, notation)
    game = begin(fen)
    check_goes_on(game)
    return Opening(fen=game.position(), source=source, name=name)


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
        fen, _ = _position(" ".join(place[place[0] == "fen" :]), notation)
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


def _position(line: str, notation: Notation) -> tuple[str, str]:
    """Return a line's position with counters, and its name ("" for none).

    Raises ValueError for text that is no position, or unknown text behind it.
    """
    data = line.encode()
    match = notation.line.fullmatch(data) or notation.line.fullmatch(b" ".join(data.split()))
    if match is None:
        raise ValueError(notation.wrong(data))
    text, rest, has_counters = match[1].decode(), match[4].decode(), match[3] is not None
    names = {"eco": "", "id": ""}
    counters = {"hmvc": "0", "fmvn": "1"}
    is_broken = not has_counters and notation.game == "chess" and _INTEGERS.fullmatch(rest)
    if is_broken and len(rest.split()) == 1:
        raise ValueError("a FEN has 6 fields, this has 5")
    if is_broken or not _LABELS.fullmatch(rest):
        for opcode, operand in _operations(rest.lstrip(" ;")):
            if opcode in names:
                names[opcode] = operand.strip('"').strip()
            elif opcode in counters and not has_counters:
                if not _COUNTER.fullmatch(operand):
                    raise ValueError(f"{opcode} is {shown(operand)}, not a number")
                counters[opcode] = operand
    if not has_counters:
        text += " " + " ".join(counters.values()) if notation.game == "chess" else " 1"
    return text, " ".join(filter(None, names.values()))


def _operations(text: str) -> Iterator[tuple[str, str]]:
    """Yield (opcode, operands) of EPD operations; the last ; may be missing."""
    at = 0
    while text[at:].strip(" \t;"):
        match = _OPERATION.match(text, at)
        if match is None:
            raise ValueError(f'{shown(text[at:].strip())} is not an EPD operation such as id "x";')
        yield match[1], match[2].strip()
        at = match.end()
