"""Evaluation jobs: one engine scores a shard of a position file and stays alive for the next.

The engine's faults are in the result.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from ringmaster.engines.engine import MAX_TEXT, Engine
from ringmaster.engines.process import Surroundings
from ringmaster.errors import (
    EngineCrashed,
    EngineError,
    EngineProtocolError,
    EngineTimeout,
    StoreCorrupt,
    cut,
)
from ringmaster.model.jobs import EvaluationJob
from ringmaster.model.results import EngineUsage, EvaluationResult
from ringmaster.play.engine_pool import EnginePool, MakeEngine
from ringmaster.play.game_runner import REASON_OF_ERROR
from ringmaster.play.meter import Meter
from ringmaster.play.probe import EngineProbe
from ringmaster.play.scorer import Answers, Scorer
from ringmaster.play.transcript import transcript_of
from ringmaster.positions.position_file import PositionFile


class Evaluator:
    """Runs evaluation jobs one after another and keeps the position file open.

    An unusable position file makes a job void.  `run` raises JobAbandoned.
    """

    def __init__(self, pool: EnginePool, make: MakeEngine) -> None:
        self._pool = pool
        self._make = make
        self._file: PositionFile | None = None
        self._mark: tuple[str, int, int, int] | None = None

    def run(self, job: EvaluationJob, surroundings: Surroundings) -> EvaluationResult:
        """Carry out a job."""
        begun = time.monotonic()
        try:
            texts = self._texts(job)
        except (StoreCorrupt, OSError) as error:
            return EvaluationResult(
                job.id,
                job.attempt,
                "void",
                score_key=job.score_key,
                shard=job.shard,
                reason="setup",
                detail=cut(str(error), MAX_TEXT),
            )
        engine = self._pool.take_one(
            job.player, surroundings, same_options=job.apply == "restart" or job.probe is not None
        )
        run = _Run(job, engine, self._make, surroundings)
        healthy = False
        try:
            result = run.carry_out(texts, begun)
            # After a probe its options are unknown.
            is_known = result.outcome == "evaluated" and job.probe is None
            healthy = is_known and run.engine.is_reusable()
            return result
        finally:
            self._pool.give_back((run.engine,), healthy)

    def _texts(self, job: EvaluationJob) -> list[bytes]:
        if job.texts:
            return [text.encode() for text in job.texts]
        file = self._file
        if file is None or not job.key or (str(file.path), file.key) != (job.positions, job.key):
            # It may have been rebuilt under the same name.
            status = os.stat(job.positions)
            mark = (job.positions, status.st_ino, status.st_mtime_ns, status.st_size)
            if file is None or self._mark != mark:
                self._file = None
                file = PositionFile(Path(job.positions))
                self._file, self._mark = file, mark
            if job.key and file.key != job.key:
                raise StoreCorrupt(
                    f"{job.positions} has been rebuilt meanwhile from other files or with "
                    "other settings; start the run again"
                )
        if job.stop > len(file):
            raise StoreCorrupt(
                f"{job.positions} has {len(file)} positions, but not number"
                f" {job.stop - 1}; delete it; the next run makes a new one"
            )
        return file.texts(job.first, job.stop, job.step)


class _Run:
    """One job with one engine."""

    def __init__(
        self, job: EvaluationJob, engine: Engine, make: MakeEngine, surroundings: Surroundings
    ) -> None:
        self._job = job
        self._transcript = transcript_of(job)
        self._scorer = Scorer(job, engine, make, surroundings, self._transcript)
        self._meter = Meter(engine)

    @property
    def engine(self) -> Engine:
        """The present engine; earlier ones have been ended."""
        return self._scorer.engine

    def carry_out(self, texts: list[bytes], begun: float) -> EvaluationResult:
        transcript = self._transcript
        try:
            try:
                answers, facts = self._evaluate(texts)
            except EngineError as error:
                if transcript is not None:
                    transcript.want()
                return self._void(error, begun)
            scores = None if answers.scores is None else answers.scores.tobytes()
            return msgspec.structs.replace(
                self._result(begun, "evaluated"),
                positions=len(texts),
                scores=scores,
                answers=answers.texts,
                facts=facts,
            )
        finally:
            if self.engine.is_launched:
                self.engine.channel.transcript = None
            if transcript is not None:
                transcript.close()

    def _evaluate(self, texts: list[bytes]) -> tuple[Answers, dict[str, Any]]:
        job, scorer = self._job, self._scorer
        if job.probe is not None:
            probe = EngineProbe(job, job.probe, scorer, texts)
            facts = probe.run()
            return Answers(probe.scores), facts
        if job.apply == "restart" and scorer.searches and self.engine.is_usable():
            # A new game may leave hash tables filled.
            scorer.renew(job.player)
            self._meter = Meter(scorer.engine)
            self._meter.begin_new()
        elif scorer.launch():
            self._meter.begin_new()
        else:
            self._meter.begin_kept()
        # The pool has ended processes with other options.
        scorer.set(job.player, "newgame" if job.apply == "restart" else job.apply)
        return scorer.ask(texts, job.in_flight), {}

    def _void(self, error: EngineError, begun: float) -> EvaluationResult:
        reason = next((r for kind, r in REASON_OF_ERROR if isinstance(error, kind)), "setup")
        detail = f"{error.code or self._job.player.code}: {error}"
        has_answered = isinstance(error, EngineCrashed | EngineTimeout | EngineProtocolError)
        if has_answered and (line := self.engine.last_line()):
            detail += f"\nits last line: {line}"
        result = self._result(begun, "void")
        return msgspec.structs.replace(result, reason=reason, detail=cut(detail, MAX_TEXT))

    def _result(self, begun: float, outcome: Literal["evaluated", "void"]) -> EvaluationResult:
        job, engine = self._job, self.engine
        stderr: tuple[tuple[str, str], ...] = ()
        if engine.is_launched:
            # Read in any case, for the echo on the terminal.
            lines = engine.channel.errors.take()
            if job.keep_stderr:
                stderr = tuple((job.player.code, line) for line in lines)
        used = self._meter.read(ask=False)
        return EvaluationResult(
            job.id,
            job.attempt,
            outcome,
            score_key=job.score_key,
            shard=job.shard,
            seconds=time.monotonic() - begun,
            usage=EngineUsage(engine.name, used.cpu_time, used.peak_memory),
            stderr=stderr,
        )
