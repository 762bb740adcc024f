"""The demo chess engine as UCI sees it: its positions and moves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from ringmaster.demo import chess_rules
from ringmaster.demo.chess_evaluation import NOISE, WEIGHTS, Evaluation
from ringmaster.demo.chess_search import Search
from ringmaster.demo.console import Console
from ringmaster.demo.universal import Limits, UniversalEngine

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


class ChessEngine(UniversalEngine):
    """A UCI engine that is fed one line at a time.

    rules    cozy_chess or its likeness; None takes the best there is
    """

    protocol: ClassVar[str] = "uci"
    notation: ClassVar[str] = "fen"
    start: ClassVar[str] = START
    evaluation_words: ClassVar[str] = "Final evaluation"

    def __init__(self, console: Console, rules: ModuleType | None = None) -> None:
        self._rules = chess_rules.load() if rules is None else rules
        self._read = chess_rules.bitboard_reader(self._rules)
        self._moves = chess_rules.MoveTable(self._rules)
        super().__init__(console, WEIGHTS, NOISE)

    def _evaluation_of(self, values: dict[str, int]) -> Evaluation:
        return Evaluation(values)

    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Search:
        return Search(
            self._board,
            self._moves,
            self._function(),
            self._history,
            limits.get("nodes"),
            on_check,
        )

    def _static(self, evaluation: Evaluation) -> int:
        score = Search(self._board, self._moves, evaluation, set()).static()
        return score if self._colour() == "w" else -score

    def _in_check(self) -> bool:
        return bool(self._board.checkers())

    def _any_move(self) -> str:
        return self._names(chess_rules.legal_moves(self._board)[:1]) or self._nothing()

    def _colour(self) -> str:
        return "w" if self._board.side_to_move() == self._rules.Color.White else "b"

    def _set_up(self, position: str) -> None:
        try:
            self._board: Any = self._rules.Board.from_fen(position, False)
        except Exception as error:
            raise ValueError(str(error)) from None

    def _play(self, text: str) -> bool:
        move = chess_rules.parse_uci(text, self._board, self._read(self._board))
        if move is None:
            return False
        self._history.add(self._board.hash_without_ep())
        self._board.play_unchecked(self._moves[move])
        if self._board.halfmove_clock == 0:
            self._history = set()
        return True

    def _complete(self, fields: list[str]) -> str:
        """Return a FEN with both counters, which EPD leaves out, and with those
        beyond the range that the rules take brought into it."""
        counters = []
        for given, default, most in zip([*fields, "", ""][4:6], (0, 1), (100, 9999), strict=False):
            if given.isdecimal() and len(given) < 9:
                given = str(min(max(int(given), default), most))
            counters.append(given or str(default))
        return " ".join([*fields[:4], *counters, *fields[6:]])

    def _names(self, line: list[int]) -> str:
        """Return moves played from the present position in UCI's notation."""
        board = self._board.__copy__()
        names = []
        for move in line:
            bitboards = self._read(board)
            own = bitboards[0 if board.side_to_move() == self._rules.Color.White else 1]
            names.append(chess_rules.uci(move, own, bitboards[7]))
            board.play_unchecked(self._moves[move])
        return " ".join(names)
