"""A worker: carries out jobs one after another with a pool of engines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from ringmaster.engines import tick
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.engines.process import Surroundings
from ringmaster.errors import EngineError
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameJob, Job
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, EvaluationResult, GameResult, JobResult
from ringmaster.play.engine_pool import EnginePool, make_engine
from ringmaster.play.game_runner import UNSOUND, GameRunner
from ringmaster.play.transcript import FileTranscript

if TYPE_CHECKING:
    from ringmaster.play.evaluation import Evaluator

#: The game id that engines see while they are checked (Gomill's word).
CHECK: Final = "startup-check"


class Context(Protocol):
    """What an executor gives its workers.

    slot        number of the worker, from 0
    control_fd  readable when the job must be dropped
    watcher_fd  write end of the watcher's pipe, or None
    setup       JSON data from whoever made the executor: "marker" (environment
                marker of the run), "workers" (how many there are)
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
        self._surroundings = Surroundings(variables, context.slot, context.watcher_fd)
        self._pool = EnginePool(self._make)
        self._evaluator: Evaluator | None = None

    def _make(self, player: Player, surroundings: Surroundings) -> Engine:
        return make_engine(player, surroundings, interrupt_fd=self._control_fd)

    def _surroundings_of(self, game_id: str) -> Surroundings:
        variables = {
            **self._surroundings.environ,
            "RINGMASTER_GAME_ID": game_id,
            "GOMILL_GAME_ID": game_id,
        }
        if game_id == CHECK:
            # Gomill leaves the slot unset for the startup checks
            variables.pop("GOMILL_SLOT", None)
            variables.pop("RINGMASTER_SLOT", None)
        return dataclasses.replace(self._surroundings, environ=variables)

    def run(self, job: Job) -> JobResult:
        """Carry out a job."""
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
        problems: tuple[str, ...]
        engine = None
        try:
            engine = self._make(player, self._surroundings_of(CHECK))
            engine.launch(transcript, timeout=start_timeout(job.settings, player))
            problems = tuple(engine.check(job.settings))
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
        )

    def _examine(
        self, job: CheckJob, player: Player, transcript: FileTranscript | None
    ) -> CheckResult:
        # not at the top: only `check` has a use for it, and workers start without
        from ringmaster.play.compliance import examine

        surroundings = self._surroundings_of(CHECK)
        examined = examine(
            player,
            job.settings,
            lambda: self._make(player, surroundings),
            transcript=transcript,
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
