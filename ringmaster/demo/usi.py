"""The demo shogi engine as USI sees it: its positions and moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rsshogi.core import Board, Move
from rsshogi.types import Color

from ringmaster.demo.console import Console
from ringmaster.demo.shogi_evaluation import NOISE, WEIGHTS, Evaluation
from ringmaster.demo.shogi_search import Search
from ringmaster.demo.universal import Limits, UniversalEngine

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


class ShogiEngine(UniversalEngine):
    """A USI engine that is fed one line at a time."""

    protocol: ClassVar[str] = "usi"
    notation: ClassVar[str] = "sfen"
    start: ClassVar[str] = START
    # Fairy-Stockfish's, which says White of the side that moves first
    evaluation_words: ClassVar[str] = "Total evaluation"

    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS, NOISE)

    def _evaluation_of(self, values: dict[str, int]) -> Evaluation:
        return Evaluation(values)

    def _set_up(self, position: str) -> None:
        board = Board()
        board.set_sfen(position)
        if not board.is_valid():
            raise ValueError("not a position of a game")
        self._board = board

    def _play(self, text: str) -> bool:
        move = next((m for m in self._board.legal_moves() if m.to_usi() == text), None)
        if move is None:
            return False
        self._history.add(self._board.zobrist_hash())
        self._board.apply_move(move)
        return True

    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Search:
        nodes = limits.get("nodes")
        return Search(self._board, self._function(), self._history, nodes, on_check)

    def _static(self, evaluation: Evaluation) -> int:
        score = Search(self._board, evaluation, set()).static()
        return score if self._colour() == "b" else -score

    def _in_check(self) -> bool:
        return self._board.is_in_check()

    def _any_move(self) -> str:
        move = next(iter(self._board.legal_moves()), None)
        return self._nothing() if move is None else move.to_usi()

    def _colour(self) -> str:
        return "b" if self._board.turn == Color.BLACK else "w"

    def _nothing(self) -> str:
        return "resign"

    def _names(self, line: list[int]) -> str:
        return " ".join(Move(number).to_usi() for number in line)
