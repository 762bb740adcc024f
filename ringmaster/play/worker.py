"""The work of a worker process: run jobs one after another with a pool of engines."""

from __future__ import annotations

import dataclasses
import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from ringmaster.engines.containment import contain, sweep
from ringmaster.engines.engine import QUIT_PATIENCE, Engine
from ringmaster.engines.process import STDERR_LINE, Surroundings
from ringmaster.errors import counted
from ringmaster.model.builds import FileSum, Watch
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameJob, Job, WorkerContext
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, EvaluationResult, GameResult, JobResult
from ringmaster.play.engine_pool import EnginePool, make_engine
from ringmaster.play.game_runner import REASONS_TO_DISCARD, GameRunner
from ringmaster.play.live_record import LiveRecord

if TYPE_CHECKING:
    from ringmaster.play.evaluation import Evaluator

#: The game id during checks (Gomill's word).
CHECK: Final = "startup-check"


class Echo:
    """Passes on the engines' standard error line by line; drops lines rather than wait.

    job_id  the present job's
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
    """Runs jobs; an engine's faults are in the result.

    `run` raises JobAbandoned when the control descriptor becomes readable, after it has
    ended the job's engines.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._control_fd = context.control_fd
        variables = {}
        if context.setup.get("workers", 1) > 1 or context.slot:
            # As in Gomill, unset without simultaneous games.  The user may have added some.
            variables["GOMILL_SLOT"] = variables["RINGMASTER_SLOT"] = str(context.slot)
        lines_fd = context.setup.get("error_lines")
        self._echo = None if lines_fd is None else Echo(lines_fd)
        watch = Watch(msgspec.convert(context.setup.get("builds", {}), dict[str, FileSum]))
        self._surroundings = Surroundings(
            variables, context.slot, context.reaper_fd, self._echo, context.say, watch
        )
        live = context.setup.get("live")
        self._live = None if live is None else LiveRecord(live)
        self._pool = EnginePool(self._make)
        self._evaluator: Evaluator | None = None
        self._say = context.say
        #: Whether an engine has left a process behind.
        self._has_swept = False

    def _make(self, player: Player, surroundings: Surroundings) -> Engine:
        return make_engine(player, surroundings, interrupt_fd=self._control_fd)

    def _surroundings_of(self, game_id: str) -> Surroundings:
        variables = {
            **self._surroundings.environ,
            "RINGMASTER_GAME_ID": game_id,
            "GOMILL_GAME_ID": game_id,
        }
        if game_id == CHECK:
            # As in Gomill, unset during checks.
            variables.pop("GOMILL_SLOT", None)
            variables.pop("RINGMASTER_SLOT", None)
            return dataclasses.replace(self._surroundings, environ=variables, echo=None)
        return dataclasses.replace(self._surroundings, environ=variables)

    def run(self, job: Job) -> JobResult:
        """Carry out a job, then kill processes that engines have left behind."""
        try:
            return self._run(job)
        finally:
            killed = sweep()
            if killed and not self._has_swept:
                self._has_swept = True
                self._say(
                    f"{job.id}: killed {counted(killed, 'process')} that an engine had left "
                    "behind (further ones are killed without a message)"
                )

    def _run(self, job: Job) -> JobResult:
        if self._echo is not None:
            self._echo.job_id = job.id
        if isinstance(job, CheckJob):
            return self._check(job)
        if isinstance(job, EvaluationJob):
            return self._evaluate(job)
        return self._play(job)

    def _play(self, job: GameJob) -> GameResult:
        engines = self._pool.take(job.engines, self._surroundings_of(job.id))
        healthy = False
        try:
            third = engines[2] if len(engines) > 2 else None
            result = GameRunner(job, engines[:2], live=self._live, third=third).play()
            # After a failure, a refusal or a void game the state of an engine is unknown, so
            # it is not reused.  An engine that lost on time and answered `stop` is.
            healthy = result.outcome != "void" and result.reason not in REASONS_TO_DISCARD
            return result
        finally:
            self._pool.give_back(engines, healthy)

    def _evaluate(self, job: EvaluationJob) -> EvaluationResult:
        # Imported here: workers that play need no numpy.
        from ringmaster.play.evaluation import Evaluator

        if self._evaluator is None:
            self._evaluator = Evaluator(self._pool, self._make)
        return self._evaluator.run(job, self._surroundings_of(job.id))

    def _check(self, job: CheckJob) -> CheckResult:
        """Check an engine.

        With `job.keep` the pool keeps the process of a fit UCI or USI engine for its player's
        games; transcript and standard error of the first include the check's.  Over GTP a
        process learns by its environment that it serves a check only.
        """
        # Imported here: needed before a competition's first run only.
        from ringmaster.play.compliance.engine_check import EngineCheck
        from ringmaster.play.compliance.protocol_tests import run_check

        if job.show_stderr:
            # As in Gomill, a check shows standard error in any case.
            player = msgspec.structs.replace(job.player, discard_stderr=False)
            job = msgspec.structs.replace(job, player=player)
        plays = job.keep and job.player.keeps_process and job.player.protocol != "gtp"
        surroundings = self._surroundings if plays else self._surroundings_of(CHECK)
        make = self._pool.take_for_check if plays else self._make
        for_game = self._surroundings_of(job.id)
        check = EngineCheck(
            job,
            lambda: make(job.player, surroundings),
            lambda player: self._make(player, for_game),
        )
        try:
            result = run_check(check)
            engine = check.running
            if plays and engine is not None and not result.problems and engine.is_usable():
                # the tests are no part of the game's transcript
                engine.channel.transcript = check.start
                self._pool.keep(engine)
                check.running = None
            return result
        finally:
            check.drop(patience=QUIT_PATIENCE)

    def close(self) -> None:
        """End all engines."""
        self._pool.close()
        sweep()


def contained_worker(context: WorkerContext) -> Worker:
    """Return the worker of a process of its own, in which all processes are engines'."""
    contain()
    return Worker(context)
