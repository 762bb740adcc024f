"""The contract of a game: the rules of one position, played forward.

Player 0 moves first in the usual position: Black in Go and shogi, White in chess.  From
another position player 1 may move first.  Moves are strings in the protocol's notation
(UCI "e2e4", GTP "D4", "pass").
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ringmaster.model.jobs import EnteringKing, GameSettings
from ringmaster.model.players import GameName


@dataclass(frozen=True, slots=True)
class Ending:
    """An ending by the rules or by adjudication; the fields are GameResult's.

    winner  None for a draw, and for a Go game without a score yet (reason "score")
    """

    winner: int | None
    reason: str
    detail: str = ""


class Game(ABC):
    """One game in progress.

    Guarantees: `play` accepts any string.  It plays the move, or raises IllegalMove and
    leaves the position unchanged.
    """

    #: Names of the two sides in move order, e.g. ("white", "black") for chess.
    colours: ClassVar[tuple[str, str]]

    __slots__ = ("moves",)

    def __init__(self) -> None:
        #: Moves played, in the game's own notation.
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
        """Return the ending by the rules, None while the game continues."""

    @abstractmethod
    def position(self) -> str:
        """Return the position on one line: FEN, SFEN or a board diagram."""

    def in_check(self) -> bool:
        """Return whether the king of the side to move is attacked."""
        return False


#: A function that begins a game from a position, None for the usual one.  Raises ValueError
#: for text that is not a position of the game.
Begin = Callable[[str | None], Game]


def beginning(
    game: GameName, *, variant: str = "standard", entering_king: EnteringKing = "27"
) -> Begin:
    """Return the function that begins games of chess, of a chess variant, or of shogi."""
    if game == "shogi":
        from ringmaster.games.shogi import ShogiGame

        return functools.partial(ShogiGame, entering_king=entering_king)
    if game != "chess":
        raise ValueError(f"games of {game} begin in play.go_referee")
    if variant in ("standard", "chess960"):
        from ringmaster.games.chess import chess_rules

        return chess_rules(variant == "chess960")
    from ringmaster.games.variants import VariantGame

    return functools.partial(VariantGame, variant)


def game_rules(settings: GameSettings) -> Begin:
    """Return the function that begins games by the rules of `settings`, in Go without stones."""
    if settings.game != "go":
        return beginning(
            settings.game, variant=settings.variant, entering_king=settings.entering_king
        )
    from ringmaster.games.go import new_go_game

    rules = settings.rules
    return lambda fen: new_go_game(settings.board_size, ko_rule=rules.ko, suicide=rules.suicide)


def plies_before(game: GameName, start: str | None) -> int:
    """Return the number of plies before a start position, by its move number."""
    fields = (start or "").split()
    if len(fields) < 3:
        return 0
    number = max(int(fields[-1]) - 1, 0) if fields[-1].isdecimal() else 0
    # SFEN counts plies, FEN moves of both sides
    return number if game == "shogi" else 2 * number + (fields[1] == "b")
