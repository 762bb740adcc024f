"""Write labelled positions in the formats of other programs.

These are Stockfish's .plain and its counterpart of shogi, EPD, lines with bars, SFEN lines,
PSV (YaneuraOu) and hcpe (Apery, dlshogi).  Sources: the readers of these programs; cshogi's
NumPy types have the same layout of records.
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
    """A format for writing.

    write   function that returns a position's bytes
    games   games with this format
    scored  whether the format requires scores
    """

    write: Callable[[Labelled], bytes]
    games: tuple[GameName, ...]
    scored: bool


_POINTS = {1.0: "1-0", 0.0: "0-1", 0.5: "1/2-1/2"}


def first_players(position: Labelled) -> tuple[float, float]:
    """Return result and score of the side that moves first in a game."""
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
    result, _ = first_players(position)
    fields = position.text.split()
    clock, number = fields[4:6] if len(fields) > 5 else ("0", "1")
    text = f"{' '.join(fields[:4])} hmvc {clock}; fmvn {number};"
    if not math.isnan(position.score):
        # the standard prescribes the mover's point of view
        text += f" ce {round(position.score)};"
    return f'{text} c9 "{_POINTS[result]}"; id "{_quotable(position.game)}";\n'.encode()


def _quotable(id: str) -> str:
    return id.replace('"', "'").replace("\n", " ")


def _bar(position: Labelled) -> bytes:
    result, score = first_players(position)
    return f"{position.text} | {round(score)} | {result}\n".encode()


def _sfen(position: Labelled) -> bytes:
    result, score = first_players(position)
    centipawns = "" if math.isnan(score) else f" {round(score)}"
    return f"sfen {position.text} [{result}]{centipawns}\n".encode()


#: The bytes behind the position: score, move, ply, the mover's result, padding.
_PSV = struct.Struct("<hHHbx")
#: The same of hcpe: score, move, result (0 draw, 1 Black's win, 2 White's win), padding.
_HCPE = struct.Struct("<hHbx")


def _psv(position: Labelled) -> bytes:
    from rsshogi.core import Board, Move

    packed: bytes = Board(position.text).to_packed_sfen()
    move = Move.from_usi(position.move).value
    result = round(2 * position.result) - 1
    # YaneuraOu's generator counts plies from the start of the game
    return packed + _PSV.pack(round(position.score), move, min(position.ply, 0xFFFF), result)


def _hcpe(position: Labelled) -> bytes:
    from rsshogi.core import Board, Move

    packed: bytes = Board(position.text).to_hcp()
    result, _ = first_players(position)
    move = Move.from_usi(position.move).to_apery().value
    winner = 0 if result == 0.5 else 1 if result else 2
    return packed + _HCPE.pack(round(position.score), move, winner)


#: All formats by name; the first is the default.
FORMS: dict[str, Form] = {
    "plain": Form(_plain, ("chess", "shogi"), scored=True),
    "epd": Form(_epd, ("chess",), scored=False),
    "bar": Form(_bar, ("chess", "shogi"), scored=True),
    "sfen": Form(_sfen, ("shogi",), scored=False),
    "psv": Form(_psv, ("shogi",), scored=True),
    "hcpe": Form(_hcpe, ("shogi",), scored=True),
}
