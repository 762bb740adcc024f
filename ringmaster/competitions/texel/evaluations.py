"""The jobs in which positions are scored, and what is made of their results before they are
recorded: the loss of a shard, so that whoever takes it needs no position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.competitions.texel.features import asked
from ringmaster.competitions.texel.labels import as_scores
from ringmaster.competitions.texel.reference import Reference
from ringmaster.competitions.texel.scoring import EVAL, ScoreFunction, Scoring, scores_of
from ringmaster.competitions.texel.state import COMPARED, FEATURES, REFERENCE, STATIC, score_key
from ringmaster.competitions.texel.tuning import Tuning
from ringmaster.competitions.texel.verdicts import made_void
from ringmaster.model.jobs import Apply, EvaluationJob, GameSettings, Probe, ScoreKind, Ticket
from ringmaster.model.players import GameName, Player
from ringmaster.model.results import EvaluationResult


class EngineJob(msgspec.Struct, frozen=True):
    """Who scores, and where the positions are."""

    player: Player
    positions: str
    key: str


class Evaluations:
    """Makes jobs of a texel event's settings, and settles their results."""

    def __init__(
        self, values: Mapping[str, Any], settings: GameSettings, reference: Reference | None
    ) -> None:
        self._values = values
        self._settings = settings
        self._game: GameName = values["game"]
        self._scoring: Scoring = values["score"]
        self._kind = self._scoring.for_game(self._game)
        self._reference = reference

    def probe(
        self,
        job_id: str,
        attempt: int,
        ticket: Ticket,
        engine: EngineJob,
        places: range,
        probe: Probe,
    ) -> EvaluationJob:
        """Return the job of a probe."""
        answers = self._scoring.function is not None
        return self._job(
            job_id, attempt, ticket, engine, places, self._kind, answers=answers, probe=probe
        )

    def shard(
        self, job_id: str, attempt: int, ticket: Ticket, engine: EngineJob, tuning: Tuning
    ) -> EvaluationJob:
        """Return the job of a shard."""
        number, state = ticket["p"], tuning.state
        facts = state.facts or {}
        found = tuning.find(number)
        shard = ticket["i"] if found is None else found.shards[ticket["i"]]
        return self._job(
            job_id,
            attempt,
            ticket,
            engine,
            tuning.shards.positions(shard),
            self._kind_of(number),
            answers=number == FEATURES or self._function(number) is not None,
            number=score_key(state.beginning, number),
            shard=shard,
            apply=self._apply(facts, number),
            in_flight=self._in_flight(facts, number, attempt),
        )

    def _job(
        self,
        job_id: str,
        attempt: int,
        ticket: Ticket,
        engine: EngineJob,
        places: range,
        score: ScoreKind,
        **given: Any,
    ) -> EvaluationJob:
        return EvaluationJob(
            job_id,
            engine.player,
            self._settings,
            engine.positions,
            places.start,
            places.stop,
            places.step,
            key=engine.key,
            score=score,
            ticket=ticket,
            attempt=attempt,
            keep_stderr=self._values["stderr_to_log"],
            **given,
        )

    def _apply(self, facts: dict[str, Any], number: int) -> Apply:
        """Return when the engine takes the options of a pass: as the probe found for the
        tune's own scores.  A search of the quiet filter or of a reference gets a new process,
        as the searches of a tune do."""
        searches = self._kind_of(number).go is not None
        foreign = number <= REFERENCE
        if searches and (foreign or self._kind.go is None) and self._values["apply"] == "auto":
            return "restart"
        if foreign:
            return "newgame"
        return facts.get("apply", "newgame")  # type: ignore[no-any-return]  # one of them

    def _in_flight(self, facts: dict[str, Any], number: int, attempt: int) -> int:
        """Return how many requests a pass may have in flight: as many as the probe has
        found safe, for what it has asked; what went wrong with them may go well one by
        one."""
        own = number > REFERENCE and self._kind_of(number) == self._kind
        safe = own and not attempt
        return int(facts.get("in_flight", 1)) if safe else 1

    def _function(self, number: int) -> ScoreFunction | None:
        """Return the function of the control file that makes the scores of a pass."""
        if number <= REFERENCE:
            return None if self._reference is None else self._reference.scoring.function
        return self._scoring.function if number >= 0 else None

    def _kind_of(self, number: int) -> ScoreKind:
        """Return how a pass scores its positions."""
        if number == FEATURES:
            return asked(self._values["optimiser"])
        if number <= REFERENCE and self._reference is not None:
            return self._reference.scoring.for_game(self._game)
        own: dict[int, Scoring] = {
            COMPARED: self._values["positions"].quiet_score,
            STATIC: EVAL,
        }
        return own[number].for_game(self._game) if number in own else self._kind

    def settled(
        self, task: EvaluationJob, result: EvaluationResult, tuning: Tuning
    ) -> EvaluationResult:
        """Return a result as it is recorded.  Raises SettingError when a function of the
        control file fails."""
        if result.outcome == "void" or "n" in task.ticket:
            return result
        number = task.ticket["p"]
        places = range(task.first, task.stop, task.step)
        own = {"number": task.number, "shard": task.shard, "positions": len(places)}
        if number == FEATURES:
            assert tuning.features is not None
            tuning.features.put(task.shard, places, result.answers or ())
            return msgspec.structs.replace(result, **own, scores=None, answers=None)
        data = result.scores or b""
        function = self._function(number)
        if function is not None:
            assert tuning.positions is not None
            texts = tuning.positions.texts(task.shard)
            data = scores_of(function, result.answers or (), texts, self._game)
        if len(data) != 4 * len(places):
            came = f"{len(data) // 4} scores of {len(places)} came back"
            return made_void(result, "protocol", came)
        scores = as_scores(data)
        missing = tuning.missing(number, task.shard, scores)
        if missing:
            return made_void(
                result,
                "no score",
                f"with the values of pass {number} the engine gives no score of a position that "
                f"it had one of before: {missing}",
            )
        loss = tuning.loss(number, task.shard, scores)
        found = tuning.find(number)
        return msgspec.structs.replace(
            result,
            **own,
            scores=data if found is None or found.keep else None,
            answers=None,
            facts={} if loss is None else {"loss": loss},
        )
