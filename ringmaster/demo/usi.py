"""The demo shogi engine as USI sees it: its positions and moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rsshogi.core import Board, Move
from rsshogi.types import Color

from ringmaster.demo.console import Console
from ringmaster.demo.shogi_evaluation import NOISE, WEIGHTS, Evaluation
from ringmaster.demo.shogi_search import Search
from ringmaster.demo.universal import Limits, UniversalEngine, printable

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

_MAX_SFEN = 200


class ShogiEngine(UniversalEngine):
    """A USI engine that is fed one line at a time."""

    protocol: ClassVar[str] = "usi"

    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS + NOISE)
        self._evaluation: Evaluation | None = None
        self._set_up(START)

    def _new_game(self) -> None:
        self._set_up(START)

    def _options_changed(self) -> None:
        self._evaluation = None

    def _set_up(self, sfen: str) -> None:
        """Set up a position without moves.  Raises ValueError."""
        board = Board()
        board.set_sfen(sfen)
        if not board.is_valid():
            raise ValueError("not a position of a game")
        self._board = board
        self._sfen = sfen
        self._played: list[str] = []
        #: Hashes of the positions before this one.
        self._history: set[int] = set()

    def _position(self, words: list[str]) -> list[str]:
        """position (startpos | sfen <sfen>) [moves <move>…]"""
        end = words.index("moves") if "moves" in words else len(words)
        moves = words[end + 1 :]
        if words[:1] == ["startpos"]:
            sfen = START
        elif words[:1] == ["sfen"]:
            sfen = " ".join(words[1:end])
        else:
            return ["info string position needs 'startpos' or 'sfen'"]
        played = self._played
        if sfen == self._sfen and moves[: len(played)] == played:
            moves = moves[len(played) :]
        else:
            try:
                if len(sfen) > _MAX_SFEN or not sfen.isascii():
                    raise ValueError("not an SFEN")
                self._set_up(sfen)
            except ValueError as error:
                return [f"info string cannot set up {printable(sfen)}: {printable(str(error))}"]
        for text in moves:
            move = next((m for m in self._board.legal_moves() if m.to_usi() == text), None)
            if move is None:
                return [f"info string illegal move {printable(text)}, it and all after it ignored"]
            self._history.add(self._board.zobrist_hash())
            self._board.apply_move(move)
            self._played.append(text)
        return []

    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Search:
        if self._evaluation is None:
            self._evaluation = Evaluation(self.options.values)
        return Search(self._board, self._evaluation, self._history, limits.get("nodes"), on_check)

    def _colour(self) -> str:
        return "b" if self._board.turn == Color.BLACK else "w"

    def _nothing(self) -> str:
        return "resign"

    def _names(self, line: list[int]) -> str:
        return " ".join(Move(number).to_usi() for number in line)
