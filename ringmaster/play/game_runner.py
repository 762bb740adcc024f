"""One game between two engines: the loop that asks, judges and charges.

What an engine does wrong becomes the game's result, a forfeit or a void game
with the reason; only being told to stop (JobAbandoned) and faults of our own
leave here as exceptions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ringmaster.engines.engine import Engine, Limits, Thought, cut, start_timeout
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.usage import Usage
from ringmaster.errors import (
    EngineCrashed,
    EngineError,
    EngineNotStarted,
    EngineProtocolError,
    EngineRefused,
    EngineTimeout,
    IllegalMove,
)
from ringmaster.games.game import Game
from ringmaster.model.jobs import GameJob
from ringmaster.model.record import GameRecord, MoveRecord
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.play.clock import Clock, describe_limits
from ringmaster.play.referee import REFEREES, Settlement
from ringmaster.play.transcript import FileTranscript

_REASON_OF_ERROR: tuple[tuple[type[EngineError], str], ...] = (
    (EngineNotStarted, "start"),
    (EngineCrashed, "crash"),
    (EngineTimeout, "hang"),
    (EngineProtocolError, "protocol"),
)


class GameRunner:
    """Plays one job with two engines (colour order), launched or not."""

    def __init__(
        self,
        job: GameJob,
        engines: tuple[Engine, Engine],
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.job = job
        self.engines = engines
        self._wall_clock = wall_clock
        self._referee = REFEREES[job.settings.game](job)
        settings = job.settings
        self._clocks = tuple(
            Clock(player, margin=settings.margin, hang_timeout=settings.hang_timeout)
            for player in job.players
        )
        self._timed = any(clock.has_time for clock in self._clocks)
        self._thoughts: list[tuple[int, Thought, str]] = []
        self._thinking = [0, 0]
        self._slowest = [0, 0]
        self._game: Game | None = None

    def play(self) -> GameResult:
        """Play the game.  Raises JobAbandoned."""
        started = self._wall_clock()
        begun = time.monotonic()
        transcript = None
        if self.job.transcript is not None:
            transcript = FileTranscript(self.job.transcript)
        try:
            before = self._launch(transcript)
            settlement = self._play()
        except EngineError as error:
            settlement = self._void(error)
            before = (None, None)
        finally:
            if transcript is not None:
                self._detach(transcript)
        # An engine that hangs must not be asked anything more.
        sound = settlement.outcome != "void" and settlement.reason != "time"
        usage = tuple(self._measure(i, before[i], ask=sound) for i in (0, 1))
        notes = [transcript.failure] if transcript is not None and transcript.failure else []
        return self._result(settlement, usage, started, time.monotonic() - begun, notes)

    def _launch(self, transcript: FileTranscript | None) -> tuple[float | None, float | None]:
        """Make both engines ready; returns the CPU seconds each has used before
        this game."""
        before: list[float | None] = []
        for engine in self.engines:
            if engine.is_alive():
                engine.channel.transcript = transcript
                engine.forget_peak()
                before.append(self._used(engine, ask=True).cpu_time)
            else:
                engine.launch(transcript, timeout=start_timeout(self.job.settings))
                before.append(0.0)
        for colour, engine in enumerate(self.engines):
            engine.start_game(self.job.settings, self.job.opening, colour)
        return before[0], before[1]

    def _detach(self, transcript: FileTranscript) -> None:
        for engine in self.engines:
            if engine.is_launched:
                engine.channel.transcript = None
        transcript.close()

    def _play(self) -> Settlement:
        game = self._game = self._referee.begin(self.engines)
        ending = game.ending()
        limit = self.job.settings.move_limit
        limits = tuple(clock.limits() for clock in self._clocks)
        explained = tuple(
            isinstance(e, GtpEngine) and self.job.record and e.knows("gomill-explain_last_move")
            for e in self.engines
        )
        plies = 0
        while ending is None:
            if limit and plies >= limit:
                return self._referee.at_move_limit(game)
            mover = game.to_move
            outcome = self._ask(mover, limits[mover])
            if isinstance(outcome, Settlement):
                return outcome
            try:
                game.play(outcome.move)
            except IllegalMove as error:
                return self._referee.loss(mover, "illegal move", _describe_illegal(error))
            plies += 1
            ending = game.ending()
            comment = ""
            if explained[mover]:
                comment = self._comment(self.engines[mover])
            self._thoughts.append((mover, outcome, comment))
            settlement = self._announce(mover, game.moves[-1], over=ending is not None)
            if settlement is not None:
                return settlement
        return self._referee.settle(game, ending, self.engines)

    def _ask(self, mover: int, limits: Limits) -> Thought | Settlement:
        """Return the mover's move, or how the game ended instead."""
        clock = self._clocks[mover]
        if self._timed:
            self._set_clock(mover, limits)
        engine = self.engines[mover]
        try:
            thought = engine.think(mover, limits)
        except EngineTimeout as error:
            if clock.allowance() is None:
                raise
            self._charge(mover, round(limits.seconds * 1e9))
            return self._referee.loss(mover, "time", f"{engine.player.code}: {error}")
        except EngineRefused as error:
            detail = f"{engine.player.code} failed to move: {error}"
            return self._referee.loss(mover, "refused", detail)
        self._charge(mover, thought.elapsed_ns)
        left = clock.remaining if clock.has_time else None
        if not clock.charge(thought.elapsed_ns):
            spent = thought.elapsed_ns / 1e9
            had = "" if left is None else f" with {left / 1e9:.3f} s left"
            detail = f"{engine.player.code} used {spent:.3f} s{had}"
            return self._referee.loss(mover, "time", detail)
        if thought.kind == "resign":
            return self._referee.loss(mover, "resignation", "", forfeit=False)
        if thought.kind == "claim":
            score = self._referee.score_of_win(mover, "claim")
            return Settlement("win", mover, "claim", score)
        return thought

    def _set_clock(self, mover: int, limits: Limits) -> None:
        clock = self._clocks[mover]
        limits.seconds = clock.deadline()
        if clock.has_time:
            own, other = clock, self._clocks[1 - mover]
            # an opponent without a clock is shown the mover's own
            other = other if other.has_time else own
            pair = (own, other) if mover == 0 else (other, own)
            limits.clock_ms = (pair[0].remaining_ms, pair[1].remaining_ms)
            limits.increment_ms = (pair[0].increment_ms, pair[1].increment_ms)
            limits.moves_to_go = clock.moves_to_go

    def _charge(self, mover: int, elapsed: int) -> None:
        self._thinking[mover] += elapsed
        self._slowest[mover] = max(self._slowest[mover], elapsed)

    def _announce(self, mover: int, move: str, *, over: bool) -> Settlement | None:
        """Tell both engines of a move that stands.

        An engine that calls it illegal is believed (Gomill); one that fails in
        another way loses.  Neither matters once the game is over.
        """
        opponent = 1 - mover
        try:
            self.engines[mover].observe(mover, move, own=True)
            self.engines[opponent].observe(mover, move, own=False)
        except EngineRefused as error:
            if over:
                return None
            if "illegal move" in str(error).lower():
                detail = f"{self.job.players[opponent].code} calls {move} illegal"
                return self._referee.loss(mover, "illegal move", detail)
            detail = f"{self.job.players[opponent].code} refused {move}: {error}"
            return self._referee.loss(opponent, "refused", detail)
        except EngineError:
            if not over:
                raise
        return None

    def _comment(self, engine: Engine) -> str:
        assert isinstance(engine, GtpEngine)
        return engine.explain_last_move()

    def _void(self, error: EngineError) -> Settlement:
        reason = next((r for kind, r in _REASON_OF_ERROR if isinstance(error, kind)), "setup")
        codes = [player.code for player in self.job.players]
        faulty = codes.index(error.code) if error.code in codes else None
        detail = f"{error.code}: {error}" if error.code else str(error)
        if faulty is not None and not isinstance(error, EngineNotStarted):
            words = self.engines[faulty].last_words()
            if words:
                detail += f"\nits last words:\n{words}"
        return Settlement(
            "void", None, reason, self._referee.score_of_void, detail=detail, faulty=faulty
        )

    def _used(self, engine: Engine, *, ask: bool) -> Usage:
        """Return what the engine has used since its start; the CPU time by its
        own word where it gives one and may be asked, else as the system counts."""
        if not engine.is_launched:
            return Usage(None, None)
        used = engine.measure()
        if ask and isinstance(engine, GtpEngine) and engine.is_alive():
            try:
                own = engine.cpu_time()
            except EngineError:
                own = None
            if own is not None:
                return Usage(own, used.peak_memory)
        return used

    def _measure(self, index: int, before: float | None, *, ask: bool) -> EngineUsage:
        engine = self.engines[index]
        used = self._used(engine, ask=ask)
        now = used.cpu_time
        return EngineUsage(
            name=engine.name,
            cpu_time=None if now is None or before is None else max(0.0, now - before),
            peak_memory=used.peak_memory,
            thinking=self._thinking[index] / 1e9,
            slowest=self._slowest[index] / 1e9,
            description=engine.description,
        )

    def _result(
        self,
        settlement: Settlement,
        usage: tuple[EngineUsage, ...],
        started: float,
        seconds: float,
        notes: list[str],
    ) -> GameResult:
        job = self.job
        plies = 0 if self._game is None else len(self._game.moves) - len(job.opening.moves)
        record = None
        # a void game is worth a record only when something was played
        if job.record and self._game is not None and (settlement.outcome != "void" or plies):
            try:
                record = self._referee.write(self._game_record(settlement, usage, started))
            except (ValueError, ArithmeticError) as error:
                # a game is worth more than its record
                notes.append(f"no game record: {error}")
        stderr: list[tuple[str, str]] = [("ringmaster", note) for note in notes]
        if job.keep_stderr:
            for engine in self.engines:
                if engine.is_launched:
                    lines = engine.channel.take_stderr()
                    stderr += [(engine.player.code, line) for line in lines]
        return GameResult(
            game_id=job.id,
            attempt=job.attempt,
            outcome=settlement.outcome,
            winner=settlement.winner,
            reason=settlement.reason,
            detail=cut(settlement.detail),
            forfeit=settlement.forfeit,
            score=settlement.score,
            faulty=settlement.faulty,
            plies=plies,
            seconds=seconds,
            usage=(usage[0], usage[1]),
            record=record,
            record_suffix=self._referee.record_suffix,
            stderr=tuple(stderr),
        )

    def _game_record(
        self, settlement: Settlement, usage: tuple[EngineUsage, ...], started: float
    ) -> GameRecord:
        job = self.job
        names: list[str] = []
        for player, used in zip(job.players, usage, strict=True):
            wants_own = player.protocol == "gtp" and player.sgf_player_name_from_gtp and used.name
            names.append(used.name if wants_own else player.code)
        moves = [MoveRecord(move, i % 2) for i, move in enumerate(job.opening.moves)]
        assert self._game is not None
        played = self._game.moves[len(job.opening.moves) :]
        for move, (mover, thought, comment) in zip(played, self._thoughts, strict=False):
            moves.append(
                MoveRecord(
                    move,
                    mover,
                    seconds=thought.elapsed_ns / 1e9,
                    score=thought.score,
                    mate=thought.mate,
                    depth=thought.depth,
                    nodes=thought.nodes,
                    comment=comment,
                )
            )
        limits: list[str] = [describe_limits(player) for player in job.players]
        return GameRecord(
            game_id=job.id,
            event=job.event,
            date=time.strftime("%Y-%m-%d", time.localtime(started)),
            codes=_two([player.code for player in job.players]),
            names=_two(names),
            settings=job.settings,
            opening=job.opening,
            moves=tuple(moves),
            score=settlement.score,
            reason=settlement.reason,
            detail=settlement.detail,
            setup=self._referee.setup,
            descriptions=_two([used.description or used.name for used in usage]),
            notes=settlement.notes,
            parameters=job.parameters,
            time_controls=_two(limits),
            cpu_times=_two([used.cpu_time for used in usage]),
        )


def _describe_illegal(error: IllegalMove) -> str:
    """Return the move on the first line, for results; why and where after it."""
    return f"illegal move {error.move!r}\n{error.reason} in {error.position}"


def _two(items: list[Any]) -> tuple[Any, Any]:
    first, second = items
    return first, second
