"""The demo chess engine as UCI sees it: its positions and moves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from ringmaster.demo import chess_rules
from ringmaster.demo.chess_evaluation import NOISE, WEIGHTS, Evaluation
from ringmaster.demo.chess_search import Search
from ringmaster.demo.console import Console
from ringmaster.demo.universal import Limits, UniversalEngine, printable

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

_MAX_FEN = 200


class ChessEngine(UniversalEngine):
    """A UCI engine that is fed one line at a time.

    rules    cozy_chess or its likeness; None takes the best there is
    """

    protocol: ClassVar[str] = "uci"

    def __init__(self, console: Console, rules: ModuleType | None = None) -> None:
        super().__init__(console, WEIGHTS + NOISE)
        self._rules = chess_rules.load() if rules is None else rules
        self._read = chess_rules.bitboard_reader(self._rules)
        self._moves = chess_rules.MoveTable(self._rules)
        self._evaluation: Evaluation | None = None
        self._set_up(START)

    def _new_game(self) -> None:
        self._set_up(START)

    def _options_changed(self) -> None:
        self._evaluation = None

    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Search:
        if self._evaluation is None:
            self._evaluation = Evaluation(self.options.values)
        return Search(
            self._board,
            self._moves,
            self._evaluation,
            self._history,
            limits.get("nodes"),
            on_check,
        )

    def _colour(self) -> str:
        return "w" if self._board.side_to_move() == self._rules.Color.White else "b"

    def _set_up(self, fen: str) -> None:
        """Set up a position without moves.  Raises ValueError."""
        try:
            self._board: Any = self._rules.Board.from_fen(fen, False)
        except Exception as error:
            raise ValueError(str(error)) from None
        self._fen = fen
        self._played: list[str] = []
        #: Hashes of the positions before this one that can still be repeated.
        self._history: set[int] = set()

    def _position(self, words: list[str]) -> list[str]:
        """position (startpos | fen <fen>) [moves <move>…]"""
        end = words.index("moves") if "moves" in words else len(words)
        moves = words[end + 1 :]
        if words[:1] == ["startpos"]:
            fen = START
        elif words[:1] == ["fen"]:
            fen = _complete(words[1:end])
        else:
            return ["info string position needs 'startpos' or 'fen'"]
        played = self._played
        if fen == self._fen and moves[: len(played)] == played:
            moves = moves[len(played) :]
        else:
            try:
                if len(fen) > _MAX_FEN or not fen.isascii():
                    raise ValueError("not a FEN")
                self._set_up(fen)
            except ValueError as error:
                return [f"info string cannot set up {printable(fen)}: {printable(str(error))}"]
        for text in moves:
            move = chess_rules.parse_uci(text, self._board, self._read(self._board))
            if move is None:
                return [f"info string illegal move {printable(text)}, it and all after it ignored"]
            self._history.add(self._board.hash_without_ep())
            self._board.play_unchecked(self._moves[move])
            if self._board.halfmove_clock == 0:
                self._history = set()
            self._played.append(text)
        return []

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


def _complete(fields: list[str]) -> str:
    """Return a FEN with both counters, which EPD leaves out, and with those
    beyond the range that the rules take brought into it."""
    counters = []
    for given, default, most in zip([*fields, "", ""][4:6], (0, 1), (100, 9999), strict=False):
        if given.isdecimal() and len(given) < 9:
            given = str(min(max(int(given), default), most))
        counters.append(given or str(default))
    return " ".join([*fields[:4], *counters, *fields[6:]])
