"""The search of the chess and shogi engines: iterative deepening, alpha-beta, quiescence.

No search uses the results of another, so a move depends on the game and the options only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MATE = 30_000
#: Larger scores are mates in MATE - |score| plies.
MATE_BOUND = 29_000
#: Larger than any score.
_INFINITY = 32_000
#: Nodes between two checks of the clock and the input.
_CHECK_EVERY = 256
#: Plies of the quiescence search with all captures; further plies have recaptures only.
_CAPTURE_PLIES = 2


class Stopped(Exception):
    """Ends a search, which keeps its best move."""


class Position(ABC):
    """A position that a search changes move by move; moves are numbers."""

    @abstractmethod
    def key(self) -> int:
        """Return a hash that repeated positions share."""

    @abstractmethod
    def in_check(self) -> bool:
        """Return whether the side to move is in check."""

    @abstractmethod
    def moves(self) -> list[int]:
        """Return the legal moves."""

    @abstractmethod
    def captures(self, wanted: int, last: int | None) -> list[int]:
        """Return promising captures, the best first.

        wanted  least useful gain, centipawns
        last    the last move, to return captures on its target square only
        """

    @abstractmethod
    def play(self, move: int) -> None:
        """Play a legal move."""

    @abstractmethod
    def undo(self) -> None:
        """Take back the last move."""

    @abstractmethod
    def evaluate(self) -> int:
        """Return the static evaluation for the side to move, in centipawns."""

    @abstractmethod
    def coefficients(self) -> list[float]:
        """Return the factor of each weight in the evaluation, for the side that moves first."""

    @staticmethod
    @abstractmethod
    def name(move: int) -> str:
        """Return a move in the protocol's notation."""


@dataclass(slots=True)
class Search:
    """One search of one position, which the search leaves changed.

    seen      keys of earlier positions of the game; the search adds its own
    limit     most nodes, None for no limit
    on_check  called every _CHECK_EVERY nodes; raises Stopped to end the search
    best      the best move so far
    """

    position: Position
    seen: set[int]
    limit: int | None
    on_check: Callable[[], None]
    nodes: int = 0
    best: int | None = None

    def run(self, max_depth: int) -> Iterator[tuple[int, int, list[int]]]:
        """Yield depth, score in centipawns and expected moves of every finished iteration.

        Ends at `max_depth`, or early when stopped, at the node limit, and after a forced mate.
        The score at depth 0 is that of the quiescence search.
        """
        self.best = next(iter(self.position.moves()), None)
        if self.best is None and max_depth:
            return
        for depth in range(min(max_depth, 1), max_depth + 1):
            try:
                score, line = self._node(depth, -_INFINITY, _INFINITY, 0)
            except Stopped:
                return
            yield depth, score, line
            if MATE - abs(score) <= depth:
                return

    def _node(self, depth: int, alpha: int, beta: int, ply: int) -> tuple[int, list[int]]:
        """Return the score for the mover and the expected line.  Raises Stopped."""
        position = self.position
        key = position.key()
        if ply and key in self.seen:
            return 0, []
        if depth == 0:
            return self._quiesce(alpha, beta, ply), []
        moves = position.moves()
        if not moves:
            return (ply - MATE if position.in_check() else 0), []
        self.seen.add(key)
        ordered = self._ordered(moves)
        if ply == 0 and depth > 1:
            # the best move of the last iteration comes first
            ordered.sort(key=lambda entry: entry[1] != self.best)
        best, best_line = -_INFINITY, list[int]()
        for bound, move in ordered:
            if depth == 1 and -bound <= alpha:
                best = max(best, -bound)
                continue
            position.play(move)
            reply, line = self._node(depth - 1, -beta, -alpha, ply + 1)
            position.undo()
            if -reply > best:
                best, best_line = -reply, [move, *line]
                alpha = max(alpha, best)
                if ply == 0:
                    # valid even if this iteration is stopped: it beat the first move
                    self.best = move
                if best >= beta:
                    break
        self.seen.discard(key)
        return best, best_line

    def _ordered(self, moves: list[int]) -> list[tuple[int, int]]:
        """Return (least score for the opponent, move): checks, then the best by evaluation.

        Raises Stopped.
        """
        position = self.position
        ordered = []
        for move in moves:
            self._count()
            position.play(move)
            # a side in check has to move, and may lose more
            stands = not (position.in_check() or position.key() in self.seen)
            ordered.append((position.evaluate() if stands else -_INFINITY, move))
            position.undo()
        return sorted(ordered)

    def _quiesce(
        self, alpha: int, beta: int, ply: int, depth: int = 0, last: int | None = None
    ) -> int:
        """Return the score for the mover after captures, and after evasions at the first ply.

        depth  plies since the quiescence search began
        last   the move before, None at the first ply

        Raises Stopped.
        """
        self._count()
        position = self.position
        if depth == 0 and position.in_check():
            best, moves = -_INFINITY, position.moves()
            if not moves:
                return ply - MATE
        else:
            best = position.evaluate()
            if best >= beta:
                return best
            alpha = max(alpha, best)
            moves = position.captures(alpha - best, last if depth >= _CAPTURE_PLIES else None)
        for move in moves:
            position.play(move)
            score = -self._quiesce(-beta, -alpha, ply + 1, depth + 1, move)
            position.undo()
            best, alpha = max(best, score), max(alpha, score)
            if best >= beta:
                break
        return best

    def _count(self) -> None:
        """Count a node.  Raises Stopped."""
        self.nodes += 1
        if self.nodes == self.limit:
            raise Stopped
        if self.nodes % _CHECK_EVERY == 0:
            self.on_check()
