"""Which rules a game is played by: a new game for what the settings say.

Go is not among them; its games need handicap stones and more (`play.go_referee`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ringmaster.games.game import Game
from ringmaster.model.jobs import EnteringKing, GameSettings
from ringmaster.model.players import GameName

#: Begins a game from a position, None for the usual one.  Raises ValueError, saying
#: what is wrong, for what is no position of the game.
Begin = Callable[[str | None], Game]


def beginning(
    game: GameName, *, variant: str = "standard", entering_king: EnteringKing = "27"
) -> Begin:
    """Return what begins games of chess, of one of its variants, or of shogi."""
    if game == "shogi":
        from ringmaster.games.shogi import new_shogi_game

        return functools.partial(new_shogi_game, entering_king=entering_king)
    if game != "chess":
        raise ValueError(f"no game of {game} can be begun so")
    if variant == "standard":
        from ringmaster.games.chess import new_chess_game

        return new_chess_game
    if variant == "chess960":
        from ringmaster.games.chess960 import new_chess960_game

        return new_chess960_game
    from ringmaster.games.variants import VariantGame

    return functools.partial(VariantGame, variant)


def new_game(settings: GameSettings, fen: str | None = None) -> Game:
    """Return a new game of chess or shogi by the rules of `settings`.

    fen  a position (SFEN in shogi), None for the usual one

    Raises ValueError, saying what is wrong, for what is no position of the game.
    """
    begin = beginning(settings.game, variant=settings.variant, entering_king=settings.entering_king)
    return begin(fen)
