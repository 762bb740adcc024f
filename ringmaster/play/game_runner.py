"""One game between two engines: request moves, check them, charge the clocks.

An engine's fault becomes the game's result, a forfeit or a void game with the reason.  Only
JobAbandoned and faults of ringmaster itself are raised.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ringmaster.engines.channel import Channel
from ringmaster.engines.engine import MAX_TEXT, Engine, Limits, Thought, start_timeout
from ringmaster.engines.gtp import GtpEngine
from ringmaster.errors import (
    EngineCrashed,
    EngineError,
    EngineNotStarted,
    EngineOverLimit,
    EngineProtocolError,
    EngineRebuilt,
    EngineRefused,
    EngineTimeout,
    IllegalMove,
    counted,
    cut,
)
from ringmaster.games.game import Game
from ringmaster.model.jobs import GameJob
from ringmaster.model.players import SECOND_SELF, describe_limits
from ringmaster.model.results import (
    REBUILT,
    STANDSTILL,
    EngineUsage,
    GameRecord,
    GameResult,
    MoveRecord,
)
from ringmaster.play.adjudication import make_adjudicator
from ringmaster.play.clock import Clock
from ringmaster.play.go_referee import GoReferee
from ringmaster.play.live_record import LiveRecord
from ringmaster.play.meter import Meter, Pondering
from ringmaster.play.played_moves import PlayedMove, move_records
from ringmaster.play.referee import ChessReferee, Referee, Settlement, ShogiReferee
from ringmaster.play.transcript import GameTranscript, transcript_of

REFEREES: Final[dict[str, type[Referee]]] = {
    "chess": ChessReferee,
    "go": GoReferee,
    "shogi": ShogiReferee,
}

#: The result's reason for each error.
REASON_OF_ERROR: Final[tuple[tuple[type[EngineError], str], ...]] = (
    (EngineRebuilt, REBUILT),
    (EngineNotStarted, "start"),
    (EngineCrashed, "crash"),
    (EngineOverLimit, "limit"),
    (EngineTimeout, "hang"),
    (EngineProtocolError, "protocol"),
)

#: Share of a mover's time above which a pause of the referee makes the game void.
_PAUSE_SHARE: Final = 0.01

#: Reasons after which neither engine plays another game.
REASONS_TO_DISCARD: Final = ("stall", "refused", "crash", "limit", "hang", "protocol")
#: Seconds for an engine to answer `stop` after a timeout or at the end of the game.
STOP_GRACE = 1.0


class GameRunner:
    """Plays one job with two engines (colour order), launched or not.

    live   receives the record of the game in progress
    third  the engine of `settings.referee`
    """

    def __init__(
        self,
        job: GameJob,
        engines: Sequence[Engine],
        *,
        live: LiveRecord | None = None,
        third: Engine | None = None,
    ) -> None:
        self.job = job
        self.engines: Sequence[Engine] = engines
        self._live = live if job.record else None
        self._referee = REFEREES[job.settings.game](job)
        self._referee.third = third
        self._all = engines if third is None else (*engines, third)
        settings = job.settings
        self._clocks = tuple(
            Clock(player, margin=settings.margin, hang_timeout=settings.hang_timeout)
            for player in job.players
        )
        self._pondering = Pondering(engines)
        self._meters = tuple(map(Meter, engines))
        one, other = self._clocks
        #: The clocks that each player sees, in move order: in place of a missing clock of the
        #: opponent its own.
        self._visible_clocks = (
            (one, other if other.has_time else one),
            (one if one.has_time else other, other),
        )
        timed = any(clock.time_left is not None for clock in self._clocks)
        #: Players that get the time in separate commands.
        self._gets_time = tuple(timed and player.protocol == "gtp" for player in job.players)
        self._played: list[PlayedMove] = []
        self._started = 0.0
        self._game: Game | None = None
        #: The conversations with the engines, once both are ready.
        self._channels: tuple[Channel, ...] = ()
        self._explained: tuple[bool, ...] = (False, False)
        #: Findings about engines that were started for this game.
        self._remarks: list[str] = []

    def play(self) -> GameResult:
        """Play the game.  Raises JobAbandoned."""
        self._started = time.time()
        begun = time.monotonic()
        transcript = self._referee.transcript = transcript_of(self.job)
        if self._live is not None:
            first, second = self.job.players
            self._live.begin(self.job.id, (first.code, second.code))
        try:
            try:
                self._launch(transcript)
                settlement = self._play()
            except EngineError as error:
                settlement = self._fail(error)
            finally:
                self._pondering.leave()
            # An engine that hangs gets no more requests.
            sound = settlement.outcome != "void" and settlement.reason not in REASONS_TO_DISCARD
            self._end_game(settlement)
            one, other = settlement.disputed
            usage = self._measure(0, sound, one), self._measure(1, sound, other)
            at_fault = settlement.outcome == "void" or settlement.forfeit
            if at_fault and transcript is not None:
                transcript.want()
        finally:
            if transcript is not None:
                for engine in self._all:
                    if engine.is_launched:
                        engine.channel.transcript = None
                transcript.close()
            if self._live is not None:
                self._live.end()
        notes = [transcript.failure] if transcript is not None and transcript.failure else []
        notes += self._remarks
        for player, used in zip(self.job.players, usage, strict=True):
            if used.extra_moves:
                moves = counted(used.extra_moves, "move")
                notes.append(
                    f"{player.code} sent {moves} without a search (a second bestmove?); it gets "
                    "isready before each search now"
                )
        notes += settlement.notes
        return self._result(settlement, usage, time.monotonic() - begun, notes)

    def _launch(self, transcript: GameTranscript | None) -> None:
        """Start both engines and prepare them for the game."""
        alive = [engine.is_usable() for engine in self.engines]
        has_played = [engine.is_usable() and engine.checked_for is None for engine in self.engines]
        for engine, is_alive in zip(self.engines, alive, strict=True):
            if not is_alive:
                engine.start_early(transcript)
        _attach_transcript(
            transcript, [e for e, is_alive in zip(self.engines, alive, strict=True) if is_alive]
        )
        for i, engine in enumerate(self.engines):
            if not alive[i]:
                engine.launch(transcript, timeout=start_timeout(self.job.settings, engine.player))
            if has_played[i]:
                engine.restart_count()
                continue
            self._remarks += engine.remarks
            self._meters[i].begin_new()
        for colour, engine in enumerate(self.engines):
            engine.start_game(self.job.settings, self.job.opening, colour)
            if has_played[colour]:
                self._meters[colour].begin_kept()
        self._channels = tuple(engine.channel for engine in self.engines)
        for channel in self._channels:
            channel.stood_still = 0

    def _play(self) -> Settlement:
        job, engines = self.job, self.engines
        adjudicator = make_adjudicator(job.settings)
        game = self._game = self._referee.begin(engines)
        for move in job.opening.moves:
            game.play(move)
        ending = game.ending()
        limit = job.settings.move_limit
        limits = self._limits()
        explained = self._explained = tuple(
            isinstance(e, GtpEngine) and job.record and e.knows("gomill-explain_last_move")
            for e in engines
        )
        records, ponders = job.record, tuple(player.ponder for player in job.players)
        plies = 0
        while ending is None:
            if limit and plies >= limit:
                return self._referee.at_move_limit(game)
            mover = game.to_move
            refusal = self._prepare(mover, limits[mover])
            if refusal is not None:
                return refusal
            outcome = self._request_move(mover, limits[mover])
            if isinstance(outcome, Settlement):
                return self._with_final_message(mover, outcome)
            try:
                game.play(outcome.move)
            except IllegalMove as error:
                # it may be a second answer to the search before
                with suppress(EngineError):
                    self.engines[mover].synchronise(STOP_GRACE)
                # the move on the first line, the reason and position on the second
                detail = f"illegal move {error.move!r}\n{error.reason} in {error.position}"
                settlement = self._referee.loss(mover, "illegal move", detail)
                return self._with_final_message(mover, settlement)
            plies += 1
            ending = game.ending()
            # From here on no fault changes the result.
            over = ending is not None or plies == limit
            comment = self._comment(mover, over=over) if explained[mover] else ""
            if records:
                self._played.append(
                    PlayedMove(mover, outcome, comment, self._clocks[mover].reading)
                )
            move = game.moves[-1]
            try:
                engines[mover].observe(mover, move, own=True)
                engines[1 - mover].observe(mover, move, own=False)
                if over:
                    engines[1 - mover].send_delayed()
            except EngineRefused as error:
                if not over:
                    return self._refused(1 - mover, error)
            except EngineError:
                if not over:
                    raise
            if adjudicator is not None and ending is None:
                adjudication = adjudicator.judge(game, mover, *outcome.score_and_mate())
                if adjudication is not None:
                    try:
                        engines[1 - mover].send_delayed()
                    except EngineRefused as error:
                        return self._refused(1 - mover, error)
                    return self._referee.by_ending(adjudication)
            if self._live is not None and self._live.is_due():
                self._show(self._live)
            if ponders[mover] and not over:
                self._set_clock(mover, limits[mover])
                self._pondering.begin(mover, limits[mover])
        return self._referee.settle(game, ending, engines)

    def _show(self, live: LiveRecord) -> None:
        """Write the record so far; no clock runs."""
        unknown = Settlement("void", None, "", self._referee.score_of_void)
        usage = EngineUsage()
        with suppress(ValueError, ArithmeticError):
            record = self._game_record(unknown, (usage, usage), 0.0)
            live.write(self._referee.write(record))

    def _prepare(self, mover: int, limits: Limits) -> Settlement | None:
        """Send moves and clocks to the mover; return a settlement if it refuses its
        opponent's move."""
        engine = self.engines[mover]
        if self._pondering.is_on:
            self._pondering.end(mover)
        if self._clocks[mover].has_time:
            self._set_clock(mover, limits)
        if self._gets_time[mover]:
            limits.time_left = (self._clocks[0].time_left, self._clocks[1].time_left)
            engine.send_time(limits)
        try:
            engine.begin(mover, limits)
        except EngineRefused as error:
            return self._refused(mover, error)
        return None

    def _request_move(self, mover: int, limits: Limits) -> Thought | Settlement:
        """Return the mover's answer, or a settlement if the game ends."""
        clock = self._clocks[mover]
        engine = self.engines[mover]
        try:
            thought = engine.think(mover, limits)
        except EngineTimeout as error:
            if clock.allowance is None:
                raise
            clock.count(round(limits.seconds * 1e9))
            return self._out_of_time(mover, error)
        except EngineRefused as error:
            detail = f"{engine.player.code} failed to move: {error}"
            return self._referee.loss(mover, "refused", detail)
        if self._channels[mover].stood_still:
            void = self._after_standstill(mover)
            if void is not None:
                return void
        elapsed = thought.elapsed_ns
        if not clock.charge(elapsed):
            spent = elapsed / 1e9
            left = f" with {clock.total / 1e9:.3f} s left" if clock.has_time else ""
            detail = f"{engine.player.code} used {spent:.3f} s{left}"
            return self._referee.loss(mover, "time", detail)
        if thought.kind == "move":
            return thought
        if thought.kind == "resign":
            return self._referee.loss(mover, "resignation", "", forfeit=False)
        assert self._game is not None
        return self._referee.claim(self._game, mover)

    def _after_standstill(self, mover: int) -> Settlement | None:
        """Return a settlement if the referee stood still for too long a part of the mover's
        time: its clock, or the engine's own, is wrong then."""
        channel = self._channels[mover]
        gap, channel.stood_still = channel.stood_still, 0
        if not gap:
            return None
        allowance = self._clocks[mover].allowance
        detail = (
            f"the computer or the worker stood still for at least {gap / 1e9:.1f} s while "
            f"{self.job.players[mover].code} was thinking"
        )
        if allowance is None or gap <= _PAUSE_SHARE * allowance:
            self._remarks.append(f"{detail}; this time is not charged")
            return None
        return Settlement(
            "void", None, STANDSTILL, self._referee.score_of_void, f"{detail}: its clock is wrong"
        )

    def _out_of_time(self, mover: int, error: EngineTimeout) -> Settlement:
        """Settle a game after a timeout: a loss on time if the mover answers `stop` or is
        gone, else a stall; no loss if the referee stood still."""
        engine = self.engines[mover]
        void = self._after_standstill(mover)
        if void is not None:
            return void
        answer = engine.stop_thinking(STOP_GRACE)
        detail = f"{engine.player.code}: {error}"
        if answer is not None:
            detail += f"; it answered {answer.elapsed_ns / 1e9:.3f} s later"
            return self._referee.loss(mover, "time", detail)
        if engine.has_exited():
            return self._referee.loss(mover, "time", f"{detail}; it is gone now")
        detail += f", and none to 'stop' in {STOP_GRACE:g} s more"
        return self._referee.loss(mover, "stall", detail + self._last_line(mover))

    def _last_line(self, index: int) -> str:
        line = self.engines[index].last_line()
        return f"\nits last line: {line}" if line else ""

    def _limits(self) -> tuple[Limits, ...]:
        """Return the constant part of both players' limits."""
        both = tuple(clock.limits() for clock in self._clocks)
        for clock, limits, (first, second) in zip(
            self._clocks, both, self._visible_clocks, strict=True
        ):
            # An engine with byo-yomi alone may not know increments.
            if clock.has_time and (clock.increment_ms or not clock.byoyomi_ms):
                limits.increment_ms = (first.increment_ms, second.increment_ms)
        return both

    def _set_clock(self, mover: int, limits: Limits) -> None:
        clock = self._clocks[mover]
        limits.seconds = clock.deadline
        if clock.has_time:
            first, second = self._visible_clocks[mover]
            limits.clock_ms = (first.remaining_ms, second.remaining_ms)
            limits.moves_to_go = clock.moves_to_go

    def _refused(self, index: int, error: EngineRefused) -> Settlement:
        """Settle a game after an engine refused its opponent's last move.

        As in Gomill, "illegal move" is believed and any other refusal loses.
        """
        assert self._game is not None
        move, code = self._game.moves[-1], self.job.players[index].code
        if "illegal move" in str(error).lower():
            return self._referee.loss(1 - index, "illegal move", f"{code} calls {move} illegal")
        return self._referee.loss(index, "refused", f"{code} refused {move}: {error}")

    def _comment(self, mover: int, *, over: bool) -> str:
        """Return the mover's comment on its move, "" without one."""
        engine = self.engines[mover]
        assert isinstance(engine, GtpEngine)
        try:
            return engine.explain_last_move()
        except EngineError:
            if not over:
                raise
            return ""

    def _with_final_message(self, mover: int, settlement: Settlement) -> Settlement:
        """Add the mover's comment on the answer that ended the game."""
        if settlement.reason in ("time", "stall") or not self._explained[mover]:
            return settlement
        message = self._comment(mover, over=True)
        if not message:
            return settlement
        note = f"final message from {self.job.players[mover].code}: {message}"
        return dataclasses.replace(settlement, notes=(*settlement.notes, note))

    def _fail(self, error: EngineError) -> Settlement:
        """Settle a game after an engine's failure."""
        settlement = self._void(error)
        is_loss = isinstance(error, EngineOverLimit) or self.job.settings.failures == "loss"
        counts = is_loss and self._game is not None
        if not counts or settlement.faulty is None or settlement.reason not in REASONS_TO_DISCARD:
            return settlement
        return self._referee.loss(settlement.faulty, settlement.reason, settlement.detail)

    def _end_game(self, settlement: Settlement) -> None:
        """Report the outcome to both engines, unless the game is void.  No fault changes the
        result now."""
        if settlement.outcome == "void":
            return
        for index, engine in enumerate(self.engines):
            if not engine.is_usable():
                continue
            try:
                self._pondering.stop(index, STOP_GRACE)
                if settlement.outcome == "win":
                    engine.end_game("win" if settlement.winner == index else "lose")
                elif settlement.outcome == "draw":
                    engine.end_game("draw")
            except EngineError:
                # The pool will not keep it.
                continue

    def _void(self, error: EngineError) -> Settlement:
        reason = next((r for kind, r in REASON_OF_ERROR if isinstance(error, kind)), "setup")
        codes = [player.code for player in self.job.players]
        faulty = codes.index(error.code) if error.code in codes else None
        detail = f"{error.code}: {error}" if error.code else str(error)
        if faulty is not None and not isinstance(error, EngineNotStarted):
            detail += self._last_line(faulty)
            words = self.engines[faulty].last_words()
            if words:
                detail += f"\nits last words:\n{words}"
        return Settlement(
            "void", None, reason, self._referee.score_of_void, detail=detail, faulty=faulty
        )

    def _measure(self, index: int, ask: bool, disputed: bool) -> EngineUsage:
        engine = self.engines[index]
        used = self._meters[index].read(ask=ask)
        # A description of each candidate would fill the store.
        tuned = self.job.parameters[index] and self.job.players[index].startup_gtp_commands
        extra_moves, engine.extra_moves = engine.extra_moves, 0
        return EngineUsage(
            name=engine.name,
            cpu_time=used.cpu_time,
            peak_memory=used.peak_memory,
            thinking=self._clocks[index].spent / 1e9,
            slowest=self._clocks[index].slowest / 1e9,
            description="" if tuned else engine.description,
            ponder_cpu_time=self._pondering.used[index],
            extra_moves=extra_moves,
            disputed=disputed,
        )

    def _result(
        self,
        settlement: Settlement,
        usage: tuple[EngineUsage, EngineUsage],
        seconds: float,
        notes: list[str],
    ) -> GameResult:
        job = self.job
        plies = 0 if self._game is None else len(self._game.moves) - len(job.opening.moves)
        record = None
        # A void game has a record only if moves were played.
        if job.record and self._game is not None and (settlement.outcome != "void" or plies):
            try:
                record = self._referee.write(self._game_record(settlement, usage, seconds))
            except (ValueError, ArithmeticError) as error:
                # The game counts without its record.
                notes.append(f"no game record: {error}")
        stderr: list[tuple[str, str]] = [("ringmaster", note) for note in notes]
        for engine in self._all:
            if engine.is_launched:
                # Read in any case, for the echo on the terminal.
                lines = engine.channel.errors.take()
                if job.keep_stderr:
                    stderr += [(engine.player.code, line) for line in lines]
        return GameResult(
            game_id=job.id,
            attempt=job.attempt,
            outcome=settlement.outcome,
            winner=settlement.winner,
            reason=settlement.reason,
            detail=cut(settlement.detail, MAX_TEXT),
            forfeit=settlement.forfeit,
            score=settlement.score,
            faulty=settlement.faulty,
            plies=plies,
            seconds=seconds,
            usage=usage,
            record=record,
            record_suffix=self._referee.record_suffix,
            stderr=tuple(stderr),
            fingerprint=None if settlement.outcome == "void" else self._fingerprint(),
        )

    def _fingerprint(self) -> int | None:
        """Return the fingerprint that identifies repeated games (see GameResult)."""
        if self._game is None:
            return None
        job = self.job
        # A player against itself is one engine.
        codes = [player.code.removesuffix(SECOND_SELF) for player in job.players]
        parts = [job.series, *codes, job.opening.fen or ""]
        parts += [" ".join(self._referee.setup), " ".join(self._game.moves)]
        hashed = hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=8)
        return int.from_bytes(hashed.digest(), "big", signed=True)

    def _game_record(
        self, settlement: Settlement, usage: tuple[EngineUsage, EngineUsage], seconds: float
    ) -> GameRecord:
        job = self.job
        first, second = job.players
        one, other = self.engines
        assert self._game is not None
        moves = [MoveRecord(move, i % 2) for i, move in enumerate(job.opening.moves)]
        texts = self._game.moves[len(job.opening.moves) :]
        # analysis in Go
        wanted = ("nodes", "pv") if job.settings.game == "go" else job.settings.record_info
        moves += move_records(texts, self._played, wanted)
        return GameRecord(
            game_id=job.id,
            event=job.event,
            date=time.strftime("%Y-%m-%d", time.localtime(self._started)),
            codes=(first.code, second.code),
            names=(_name(one), _name(other)),
            settings=job.settings,
            opening=job.opening,
            moves=tuple(moves),
            score=settlement.score,
            reason=settlement.reason,
            detail=settlement.detail,
            setup=self._referee.setup,
            descriptions=(one.description or one.name, other.description or other.name),
            builds=(one.build, other.build),
            notes=settlement.notes,
            parameters=job.parameters,
            shown_parameters=job.shown_parameters,
            competition=job.competition,
            round=job.round,
            time_controls=(describe_limits(first), describe_limits(second)),
            clocks=(first.time_control, second.time_control),
            cpu_times=(usage[0].cpu_time, usage[1].cpu_time),
            started=self._started,
            seconds=seconds,
        )


def _name(engine: Engine) -> str:
    """Return the player's name in records."""
    player = engine.player
    wants_own = player.protocol == "gtp" and player.sgf_player_name_from_gtp and engine.name
    return engine.name if wants_own else player.code


def _attach_transcript(transcript: GameTranscript | None, engines: Sequence[Engine]) -> None:
    """Write the engines' traffic to a game's transcript, beginning with their checks."""
    checks: list[tuple[GameTranscript, str]] = []
    for engine in engines:
        former = engine.channel.transcript
        engine.channel.transcript = transcript
        if isinstance(former, GameTranscript):
            checks.append((former, engine.player.code))
    if transcript is not None and checks:
        transcript.start = min(check.start for check, _ in checks)
        for check, code in checks:
            check.pass_on(transcript, code)
