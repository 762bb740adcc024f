"""The referee of shogi: the rules settle every game, and a claim to have entered
with the king is verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ringmaster.engines.engine import Engine
from ringmaster.games.game import Ending, Game
from ringmaster.model.jobs import GameJob
from ringmaster.model.record import GameRecord
from ringmaster.play.referee import Referee, Settlement

_SCORE_OF_DRAW = "1/2-1/2"


class ShogiReferee(Referee):
    """Shogi; player 0 is Black (sente), whoever moves first."""

    score_of_void = "*"

    def __init__(self, job: GameJob) -> None:
        super().__init__(job)
        self._is_kif = job.settings.record_format == "kif"
        # the suffix that says that it is KIF in UTF-8
        self.record_suffix = "kifu" if self._is_kif else "csa"

    def begin(self, engines: Sequence[Engine]) -> Game:
        # loaded here, since a chess match has no use for it
        from ringmaster.games.shogi import new_shogi_game

        opening = self.job.opening
        game = new_shogi_game(opening.fen, entering_king=self.job.settings.entering_king)
        for move in opening.moves:
            game.play(move)
        return game

    def claim(self, game: Game, mover: int) -> Settlement:
        """Settle `bestmove win`: a declaration that holds wins (or draws, by 24
        points), one that does not loses, as in computer tournaments."""
        from ringmaster.games.shogi import ShogiGame

        shogi = cast(ShogiGame, game)
        ending = shogi.declare()
        if ending is not None:
            return self.settle(game, ending, ())
        code = self.job.players[mover].code
        detail = f"{code} declares, but {shogi.why_not_declare()}\nin {shogi.sfen()}"
        return self.loss(mover, "illegal declaration", detail)

    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        if ending.winner is None:
            return Settlement("draw", None, ending.reason, _SCORE_OF_DRAW)
        score = self.score_of_win(ending.winner, ending.reason)
        return Settlement("win", ending.winner, ending.reason, score)

    def score_of_win(self, winner: int, reason: str) -> str:
        return ("1-0", "0-1")[winner]

    def write(self, record: GameRecord) -> str:
        if self._is_kif:
            from ringmaster.games.kif import write_kif

            return write_kif(record)
        from ringmaster.games.csa import write_csa

        return write_csa(record)
