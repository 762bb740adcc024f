"""The referee of shogi: the rules settle every game, and a claim to have entered
with the king is verified."""

from __future__ import annotations

from typing import cast

from ringmaster.games.game import Game
from ringmaster.model.jobs import GameJob
from ringmaster.model.record import GameRecord
from ringmaster.play.referee import RulesReferee, Settlement


class ShogiReferee(RulesReferee):
    """Shogi; player 0 is Black (sente), whoever moves first."""

    def __init__(self, job: GameJob) -> None:
        super().__init__(job)
        self._is_kif = job.settings.record_format == "kif"
        # the suffix that says that it is KIF in UTF-8
        self.record_suffix = "kifu" if self._is_kif else "csa"

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

    def write(self, record: GameRecord) -> str:
        if self._is_kif:
            from ringmaster.games.kif import write_kif

            return write_kif(record)
        from ringmaster.games.csa import write_csa

        return write_csa(record)
