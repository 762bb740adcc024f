"""Openings that stand on one line each: EPD and FEN, SFEN, and positions as they
are given to an engine (startpos moves e2e4 …)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Game
from ringmaster.games.start import Begin
from ringmaster.games.text import shown
from ringmaster.model.jobs import Opening

_COUNTER = re.compile("[0-9]{1,6}")


def read_epd(line: str, begin: Begin, plies: int | None, source: str) -> Opening:
    """Return the opening of a line of a chess file: a FEN, an EPD (four fields,
    then operations, of which `hmvc`, `fmvn`, `id` and `eco` are honoured), or
    `startpos` or `fen …` with `moves`.

    Raises ValueError for anything but a legal line that leaves a game to play.
    """
    if _is_list(line):
        return _read_list(line, "fen", begin, plies, source)
    fen, name = _fen_of(line)
    game = begin(fen)
    check_goes_on(game)
    return Opening(fen=game.position(), source=source, name=name)


def read_variant_epd(line: str, begin: Begin, plies: int | None, source: str) -> Opening:
    """Return the opening of a line of a file for a variant of chess, as `read_epd`
    does.  A FEN may have more fields than six here (checks still to give)."""
    if _is_list(line):
        return _read_list(line, "fen", begin, plies, source)
    position, _, rest = line.partition(";")
    fields = position.split()
    count = next((i for i, f in enumerate(fields) if i > 3 and not _NUMBERS.fullmatch(f)), None)
    if count is not None:  # EPD: operations follow the position
        rest = f"{' '.join(fields[count:])};{rest}"
        fields = fields[:count]
    names = [_unquoted(operand) for opcode, operand in _operations(rest) if opcode == "id"]
    if len(fields) == 4:
        fields += ["0", "1"]
    game = begin(" ".join(fields))
    check_goes_on(game)
    return Opening(fen=game.position(), source=source, name=" ".join(names))


def _is_list(line: str) -> bool:
    """Whether a line is `startpos` or `fen …` with moves, not an EPD."""
    first, *_ = line.split(None, 1)
    return first in ("position", "startpos", "fen") or (" moves " in line and '"' not in line)


_NUMBERS = re.compile("[0-9]+|[0-9]*[+][0-9]+|-")


def read_sfen(line: str, begin: Begin, plies: int | None, source: str) -> Opening:
    """Return the opening of a line of a shogi file: a SFEN with or without the
    word `sfen`, or `startpos`, then `moves` if there are any.

    Raises ValueError as `read_epd` does.
    """
    return _read_list(line, "sfen", begin, plies, source)


def _read_list(line: str, keyword: str, begin: Begin, plies: int | None, source: str) -> Opening:
    words = line.split()
    if words[0] == "position":
        del words[0]
    at = words.index("moves") if "moves" in words else len(words)
    place, moves = words[:at], words[at + 1 :]
    if not place:
        raise ValueError(f"there is no position: expected startpos or {keyword} …")
    if place[0] == "startpos":
        if len(place) > 1:
            raise ValueError(f"after startpos comes {shown(place[1])}, not moves")
        fen = None
    else:
        fen = _completed(place[1:] if place[0] == keyword else place, keyword)
    game = begin(fen)
    fen = None if fen is None else game.position()
    play_line(game, moves if plies is None else moves[:plies])
    return Opening(fen=fen, moves=tuple(game.moves), source=source)


def _completed(fields: list[str], keyword: str) -> str:
    """Return a position, with the counters that a list may leave out."""
    if keyword == "sfen":
        if len(fields) == 3:
            fields = [*fields, "1"]
        if len(fields) != 4:
            raise ValueError(f"a SFEN has 4 fields, then moves; this has {len(fields)}")
    elif len(fields) == 4:
        fields = [*fields, "0", "1"]
    return " ".join(fields)


def play_line(game: Game, moves: Sequence[str]) -> None:
    """Play the moves of an opening.  Raises ValueError, naming the move, for one
    that is not legal, and for a line that ends the game."""
    for number, move in enumerate(moves, 1):
        try:
            game.play(move)
        except IllegalMove as error:
            raise ValueError(
                f"move {number}, {shown(error.move)}, is not legal: {error.reason}"
            ) from None
    check_goes_on(game)


def check_goes_on(game: Game) -> None:
    """Raises ValueError when there is nothing left to play."""
    ending = game.ending()
    if ending is not None:
        after = f"after {len(game.moves)} plies" if game.moves else "in this position"
        raise ValueError(f"the game is over {after} ({ending.reason})")


def _fen_of(line: str) -> tuple[str, str]:
    """Return the six fields of a FEN or EPD line, and the name it gives.

    Raises ValueError when they are not there; the board is not looked at.
    """
    fields = line.split(None, 6)
    if len(fields) == 6 and fields[4].isdigit() and fields[5].isdigit():
        return " ".join(fields), ""
    if len(fields) < 4:
        raise ValueError(f"an EPD has at least 4 fields, this has {len(fields)}")
    counters = {"hmvc": "0", "fmvn": "1"}
    names = {"eco": "", "id": ""}
    if len(fields) > 4:
        rest = line.split(None, 4)[4]
        if fields[4][0].isdigit():
            if len(fields) == 5:
                raise ValueError("a FEN has 6 fields, this has 5")
            counters = {"hmvc": fields[4], "fmvn": fields[5]}
            rest = fields[6] if len(fields) > 6 else ""
        for opcode, operand in _operations(rest):
            if opcode in counters:
                if not _COUNTER.fullmatch(operand):
                    raise ValueError(f"{opcode} is {shown(operand)}, not a number")
                counters[opcode] = operand
            elif opcode in names:
                names[opcode] = _unquoted(operand)
    fen = f"{' '.join(fields[:4])} {counters['hmvc']} {counters['fmvn']}"
    return fen, " ".join(filter(None, names.values()))


#: An opcode and its operands, in which a quoted string may hold semicolons.
_OPERATION = re.compile(r'\s*([A-Za-z][A-Za-z0-9_]*)(?=[\s;"]|$)((?:[^;"]|"[^"]*")*)(?:;|$)')


def _operations(text: str) -> Iterator[tuple[str, str]]:
    """Yield (opcode, operands) of EPD operations; the last ; may be missing."""
    at = 0
    while text[at:].strip(" \t;"):
        match = _OPERATION.match(text, at)
        if match is None:
            raise ValueError(f'{shown(text[at:].strip())} is not an EPD operation such as id "x";')
        yield match[1], match[2].strip()
        at = match.end()


def _unquoted(operand: str) -> str:
    return operand.strip('"').strip()
