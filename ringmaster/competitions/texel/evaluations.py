"""Evaluation jobs and probes, and their results before and after recording.

A recorded result has the loss of its shard, so its reader needs no positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from ringmaster.competitions.competition import PlayedValue, Reaction
from ringmaster.competitions.result_lines import count_void, void_rule
from ringmaster.competitions.texel.labels import decode_scores
from ringmaster.competitions.texel.methods import feature_request, from_answers
from ringmaster.competitions.texel.reference import Reference
from ringmaster.competitions.texel.score_setting import EVAL, ScoreFunction, Scoring, scores_of
from ringmaster.competitions.texel.state import (
    COMPARED,
    FEATURES,
    MOST_PLAYED,
    STATIC,
    TexelState,
    is_reference,
    score_key,
    scoring_player,
)
from ringmaster.competitions.texel.tuning import Tuning
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.errors import SettingError, StateRefused, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import Apply, EvaluationJob, Probe, ScoreKind, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import GameName, Player
from ringmaster.model.results import EvaluationResult


def make_probe(
    tuned: Sequence[TunedParameter],
    values: ValuesByCode,
    candidate: Callable[[ValuesByCode], Player],
    apply: Apply | Literal["auto"],
    in_flight: int | Literal["auto"],
) -> Probe:
    """Return a probe of the engine.

    values  of all parameters, at the start of the tune
    apply, in_flight  settings; "auto": the probe determines them
    """
    changed = []
    for parameter in tuned:
        here = values[parameter.code]
        # the bound that is farther away
        far = max((parameter.minimum, parameter.maximum), key=lambda end: abs(end - here))
        changed.append(candidate({**values, parameter.code: parameter.played_value(far)}))
    return Probe(
        tuple(changed),
        None if apply == "auto" else apply,
        None if in_flight == "auto" else in_flight,
    )


def problem_of(facts: dict[str, Any], codes: Sequence[str]) -> str:
    """Return the reason why a probe forbids tuning, "" if there is none."""
    if facts.get("problem"):
        return str(facts["problem"])
    moved = facts.get("moved")
    if moved is not None and len(moved) and not any(moved):
        named = ", ".join(codes[:5]) + ("…" if len(codes) > 5 else "")
        return (
            f"the engine's scores do not change with any parameter ({named}): check that the "
            "parameters belong to the evaluation, and that `score` requests it"
        )
    return ""


def repeatability(facts: dict[str, Any], score: ScoreKind) -> str:
    """Return in words whether scores are repeatable, "" if unknown."""
    if facts.get("repeatable") is False:
        return "not repeatable"
    if "repeatable" not in facts:
        return ""
    if score.go is not None and facts.get("apply") != "restart":
        return "repeatable in the probe; a longer run may show otherwise"
    return "repeatable"


def probe_lines(facts: dict[str, Any], codes: Sequence[str], score: ScoreKind) -> list[str]:
    """Return the results of a probe, a line each."""
    when = {
        "live": "at once",
        "newgame": "after a new game",
        "restart": "in a new process only",
    }
    parts = [str(facts["name"])] if facts.get("name") else []
    parts += [f"takes values {when.get(str(facts.get('apply')), 'unknown')}"]
    parts += [f"{facts.get('in_flight', 1)} in flight"]
    if facts.get("rate"):
        parts.append(f"{facts['rate']:,.0f} positions/s")
    lines = ["probe: " + ", ".join(parts)]
    if facts.get("repeatable") is False:
        reason = "; a search needs one thread and a limit other than time" if score.go else ""
        lines.append(f"warning: repeated positions get different scores{reason}")
    elif score.go is not None and facts.get("apply") != "restart":
        lines.append(
            "warning: tables that survive a new game may change scores of later shards, so "
            'another run may end differently; apply = "restart" prevents it'
        )
    if facts.get("none"):
        lines.append(f"{100 * facts['none']:.3g} % of the positions get no score (in check)")
    unmoved = [
        code for code, moved in zip(codes, facts.get("moved") or (), strict=False) if not moved
    ]
    if unmoved:
        lines.append(f"warning: no score changes with {', '.join(unmoved)}")
    return lines


def shard_id(ticket: Ticket) -> str:
    """Return the id of a shard's job."""
    beginning, number = ticket["e"], ticket["p"]
    name = f"p{number}" if number >= 0 else f"q{-number}"
    return f"{f'e{beginning}' if beginning else ''}{name}_{ticket['i']:04d}"


def shard_line(ticket: Ticket, result: EvaluationResult) -> str:
    """Return a line about a shard for the log."""
    rate = result.positions / result.seconds if result.seconds > 0 else 0.0
    return (
        f"{shard_id(ticket)}: {result.positions:,} positions in {result.seconds:.2f} s"
        f" ({rate:,.0f}/s)"
    )


def record_void(state: TexelState, ticket: Ticket, result: EvaluationResult, code: str) -> Reaction:
    """Record a void result, and return the reaction: another try, or the end of the run.

    code  of the player that evaluates
    """
    state.void += 1
    count_void(state.void_kinds, result, [code])
    job = "the probe" if "n" in ticket else f"shard {shard_id(ticket)}"
    attempt = f", attempt {result.attempt + 1}" if result.attempt else ""
    detail = result.detail.splitlines()[0] if result.detail else ""
    line = f"{job}: void ({result.reason}{attempt}): {detail}"
    halt = void_rule(state.void_excess, result, first=not state.shards, what="this tune")
    return Reaction(line, replay=True, halt=halt and f"{halt}: {detail or result.reason}")


def record_probe(
    state: TexelState, ticket: Ticket, result: EvaluationResult, score: ScoreKind
) -> Reaction:
    """Record the results of a probe in the state."""
    if ticket["n"] == state.probe_out:
        state.probe_out = None
    codes = [p.code for p in state.learning.tuned]
    problem = problem_of(result.facts, codes)
    if problem:
        state.facts = None
        return Reaction("probe: these settings cannot be tuned", halt=problem, save=True)
    state.facts = dict(result.facts)
    state.probe_due = False
    line, *notes = probe_lines(state.facts, codes, score)
    return Reaction(line, notes=tuple(notes), save=True)


def as_void(result: EvaluationResult, reason: str, detail: str) -> EvaluationResult:
    """Return a void version of a result."""
    return msgspec.structs.replace(
        result, outcome="void", reason=reason, detail=detail, scores=None, answers=None
    )


def result_of(function: Callable[..., Any], arguments: Sequence[Any], name: str) -> Any:
    """Return the result of a function of the setting `name`, in canonical form.

    Raises SettingError if the function fails.
    """
    try:
        return canonical(function(*arguments))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit
        words = ", ".join(map(shown, arguments))
        raise SettingError(
            (name,), f"called with ({words}), it raised {type(error).__name__}: {error}"
        ) from error


class Evaluations:
    """Makes jobs from the settings of a texel competition, and completes their results."""

    def __init__(self, values: Mapping[str, Any], reference: Reference | None) -> None:
        self._values = values
        self._game: GameName = values["game"]
        self._scoring: Scoring = values["score"]
        self._kind = self._scoring.for_game(self._game)
        self._reference = reference

    def probe(self, job: EvaluationJob, places: range, probe: Probe) -> EvaluationJob:
        """Return a job as a probe of some positions."""
        return msgspec.structs.replace(
            job,
            first=places.start,
            stop=places.stop,
            step=places.step,
            score=self._kind,
            answers=self._scoring.function is not None,
            probe=probe,
        )

    def shard(self, job: EvaluationJob, tuning: Tuning) -> EvaluationJob:
        """Return a job with the shard of its ticket."""
        number, place = job.ticket["p"], job.ticket["i"]
        facts = tuning.state.facts or {}
        open_pass = tuning.find_or_ask(number)
        shard = place if open_pass is None else open_pass.shards[place]
        places = tuning.shards.positions(shard)
        player = job.player
        if is_reference(number) and self._reference is not None:
            player = self._reference.player
        return msgspec.structs.replace(
            job,
            player=player,
            first=places.start,
            stop=places.stop,
            step=places.step,
            score=self._kind_of(number),
            answers=number == FEATURES or self._function(number) is not None,
            score_key=score_key(tuning.state.beginning, number),
            shard=shard,
            apply=self._apply(facts, number),
            in_flight=self._in_flight(facts, number, job.attempt),
        )

    def _apply(self, facts: dict[str, Any], number: int) -> Apply:
        """Return when the options of a pass take effect.

        The tune's own scores follow the probe.  A search for the quiet filter or a reference
        gets a new process, as searches of a tune do.
        """
        searches = self._kind_of(number).go is not None
        foreign = is_reference(number)
        if searches and (foreign or self._kind.go is None) and self._values["apply"] == "auto":
            return "restart"
        if foreign:
            return "newgame"
        apply: Apply = facts.get("apply", "newgame")
        return apply

    def _in_flight(self, facts: dict[str, Any], number: int, attempt: int) -> int:
        """Return the number of requests in flight.

        It is the probe's safe number for requests of the same kind, and 1 after a void job.
        """
        own = not is_reference(number) and self._kind_of(number) == self._kind
        safe = own and not attempt
        return int(facts.get("in_flight", 1)) if safe else 1

    def _function(self, number: int) -> ScoreFunction | None:
        """Return the control file's function that computes the scores of a pass."""
        if is_reference(number):
            return None if self._reference is None else self._reference.scoring.function
        return self._scoring.function if number >= 0 else None

    def _kind_of(self, number: int) -> ScoreKind:
        """Return how a pass scores positions."""
        if number == FEATURES:
            return feature_request(self._values["optimiser"])
        if is_reference(number) and self._reference is not None:
            return self._reference.scoring.for_game(self._game)
        own: dict[int, Scoring] = {
            COMPARED: self._values["positions"].quiet_score,
            STATIC: EVAL,
        }
        return own[number].for_game(self._game) if number in own else self._kind

    def complete_result(
        self, task: EvaluationJob, result: EvaluationResult, tuning: Tuning
    ) -> EvaluationResult:
        """Return a result as recorded.  Raises SettingError if the user's function fails."""
        if result.outcome == "void" or "n" in task.ticket:
            return result
        number = task.ticket["p"]
        places = range(task.first, task.stop, task.step)
        own = {"score_key": task.score_key, "shard": task.shard, "positions": len(places)}
        if number == FEATURES:
            assert tuning.features is not None
            tuning.features.put(task.shard, places, result.answers or ())
            facts = self._facts(task, result, tuning, None)
            return msgspec.structs.replace(result, **own, scores=None, answers=None, facts=facts)
        data = result.scores or b""
        function = self._function(number)
        if function is not None:
            assert tuning.positions is not None
            texts = tuning.positions.texts(task.shard)
            data = scores_of(function, result.answers or (), texts, self._game)
        if len(data) != 4 * len(places):
            detail = f"{len(data) // 4} of {len(places)} scores were returned"
            return as_void(result, "protocol", detail)
        scores = decode_scores(data)
        missing = tuning.missing(number, task.shard, scores)
        if missing:
            return as_void(
                result,
                "no score",
                f"with the values of pass {number} the engine gives no score for a position that "
                f"it scored before: {missing}",
            )
        loss = tuning.loss(number, task.shard, scores)
        open_pass = tuning.find_or_ask(number)
        return msgspec.structs.replace(
            result,
            **own,
            scores=data if open_pass is None or open_pass.keep else None,
            answers=None,
            facts=self._facts(task, result, tuning, loss),
        )

    def _facts(
        self, task: EvaluationJob, result: EvaluationResult, tuning: Tuning, loss: float | None
    ) -> dict[str, Any]:
        """Return the loss of a shard, and results of the control file's functions.

        The functions' results for the first position are recorded in passes that score all
        positions, and the player of make_candidate in passes 0, 1, 2, 4, 8, …
        """
        number, shard = task.ticket["p"], task.shard
        facts: dict[str, Any] = {} if loss is None else {"loss": loss}
        played: dict[str, list[Any]] = {}
        assert tuning.positions is not None
        every = tuning.shards.total // MOST_PLAYED + 1
        if number <= 0 and shard % every == 0:
            functions = self._functions()
            if number == FEATURES:
                names = ["optimiser"]
            elif is_reference(number):
                names = ["reference"]
            else:
                names = ["score", "target"] if number == 0 else []
            answer = (result.answers or ("",))[0]
            for name in names:
                function = functions[name]
                arguments: Sequence[Any] = (answer, tuning.positions.text(shard, 0))
                if name == "target":
                    arguments = tuning.positions.blended(shard)
                if function is not None:
                    played[name] = [arguments, result_of(function, arguments, name)]
        is_recorded = number >= 0 and number & (number - 1) == 0 and task.ticket["i"] == 0
        if is_recorded and self._values["make_candidate"] is not None:
            played["make_candidate"] = [tuning.values(number), scoring_player(task.player)]
        return {**facts, "played": played} if played else facts

    def played_values(
        self, played: Mapping[str, list[list[Any]]], player: Callable[[ValuesByCode], Player]
    ) -> list[PlayedValue]:
        """Return recorded results of the functions; a call raises StateRefused if it fails.

        player  returns the player with some values of the parameters
        """

        def make(values: ValuesByCode) -> dict[str, Any]:
            return scoring_player(player(values))

        def call(function: Callable[..., Any], arguments: Sequence[Any], name: str) -> Any:
            try:
                return result_of(function, arguments, name)
            except SettingError as error:
                refusal = f"{error.message}; put it back, or use reset"
                raise StateRefused(refusal, error.path) from None

        of_players = []
        if self._values["make_candidate"] is not None:
            of_players = [
                PlayedValue(("make_candidate",), repr(values), result, partial(make, values))
                for values, result in played.get("make_candidate", ())
            ]
        return of_players + [
            PlayedValue((name,), tuple(arguments), result, partial(call, function, arguments, name))
            for name, function in self._functions().items()
            if function is not None
            for arguments, result in played.get(name, ())
        ]

    def _functions(self) -> dict[str, Callable[..., Any] | None]:
        """Return the control file's functions of scores, labels and features by setting."""
        features = self._values["optimiser"].arguments.get("features")
        reference = self._reference
        return {
            "score": self._scoring.function,
            "reference": None if reference is None else reference.scoring.function,
            "target": self._values["target"].function,
            "optimiser": features if from_answers(features) else None,
        }
