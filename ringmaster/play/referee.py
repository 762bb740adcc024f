"""What differs from game to game beside the rules: how a game is set up, how it
is settled when its moves are over, and how its result is written."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ringmaster.engines.engine import Engine
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import EngineError, EngineProtocolError
from ringmaster.games.chess import new_chess_game
from ringmaster.games.game import Ending, Game
from ringmaster.games.go import GoGame, fixed_handicap, parse_vertex
from ringmaster.model.jobs import GameJob
from ringmaster.model.record import GameRecord
from ringmaster.model.results import Outcome


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

    def __init__(self, job: GameJob) -> None:
        self.job = job
        #: Handicap stones, once placed.
        self.setup: tuple[str, ...] = ()

    @abstractmethod
    def begin(self, engines: Sequence[Engine]) -> Game:
        """Place what stands on the board before the first move; both engines
        have been started.  Raises EngineError."""

    @abstractmethod
    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        """Settle a game that the rules have ended."""

    @abstractmethod
    def at_move_limit(self, game: Game) -> Settlement:
        """Settle a game that reached the move limit."""

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


class ChessReferee(Referee):
    """Chess: every game that ends is settled by the rules."""

    record_suffix = "pgn"
    score_of_void = "*"

    def begin(self, engines: Sequence[Engine]) -> Game:
        game = new_chess_game(self.job.opening.fen)
        for move in self.job.opening.moves:
            game.play(move)
        return game

    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        if ending.winner is None:
            return Settlement("draw", None, ending.reason, "1/2-1/2")
        score = self.score_of_win(ending.winner, ending.reason)
        return Settlement("win", ending.winner, ending.reason, score)

    def at_move_limit(self, game: Game) -> Settlement:
        return Settlement("draw", None, "move limit", "1/2-1/2")

    def score_of_win(self, winner: int, reason: str) -> str:
        return ("1-0", "0-1")[winner]

    def write(self, record: GameRecord) -> str:
        from ringmaster.games.pgn import write_pgn

        return write_pgn(record)


_LETTERS = "BW"
_SUFFIX_OF_REASON = {"resignation": "R", "time": "T", "claim": "", "score": ""}
_FINAL_SCORE = re.compile(r"([BbWw])\+(\d{1,9}(?:\.\d{1,9})?)?")


class GoReferee(Referee):
    """Go: handicap before the game, and scoring after two passes."""

    record_suffix = "sgf"
    score_of_void = "Void"

    def begin(self, engines: Sequence[Engine]) -> Game:
        settings = self.job.settings
        if settings.handicap is None:
            return GoGame(settings.board_size)
        if settings.handicap_style == "fixed":
            self.setup = self._fixed(engines)
        else:
            self.setup = self._free(engines)
        return GoGame(settings.board_size, setup=self.setup, to_move=1)

    def _fixed(self, engines: Sequence[Engine]) -> tuple[str, ...]:
        settings = self.job.settings
        assert settings.handicap is not None
        expected = fixed_handicap(settings.board_size, settings.handicap)
        for engine in engines:
            assert isinstance(engine, GtpEngine)
            text = engine.command("fixed_handicap", str(settings.handicap))
            if self._vertices(text, engine) != sorted(expected):
                raise EngineProtocolError(
                    f"it placed the handicap on {text!r}, not on {' '.join(expected)}",
                    engine.player.code,
                )
        return expected

    def _free(self, engines: Sequence[Engine]) -> tuple[str, ...]:
        settings = self.job.settings
        black, white = engines
        assert isinstance(black, GtpEngine)
        assert isinstance(white, GtpEngine)
        text = black.command("place_free_handicap", str(settings.handicap))
        stones = tuple(self._vertices(text, black))
        # an engine may place fewer stones than asked for, but at least two
        if not 2 <= len(stones) <= (settings.handicap or 0) or len(set(stones)) < len(stones):
            raise EngineProtocolError(
                f"asked for {settings.handicap} handicap stones, it placed {text!r}",
                black.player.code,
            )
        white.command("set_free_handicap", *stones)
        return stones

    def _vertices(self, text: str, engine: Engine) -> list[str]:
        size = self.job.settings.board_size
        points = text.upper().split()
        try:
            if any(parse_vertex(point, size) is None for point in points):
                raise ValueError("pass")
        except ValueError:
            raise EngineProtocolError(
                f"its handicap stones {text[:80]!r} are no points", engine.player.code
            ) from None
        return sorted(points)

    def settle(self, game: Game, ending: Ending, engines: Sequence[Engine]) -> Settlement:
        assert isinstance(game, GoGame)
        if self.job.settings.scorer == "internal":
            return self._from_margin(game.margin(self.job.settings.komi, self._compensation()))
        return self._ask(engines)

    def _compensation(self) -> float:
        stones = len(self.setup)
        rule = self.job.settings.internal_scorer_handicap_compensation
        if stones == 0 or rule == "no":
            return 0.0
        return float(stones if rule == "full" else stones - 1)

    def _from_margin(self, margin: float) -> Settlement:
        if margin == 0:
            return Settlement("draw", None, "score", "0", detail="jigo")
        winner = 0 if margin > 0 else 1
        return Settlement("win", winner, "score", f"{_LETTERS[winner]}+{abs(margin):g}")

    def _ask(self, engines: Sequence[Engine]) -> Settlement:
        """Ask the players, as Gomill does: one answer is enough, two must name
        the same winner, and a margin is kept only when both give it."""
        answers: list[tuple[int | None, float | None]] = []
        notes = []
        for engine in engines:
            assert isinstance(engine, GtpEngine)
            if not engine.player.is_reliable_scorer:
                continue
            try:
                text = engine.optional("final_score")
            except EngineError as error:
                notes.append(f"{engine.player.code} could not score: {error}")
                continue
            if text is None:
                continue
            notes.append(f"{engine.player.code} final_score: {text[:200]}")
            answer = _read_final_score(text)
            if answer is not None:
                answers.append(answer)
        if not answers:
            return Settlement(
                "unknown", None, "score", "?", "no score reported", notes=tuple(notes)
            )
        winners = {winner for winner, _ in answers}
        if len(winners) > 1:
            return Settlement(
                "unknown", None, "score", "?", "players disagreed", notes=tuple(notes)
            )
        margins = {margin for _, margin in answers}
        (winner,) = winners
        if winner is None:
            return Settlement("draw", None, "score", "0", detail="jigo")
        margin = margins.pop() if len(margins) == 1 else None
        if margin is None:
            detail = "unknown margin" if len(answers) == 1 else "players disagreed on the margin"
            return Settlement(
                "win", winner, "score", f"{_LETTERS[winner]}+", detail, notes=tuple(notes)
            )
        return Settlement("win", winner, "score", f"{_LETTERS[winner]}+{margin:g}")

    def at_move_limit(self, game: Game) -> Settlement:
        return Settlement("unknown", None, "move limit", "Void", "hit move limit")

    def score_of_win(self, winner: int, reason: str) -> str:
        return f"{_LETTERS[winner]}+{_SUFFIX_OF_REASON.get(reason, 'F')}"

    def write(self, record: GameRecord) -> str:
        from ringmaster.games.sgf import write_sgf

        return write_sgf(record)


def _read_final_score(text: str) -> tuple[int | None, float | None] | None:
    """Return (winner, margin) of "B+3.5", "W+", "0"; None when it says nothing."""
    words = text.split()
    if not words:
        return None
    word = words[0]
    if word in ("0", "Jigo", "jigo", "Draw", "draw"):
        return None, 0.0
    match = _FINAL_SCORE.fullmatch(word)
    if match is None:
        return None
    margin = None if match[2] is None else float(match[2])
    if margin == 0:
        return None, 0.0
    return "bw".index(match[1].lower()), margin


REFEREES: dict[str, type[Referee]] = {"chess": ChessReferee, "go": GoReferee}
