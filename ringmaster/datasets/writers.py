"""Labelled positions written in the formats that others read: Stockfish's .plain and its
shogi twin, EPD, bar-separated lines, SFEN lines, and the packed records of shogi
programs (PSV of YaneuraOu, hcpe of Apery and dlshogi).

Sources: the readers of these programs; the layout of both records is that of cshogi's
NumPy types.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

from ringmaster.datasets.picking import Labelled
from ringmaster.model.players import GameName


@dataclass(frozen=True)
class Form:
    """A format that can be written.

    write   gives a position's bytes
    games   the games that it is of
    scored  whether it has no way to leave the score out
    """

    write: Callable[[Labelled], bytes]
    games: tuple[GameName, ...]
    scored: bool


_POINTS = {1.0: "1-0", 0.0: "0-1", 0.5: "1/2-1/2"}


def _first(position: Labelled) -> tuple[float, float]:
    """Return result and score from the side that moves first in a game."""
    if position.side:
        return 1 - position.result, -position.score
    return position.result, position.score


def _plain(position: Labelled) -> bytes:
    kind = "fen" if position.text.count("/") == 7 else "sfen"
    result = round(2 * position.result) - 1
    return (
        f"{kind} {position.text}\nmove {position.move}\nscore {round(position.score)}\n"
        f"ply {position.ply}\nresult {result}\ne\n"
    ).encode()


def _epd(position: Labelled) -> bytes:
    result, _ = _first(position)
    fields = position.text.split()
    clock, number = fields[4:6] if len(fields) > 5 else ("0", "1")
    text = f"{' '.join(fields[:4])} hmvc {clock}; fmvn {number};"
    if not math.isnan(position.score):
        # centipawn evaluation, by the standard from the side to move
        text += f" ce {round(position.score)};"
    return f'{text} c9 "{_POINTS[result]}"; id "{_quotable(position.game)}";\n'.encode()


def _quotable(id: str) -> str:
    return id.replace('"', "'").replace("\n", " ")


def _bar(position: Labelled) -> bytes:
    result, score = _first(position)
    return f"{position.text} | {round(score)} | {result}\n".encode()


def _sfen(position: Labelled) -> bytes:
    result, score = _first(position)
    said = "" if math.isnan(score) else f" {round(score)}"
    return f"sfen {position.text} [{result}]{said}\n".encode()


#: Score, move, ply, result of the side to move, padding: behind the 32 bytes of the
#: position.
_PSV = struct.Struct("<hHHbx")
#: Score, move, result (0 drawn, 1 Black, 2 White has won), padding: likewise.
_HCPE = struct.Struct("<hHbx")


def _psv(position: Labelled) -> bytes:
    from rsshogi.core import Board, Move

    packed: bytes = Board(position.text).to_packed_sfen()
    move = Move.from_usi(position.move).value
    result = round(2 * position.result) - 1
    # plies from the start of the game, as YaneuraOu's generator counts them
    return packed + _PSV.pack(round(position.score), move, min(position.ply, 0xFFFF), result)


def _hcpe(position: Labelled) -> bytes:
    from rsshogi.core import Board, Move

    packed: bytes = Board(position.text).to_hcp()
    result, _ = _first(position)
    move = Move.from_usi(position.move).to_apery().value
    winner = 0 if result == 0.5 else 1 if result else 2
    return packed + _HCPE.pack(round(position.score), move, winner)


#: All formats by name, the usual one first.
FORMS: dict[str, Form] = {
    "plain": Form(_plain, ("chess", "shogi"), scored=True),
    "epd": Form(_epd, ("chess",), scored=False),
    "bar": Form(_bar, ("chess", "shogi"), scored=True),
    "sfen": Form(_sfen, ("shogi",), scored=False),
    "psv": Form(_psv, ("shogi",), scored=True),
    "hcpe": Form(_hcpe, ("shogi",), scored=True),
}
