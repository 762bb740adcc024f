"""The referee of Go: handicap before the game, scoring after two passes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from ringmaster.engines.engine import RESTART_PATIENCE, Engine, start_timeout
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import EngineError, EngineProtocolError, EngineRebuilt
from ringmaster.games.game import Ending, Game
from ringmaster.games.go import GoGame, fixed_handicap, new_go_game, parse_vertex
from ringmaster.model.jobs import Opening
from ringmaster.model.players import Player
from ringmaster.model.results import GameRecord
from ringmaster.play.referee import Referee, Settlement

_LETTERS: Final = "BW"
_SUFFIX_OF_REASON: Final = {
    **{"resignation": "R", "time": "T", "stall": "T"},
    **dict.fromkeys(("claim", "score", "adjudicated win"), ""),
}
_FINAL_SCORE: Final = re.compile(r"([BW])\+(\S*)", re.ASCII)
_MARGIN: Final = re.compile(r"\d{1,9}(?:\.\d{0,9})?", re.ASCII)


class GoReferee(Referee):
    """Go over GTP."""

    record_suffix = "sgf"
    score_of_void = "Void"
    score_of_draw = "0"
    # As in Gomill.
    usual_at_move_limit = "unknown"
    score_of_unknown = "Void"

    def begin(self, engines: Sequence[Engine]) -> Game:
        settings = self.job.settings
        if settings.handicap is not None:
            fixed = settings.handicap_style == "fixed"
            self.setup = self._fixed(engines) if fixed else self._free(engines)
        return new_go_game(
            settings.board_size,
            self.setup,
            1 if self.setup else 0,
            ko_rule=settings.rules.ko,
            suicide=settings.rules.suicide,
        )

    def _fixed(self, engines: Sequence[Engine]) -> tuple[str, ...]:
        settings = self.job.settings
        assert settings.handicap is not None
        expected = fixed_handicap(settings.board_size, settings.handicap)
        for engine in engines:
            assert isinstance(engine, GtpEngine)
            text = engine.require("fixed_handicap", str(settings.handicap))
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
        text = black.require("place_free_handicap", str(settings.handicap))
        stones = tuple(self._vertices(text, black))
        # GTP allows fewer, but then the game has another handicap than its report
        if not len({*stones}) == len(stones) == settings.handicap:
            raise EngineProtocolError(
                f"asked for {settings.handicap} handicap stones, it placed {text!r}",
                black.player.code,
            )
        white.require("set_free_handicap", *stones)
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
        settings = self.job.settings
        if settings.scorer == "internal":
            margin = game.margin(settings.komi, settings.rules)
            winner = None if margin == 0 else 0 if margin > 0 else 1
            return _agree([FinalScore(winner, abs(margin))])
        answers, notes = self._ask(engines)
        if settings.referee is not None:
            return self._by_referee(settings.referee, game, answers, notes)
        settlement = _agree(list(filter(None, answers)))
        if settlement.detail in ("", "jigo") and len(notes) == len([*filter(None, answers)]):
            # The answers repeat the result.
            return settlement
        return replace(settlement, notes=tuple(notes))

    def _ask(self, engines: Sequence[Engine]) -> tuple[list[FinalScore | None], list[str]]:
        """Return the players' scores, None where there is none, and their answers as notes."""
        answers: list[FinalScore | None] = []
        notes: list[str] = []
        for engine in engines:
            assert isinstance(engine, GtpEngine)
            code, text = engine.player.code, None
            try:
                if engine.player.is_reliable_scorer:
                    text = self._final_score(engine)
            except EngineError as error:
                notes.append(f"{code} could not score: {error}")
            answers.append(None if text is None else FinalScore.read(text))
            if text is not None:
                notes.append(f"{code} final_score: {text[:200]}")
        return answers, notes

    def _final_score(self, engine: GtpEngine) -> str | None:
        if not engine.is_usable():
            raise EngineError("it is not there any more", engine.player.code)
        return engine.optional("final_score")

    def _by_referee(
        self, referee: Player, game: GoGame, answers: list[FinalScore | None], notes: list[str]
    ) -> Settlement:
        """Score by the third engine; in a new process once if it fails."""
        engine = self.third
        assert isinstance(engine, GtpEngine)
        for is_last in (False, True):
            try:
                score, dead = self._replay(engine, game)
                break
            except EngineRebuilt:
                raise
            except EngineError as error:
                engine.end(RESTART_PATIENCE)
                detail = f"the referee {referee.code}: {error}"
                if is_last:
                    return Settlement("void", None, "referee", "Void", detail, notes=tuple(notes))
                notes.append(f"{detail}; it was started again")
        notes += [f"dead stones: {' '.join(dead.split())[:2000]}"] if dead and dead.strip() else []
        settlement = _agree([score])
        notes.append(f"referee {referee.code} final_score: {settlement.score}")
        one, other = (a is not None and a.winner != score.winner for a in answers)
        return replace(settlement, notes=tuple(notes), disputed=(one, other))

    def _replay(self, engine: GtpEngine, game: GoGame) -> tuple[FinalScore, str | None]:
        """Return an engine's score of a game, and its dead stones.  Raises EngineError."""
        settings = self.job.settings
        if not engine.is_usable():
            engine.launch(self.transcript, timeout=start_timeout(settings, engine.player))
        engine.channel.transcript = self.transcript
        engine.start_game(settings, Opening(), 0)
        if self.setup:
            engine.require("set_free_handicap", *self.setup)
        for number, move in enumerate(game.moves, bool(self.setup)):
            engine.observe(number % 2, move, own=False)
        engine.send_delayed()
        text = engine.require("final_score")
        score = FinalScore.read(text)
        if score is None:
            raise EngineProtocolError(f"its final_score {text[:80]!r} is no score")
        dead = None
        with suppress(EngineError):  # the score stands without them
            dead = engine.optional("final_status_list", "dead")
        return score, dead

    def score_of_win(self, winner: int, reason: str) -> str:
        return f"{_LETTERS[winner]}+{_SUFFIX_OF_REASON.get(reason, 'F')}"

    def write(self, record: GameRecord) -> str:
        from ringmaster.formats.sgf import write_sgf

        return write_sgf(record)


@dataclass(frozen=True)
class FinalScore:
    """An engine's answer to final_score; `winner` is None for jigo, `margin` None if
    unknown."""

    winner: int | None
    margin: float | None

    @classmethod
    def read(cls, text: str) -> FinalScore | None:
        """Read "B+3.5", "W+", "W+Resign", "0", …; return None for any other text."""
        word, *_ = [*text.upper().split(), ""]
        if word in ("0", "JIGO", "DRAW"):
            return cls(None, 0.0)
        match = _FINAL_SCORE.fullmatch(word)
        if match is None:
            return None
        margin = float(match[2]) if _MARGIN.fullmatch(match[2]) else None
        if margin == 0:
            return cls(None, 0.0)
        return cls("BW".index(match[1]), margin)


def _agree(answers: list[FinalScore]) -> Settlement:
    """Settle a game by the engines' scores, as Gomill does: one is enough, two must name the
    same winner, and a margin counts only when both give it."""
    if not answers:
        return Settlement("unknown", None, "score", "?", "no score reported")
    winners = {answer.winner for answer in answers}
    if len(winners) > 1:
        return Settlement("unknown", None, "score", "?", "players disagreed")
    (winner,) = winners
    if winner is None:
        return Settlement("draw", None, "score", "0", detail="jigo")
    margins = {answer.margin for answer in answers}
    (margin,) = margins if len(margins) == 1 else (None,)
    if margin is None:
        detail = "players disagreed on the margin" if len(margins) > 1 else "unknown margin"
        return Settlement("win", winner, "score", f"{_LETTERS[winner]}+", detail)
    return Settlement("win", winner, "score", f"{_LETTERS[winner]}+{margin:.10g}")
