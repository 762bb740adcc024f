"""Which rules a game is played by: a new game for what the settings say.

Go is not among them; its games need handicap stones and more (`play.go_referee`).
"""

from __future__ import annotations

from ringmaster.games.game import Game
from ringmaster.model.jobs import EnteringKing
from ringmaster.model.players import GameName


def new_game(
    game: GameName,
    fen: str | None = None,
    *,
    variant: str = "standard",
    entering_king: EnteringKing = "27",
) -> Game:
    """Return a new game of chess, of one of its variants, or of shogi, from `fen`
    (SFEN in shogi) or the usual position.

    Raises ValueError, saying what is wrong, for what is no position of the game.
    """
    if game == "shogi":
        from ringmaster.games.shogi import new_shogi_game

        return new_shogi_game(fen, entering_king=entering_king)
    if game != "chess":
        raise ValueError(f"no game of {game} can be begun so")
    if variant == "standard":
        from ringmaster.games.chess import new_chess_game

        return new_chess_game(fen)
    if variant == "chess960":
        from ringmaster.games.chess960 import new_chess960_game

        return new_chess960_game(fen)
    from ringmaster.games.variants import VariantGame

    return VariantGame(variant, fen)
