"""The contract of a game: the rules of one position, played forward.

Player 0 is who moves first in the usual position, Black in Go and shogi and White
in chess, and 1 the other; from another position 1 may be the first to move.  Moves
are strings in the protocol's own notation (UCI "e2e4", GTP "D4", "pass").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from mypy_extensions import mypyc_attr


@dataclass(frozen=True, slots=True)
class Ending:
    """How a game ended by its rules: `winner` is None for a draw, and for a Go
    game that still has to be scored (reason "score")."""

    winner: int | None
    reason: str


@mypyc_attr(allow_interpreted_subclasses=True)
class Game(ABC):
    """One game in progress.

    Guarantees: `play` either plays the move and returns, or raises IllegalMove
    and leaves the position as it was; any string at all may be given to it.
    """

    #: Names of the two sides in move order, e.g. ("white", "black") for chess.
    colours: ClassVar[tuple[str, str]]

    __slots__ = ("moves",)

    def __init__(self) -> None:
        #: Moves played so far, in the form the game itself would print them.
        self.moves: list[str] = []

    @property
    @abstractmethod
    def to_move(self) -> int:
        """Index of the player to move."""

    @abstractmethod
    def play(self, move: str) -> None:
        """Play `move` for the side to move.  Raises IllegalMove."""

    @abstractmethod
    def ending(self) -> Ending | None:
        """Return how the game has ended by its rules, or None if it goes on."""

    @abstractmethod
    def position(self) -> str:
        """Return the position as a person or a program may quote it (FEN,
        board diagram), on one line."""

    def in_check(self) -> bool:
        """Whether the king of the side to move is attacked; never in games without
        kings."""
        return False
