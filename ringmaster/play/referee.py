"""Referees of chess and shogi: set up a game, settle it, write its record.

`go_referee` has Go.  The rules themselves are in `ringmaster.games`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from ringmaster.engines.channel import Transcript
from ringmaster.engines.engine import Engine
from ringmaster.games.game import Ending, Game, game_rules
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameRecord, Outcome


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of a game; the fields are GameResult's.

    disputed  per player, whether it names another winner than the engine that scores
    """

    outcome: Outcome
    winner: int | None
    reason: str
    score: str
    detail: str = ""
    forfeit: bool = False
    faulty: int | None = None
    notes: tuple[str, ...] = ()
    disputed: tuple[bool, bool] = (False, False)


class Referee(ABC):
    """Sets up, settles and records the games of one kind."""

    record_suffix: str
    score_of_void: ClassVar[str]
    #: The score of a draw.
    score_of_draw: ClassVar[str] = "1/2-1/2"
    #: The default result at the move limit, and the score of an unknown result.
    usual_at_move_limit: ClassVar[Literal["draw", "unknown"]] = "draw"
    score_of_unknown: ClassVar[str] = "*"

    def __init__(self, job: GameJob) -> None:
        self.job = job
        #: Handicap stones, once placed.
        self.setup: tuple[str, ...] = ()
        #: The engine that scores, launched or not, and the transcript of the game.
        self.third: Engine | None = None
        self.transcript: Transcript | None = None

    @abstractmethod
    def begin(self, engines: Sequence[Engine]) -> Game:
        """Return the game before its opening; both engines have been started.

        Raises EngineError.
        """

    @abstractmethod
    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        """Settle a game that the rules have ended."""

    def claim(self, game: Game, mover: int) -> Settlement:
        """Settle a game in which the mover claims a win; by default the claim holds."""
        return self.by_ending(Ending(mover, "claim"))

    def at_move_limit(self, game: Game) -> Settlement:
        """Settle a game that reached the move limit."""
        if (self.job.settings.move_limit_result or self.usual_at_move_limit) == "draw":
            return Settlement("draw", None, "move limit", self.score_of_draw)
        return Settlement("unknown", None, "move limit", self.score_of_unknown, "hit move limit")

    def by_ending(self, ending: Ending) -> Settlement:
        """Settle a game with a winner, or a draw."""
        reason, detail = ending.reason, ending.detail
        if ending.winner is None:
            return Settlement("draw", None, reason, self.score_of_draw, detail)
        return self.loss(1 - ending.winner, reason, detail, forfeit=False)

    @abstractmethod
    def score_of_win(self, winner: int, reason: str) -> str:
        """Return the score of a win, e.g. "B+R" or "1-0"."""

    @abstractmethod
    def write(self, record: GameRecord) -> str:
        """Return the game record."""

    def loss(self, loser: int, reason: str, detail: str, *, forfeit: bool = True) -> Settlement:
        """Settle a game that `loser` has lost."""
        winner = 1 - loser
        return Settlement(
            "win",
            winner,
            reason,
            self.score_of_win(winner, reason),
            detail=detail,
            forfeit=forfeit,
            faulty=loser if forfeit else None,
        )


class RulesReferee(Referee):
    """Games that begin from a position and that the rules settle: chess, variants, shogi."""

    score_of_void = "*"

    def begin(self, engines: Sequence[Engine]) -> Game:
        return game_rules(self.job.settings)(self.job.opening.fen)

    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        return self.by_ending(ending)

    def score_of_win(self, winner: int, reason: str) -> str:
        return ("1-0", "0-1")[winner]


class ChessReferee(RulesReferee):
    """Chess and its variants."""

    record_suffix = "pgn"

    def write(self, record: GameRecord) -> str:
        from ringmaster.formats.pgn_writer import write_pgn

        return write_pgn(record)


class ShogiReferee(RulesReferee):
    """Shogi; player 0 is Black (sente) and moves first."""

    def __init__(self, job: GameJob) -> None:
        super().__init__(job)
        self._is_kif = job.settings.record_format == "kif"
        # KIF in UTF-8
        self.record_suffix = "kifu" if self._is_kif else "csa"

    def claim(self, game: Game, mover: int) -> Settlement:
        """Settle `bestmove win` (entering king) as in computer tournaments: a correct
        declaration wins, or draws by 24 points; a wrong one loses."""
        from ringmaster.games.shogi import ShogiGame

        shogi = cast(ShogiGame, game)
        ending = shogi.declare()
        if ending is not None:
            return self.by_ending(ending)
        code = self.job.players[mover].code
        detail = f"{code} declares, but {shogi.why_not_declare()}\nin {shogi.position()}"
        return self.loss(mover, "illegal declaration", detail)

    def write(self, record: GameRecord) -> str:
        if self._is_kif:
            from ringmaster.formats.shogi_records import write_kif

            return write_kif(record)
        from ringmaster.formats.shogi_records import write_csa

        return write_csa(record)
