"""What differs from game to game beside the rules: how a game is set up, how it
is settled when its moves are over, and how its result is written.  Go is in
`go_referee`, shogi in `shogi_referee`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ringmaster.engines.engine import Engine
from ringmaster.games.game import Ending, Game
from ringmaster.games.start import new_game
from ringmaster.model.jobs import GameJob
from ringmaster.model.record import GameRecord
from ringmaster.model.results import Outcome
from ringmaster.play.adjudication import Verdict


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a game came out; the fields are those of GameResult."""

    outcome: Outcome
    winner: int | None
    reason: str
    score: str
    detail: str = ""
    forfeit: bool = False
    faulty: int | None = None
    notes: tuple[str, ...] = ()


class Referee(ABC):
    """Sets up, settles and writes down the games of one kind."""

    record_suffix: str
    #: How a draw is written down.
    score_of_draw: ClassVar[str] = "1/2-1/2"
    #: How a game at the move limit comes out where no setting says so, and how an
    #: unknown result is written down.
    usual_at_move_limit: ClassVar[Literal["draw", "unknown"]] = "draw"
    score_of_unknown: ClassVar[str] = "*"

    def __init__(self, job: GameJob) -> None:
        self.job = job
        #: Handicap stones, once placed.
        self.setup: tuple[str, ...] = ()

    @abstractmethod
    def begin(self, engines: Sequence[Engine]) -> Game:
        """Place what stands on the board before the first move; both engines
        have been started.  Raises EngineError."""

    def resume(self, game: Game, engines: Sequence[Engine]) -> bool:
        """Let a game that the rules have ended go on in another phase; returns
        whether it does."""
        return False

    @abstractmethod
    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        """Settle a game that the rules have ended."""

    def claim(self, game: Game, mover: int) -> Settlement:
        """Settle a game in which the mover claims to have won; by default it is
        believed."""
        return Settlement("win", mover, "claim", self.score_of_win(mover, "claim"))

    def at_move_limit(self, game: Game) -> Settlement:
        """Settle a game that reached the move limit."""
        if (self.job.settings.move_limit_result or self.usual_at_move_limit) == "draw":
            return Settlement("draw", None, "move limit", self.score_of_draw)
        return Settlement("unknown", None, "move limit", self.score_of_unknown, "hit move limit")

    def adjudicated(self, verdict: Verdict) -> Settlement:
        """Settle a game that was stopped before its rules ended it."""
        if verdict.winner is None:
            return Settlement("draw", None, verdict.reason, self.score_of_draw, verdict.detail)
        return self.loss(1 - verdict.winner, verdict.reason, verdict.detail, forfeit=False)

    @abstractmethod
    def score_of_win(self, winner: int, reason: str) -> str:
        """Write a win down, e.g. "B+R" or "1-0"."""

    @property
    @abstractmethod
    def score_of_void(self) -> str:
        """How a void game is written down."""

    @abstractmethod
    def write(self, record: GameRecord) -> str:
        """Return the game record."""

    def loss(self, loser: int, reason: str, detail: str, *, forfeit: bool = True) -> Settlement:
        """Settle a game that `loser` has lost by what it did."""
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
    """Games that begin from a position and that their rules settle by themselves:
    chess, its variants, shogi."""

    score_of_void = "*"

    def begin(self, engines: Sequence[Engine]) -> Game:
        game = new_game(self.job.settings, self.job.opening.fen)
        for move in self.job.opening.moves:
            game.play(move)
        return game

    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        if ending.winner is None:
            return Settlement("draw", None, ending.reason, self.score_of_draw)
        score = self.score_of_win(ending.winner, ending.reason)
        return Settlement("win", ending.winner, ending.reason, score)

    def score_of_win(self, winner: int, reason: str) -> str:
        return ("1-0", "0-1")[winner]


class ChessReferee(RulesReferee):
    """Chess and its variants."""

    record_suffix = "pgn"

    def write(self, record: GameRecord) -> str:
        from ringmaster.games.pgn import write_pgn

        return write_pgn(record)
