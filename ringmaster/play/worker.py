"""A worker: carries out jobs one after another with a pool of engines."""

from __future__ import annotations

import dataclasses
import os
import select
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from ringmaster.engines import tick
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.engines.error_output import STDERR_LINE
from ringmaster.engines.process import Surroundings
from ringmaster.errors import EngineError
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameJob, Job
from ringmaster.model.players import Player
from ringmaster.model.resources import HASH, THREADS
from ringmaster.model.results import CheckResult, EvaluationResult, Finding, GameResult, JobResult
from ringmaster.play.engine_pool import EnginePool, make_engine
from ringmaster.play.game_runner import UNSOUND, GameRunner
from ringmaster.play.transcript import FaultTranscript, FileTranscript

if TYPE_CHECKING:
    from ringmaster.play.evaluation import Evaluator

#: The game id that engines see while they are checked (Gomill's word).
CHECK: Final = "startup-check"
#: Seconds that an engine may take to get ready if it is to be tested before its first game.
MOST_SECONDS_TO_TEST = 1.0


class Context(Protocol):
    """What an executor gives its workers.

    slot        number of the worker, from 0
    control_fd  readable when the job must be dropped
    watcher_fd  write end of the watcher's pipe, or None
    setup       JSON data from whoever made the executor: "marker" (environment
                marker of the run), "workers" (how many there are), "error_lines" (a
                descriptor on which the engines' standard error is passed on)
    alone       whether the process and its signals are this worker's only
    """

    @property
    def slot(self) -> int: ...
    @property
    def control_fd(self) -> int: ...
    @property
    def watcher_fd(self) -> int | None: ...
    @property
    def setup(self) -> Mapping[str, Any]: ...
    @property
    def alone(self) -> bool: ...


class Echo:
    """Passes the engines' standard error on, a line of text a line, never waiting: what
    cannot be written at once is left out.

    job_id  of the job that the engines are at
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.job_id = ""

    def __call__(self, code: str, lines: bytes) -> None:
        head = f"{self.job_id} {code} stderr: ".encode()
        whole = [head + line[:STDERR_LINE].rstrip(b"\r") + b"\n" for line in lines.split(b"\n")]
        while whole:
            data = whole.pop(0)
            while whole and len(data) + len(whole[0]) <= select.PIPE_BUF:
                data += whole.pop(0)
            with suppress(OSError):
                os.write(self._fd, data[-select.PIPE_BUF :])


class Worker:
    """Runs jobs; what an engine does wrong is in the result.

    Raises JobAbandoned out of `run` when the control descriptor becomes
    readable; the engines of that job have been ended then.
    """

    def __init__(self, context: Context) -> None:
        self._control_fd = context.control_fd
        variables = {}
        if "marker" in context.setup:
            variables["RINGMASTER_RUN"] = str(context.setup["marker"])
        workers = int(context.setup.get("workers", 1))
        if workers > 1:
            # Gomill's name beside ours; unset when games are not simultaneous
            variables["GOMILL_SLOT"] = variables["RINGMASTER_SLOT"] = str(context.slot)
        lines_fd = context.setup.get("error_lines")
        self._echo = None if lines_fd is None else Echo(lines_fd)
        self._surroundings = Surroundings(variables, context.slot, context.watcher_fd, self._echo)
        self._pool = EnginePool(self._make)
        self._evaluator: Evaluator | None = None

    def _make(self, player: Player, surroundings: Surroundings) -> Engine:
        return make_engine(player, surroundings, interrupt_fd=self._control_fd)

    def _surroundings_of(self, game_id: str, *, has_slot: bool = True) -> Surroundings:
        variables = {
            **self._surroundings.environ,
            "RINGMASTER_GAME_ID": game_id,
            "GOMILL_GAME_ID": game_id,
        }
        if not has_slot:
            # Gomill leaves the slot unset for the startup checks
            variables.pop("GOMILL_SLOT", None)
            variables.pop("RINGMASTER_SLOT", None)
            return Surroundings(variables, self._surroundings.slot, self._surroundings.watcher_fd)
        return dataclasses.replace(self._surroundings, environ=variables)

    def run(self, job: Job) -> JobResult:
        """Carry out a job."""
        if self._echo is not None:
            self._echo.job_id = job.id
        if isinstance(job, CheckJob):
            return self._check(job)
        if isinstance(job, EvaluationJob):
            return self._evaluate(job)
        return self._play(job)

    def _play(self, job: GameJob) -> GameResult:
        engines = self._pool.take(job.players, self._surroundings_of(job.id))
        healthy = False
        try:
            result = GameRunner(job, engines).play()
            # After a failure, a refusal to go on, or a void game, nobody knows what
            # an engine is doing; a new process costs less than a guess.  One that
            # was late, but then answered, is kept.
            healthy = result.outcome != "void" and result.reason not in UNSOUND
            return result
        finally:
            self._pool.give_back(engines, healthy)

    def _evaluate(self, job: EvaluationJob) -> EvaluationResult:
        # not at the top: workers that play start without numpy
        from ringmaster.play.evaluation import Evaluator

        if self._evaluator is None:
            self._evaluator = Evaluator(self._pool, self._make)
        return self._evaluator.run(job, self._surroundings_of(job.id))

    def _check(self, job: CheckJob) -> CheckResult:
        transcript = None if job.transcript is None else FileTranscript(job.transcript)
        player = job.player
        if job.show_stderr:
            # whoever asks for a check wants to see what is said (Gomill)
            player = msgspec.structs.replace(player, discard_stderr=False)
        if job.thorough:
            try:
                return self._examine(job, player, transcript)
            finally:
                if transcript is not None:
                    transcript.close()
        if job.keep:
            return self._set_up(job)
        problems: tuple[str, ...]
        hash = threads = None
        engine = None
        try:
            engine = self._make(player, self._surroundings_of(CHECK, has_slot=False))
            engine.launch(transcript, timeout=start_timeout(job.settings, player))
            problems = tuple(engine.check(job.settings))
            hash, threads = engine.number_in_force(HASH), engine.number_in_force(THREADS)
        except EngineError as error:
            problems = (str(error),)
        finally:
            stderr: tuple[str, ...] = ()
            if engine is not None:
                if engine.is_launched:
                    stderr = tuple(engine.channel.take_stderr())
                engine.end()
            if transcript is not None:
                transcript.close()
        return CheckResult(
            check_id=job.id,
            code=player.code,
            name="" if engine is None else engine.name,
            problems=problems,
            stderr=stderr if job.show_stderr else (),
            hash=hash,
            threads=threads,
        )

    def _set_up(self, job: CheckJob) -> CheckResult:
        """Check a player in a process that the pool keeps for its first game.  The traffic is
        kept for the transcript of the game, standard error for its result."""
        player = job.player
        problems: tuple[str, ...] = ()
        findings: tuple[Finding, ...] = ()
        hash = threads = None
        engine = None
        healthy = False
        try:
            engine = self._pool.take_for_check(player, self._surroundings_of(CHECK))
            begun = time.monotonic()
            if not engine.is_alive():
                timeout = start_timeout(job.settings, player)
                engine.launch(FaultTranscript(""), timeout=timeout)
            problems = tuple(engine.check(job.settings))
            hash, threads = engine.number_in_force(HASH), engine.number_in_force(THREADS)
            seconds = time.monotonic() - begun
            wanted = not problems and (job.limits or job.changes)
            if wanted and seconds > MOST_SECONDS_TO_TEST:
                # each search of a test would wait for it once more
                findings = (Finding("skip", "limits", f"it took {seconds:.1f} s to get ready"),)
            elif wanted:
                # not at the top: before a competition's first run only
                from ringmaster.play.compliance.own_limits import try_out

                findings = try_out(engine, player, job.settings, job.changes, own_limits=job.limits)
            healthy = not problems and engine.is_alive()
        except EngineError as error:
            problems = (str(error),)
        finally:
            if healthy and engine is not None:
                self._pool.keep(engine)
            elif engine is not None:
                engine.end()
        name = "" if engine is None else engine.name
        return CheckResult(
            job.id, player.code, name, problems, findings=findings, hash=hash, threads=threads
        )

    def _examine(
        self, job: CheckJob, player: Player, transcript: FileTranscript | None
    ) -> CheckResult:
        # not at the top: only `check` has a use for it, and workers start without
        from ringmaster.play.compliance import examine

        surroundings = self._surroundings_of(CHECK, has_slot=False)
        examined = examine(
            player,
            job.settings,
            lambda: self._make(player, surroundings),
            transcript=transcript,
            changes=job.changes,
        )
        return CheckResult(
            check_id=job.id,
            code=player.code,
            name=examined.name,
            problems=examined.problems,
            stderr=examined.stderr if job.show_stderr else (),
            findings=examined.findings,
            suggestions=examined.suggestions,
            seconds=examined.seconds,
        )

    def close(self) -> None:
        """End all engines."""
        self._pool.close()


def make_worker(context: Context) -> Worker:
    """Return a worker; the name executors are given."""
    if context.alone:
        tick.start()
    return Worker(context)
