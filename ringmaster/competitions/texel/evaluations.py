"""The reference engine, evaluation jobs and probes, and their results.

A recorded result has the loss of its shard, so its reader needs no positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.common_settings import PlayerDefinition, find_player
from ringmaster.competitions.competition import PlayedValue, Reaction
from ringmaster.competitions.result_lines import count_void, void_text
from ringmaster.competitions.texel.labels import decode_scores, refusing
from ringmaster.competitions.texel.move_accuracy import MoveAccuracy
from ringmaster.competitions.texel.settings import EVAL, ScoreFunction, Scoring
from ringmaster.competitions.texel.state import (
    COMPARED,
    FEATURES,
    REFERENCE,
    SIDES,
    STATIC,
    TexelState,
    is_reference,
    score_key,
    scoring_arguments,
)
from ringmaster.competitions.texel.tuning import FEATURES_PLACE, Tuning, from_answers
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.errors import DataFileError, EngineProtocolError, SettingError, StateRefused, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import Apply, EvaluationJob, GameSettings, Probe, ScoreKind, Ticket
from ringmaster.model.players import GameName, Player
from ringmaster.model.results import EvaluationResult
from ringmaster.tuners.texel.loss import LARGEST_SCORE

#: Letter of the side that moves first, in FEN and in SFEN.
_FIRST: dict[GameName, str] = {"chess": "w", "shogi": "b", "go": "b"}


def with_limit(definition: PlayerDefinition) -> PlayerDefinition:
    """Return a player with a limit of moves, which a Player(…) needs and scores do not."""
    if definition.has_limits or definition.values["protocol"] == "gtp":
        return definition
    return PlayerDefinition({**definition.values, "depth": 1})


class Reference(msgspec.Struct, frozen=True):
    """A reference engine, ready for jobs.

    It is scored once.  It has its own win-rate scale, since engines scale centipawns differently.

    settings  those on which its scores depend, as JSON data
    """

    player: Player
    scoring: Scoring
    settings: dict[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Reference | None:
        """Return the reference of a control file, None without one.  Raises SettingError."""
        if values["reference"] is None:
            return None
        game: GameName = values["game"]
        code, score = values["reference"]
        definition = find_player(values, code, ("reference", "player"))
        scoring: Scoring = score or values["score"]
        try:
            scoring.for_game(game)
            player = with_limit(definition).make(code, game)
        except SettingError as error:
            raise SettingError(("reference",), error.message, error.expected) from None
        own_settings = {"engine": scoring_arguments(player), "score": canonical(scoring)}
        return cls(player, scoring, own_settings)


def probe_lines(facts: dict[str, Any], codes: Sequence[str], scoring: Scoring) -> list[str]:
    """Return the results of a probe, a line each."""
    when = {"live": "at once", "newgame": "after a new game", "restart": "in a new process only"}
    parts = [str(facts["name"])] if facts.get("name") else []
    parts += [
        f"score {scoring.text}",
        f"takes values {when.get(facts.get('apply', ''), 'unknown')}",
        f"{facts.get('in_flight', 1)} in flight",
    ]
    if facts.get("rate"):
        parts.append(f"{facts['rate']:,.0f} positions/s")
    is_search = scoring.kind.go is not None
    if facts.get("repeatable") and not (is_search and facts.get("apply") != "restart"):
        parts.append("repeatable")
    lines = ["probe: " + ", ".join(parts)]
    if facts.get("repeatable") is False:
        reason = "; a search needs one thread and a limit other than time" if is_search else ""
        lines.append(f"warning: repeated positions get different scores{reason}")
    elif is_search and facts.get("apply") != "restart":
        lines.append(
            "warning: tables that survive a new game may change scores of later shards, so "
            'another run may end differently; apply = "restart" prevents it'
        )
    if facts.get("warning"):
        lines.append(f"warning: {facts['warning']}")
    if facts.get("none"):
        lines.append(f"{100 * facts['none']:.3g} % of the positions get no score (in check)")
    moved = facts.get("moved") or ()
    unmoved = [code for code, has_moved in zip(codes, moved, strict=False) if not has_moved]
    if unmoved:
        lines.append(f"warning: no score changes with {', '.join(unmoved)}")
    return lines


def shard_id(ticket: Ticket) -> str:
    beginning = ticket["e"]
    if "a" in ticket:
        name = f"a{ticket['a']}"
    else:
        name = f"p{ticket['p']}" if ticket["p"] >= 0 else f"q{-ticket['p']}"
    return f"{f'e{beginning}' if beginning else ''}{name}_{ticket['i']:04d}"


def record_void(
    state: TexelState, ticket: Ticket, result: EvaluationResult, code: str, halt: str
) -> Reaction:
    count_void(state.void_kinds, result, [code])
    job = "the probe" if "n" in ticket else f"shard {shard_id(ticket)}"
    detail = result.detail.partition("\n")[0] or result.reason
    line = f"{job}: {void_text(result)}"
    return Reaction(line, replay=True, halt=halt and f"{halt}: {detail}")


def record_probe(
    state: TexelState, ticket: Ticket, result: EvaluationResult, scoring: Scoring
) -> Reaction:
    if ticket["n"] == state.probe_out:
        state.probe_out = None
    if problem := result.facts["problem"]:
        state.facts = None
        return Reaction("probe: these settings cannot be tuned", halt=problem, save=True)
    state.facts = dict(result.facts)
    state.probe_due = False
    line, *notes = probe_lines(state.facts, state.settings.codes, scoring)
    return Reaction(line, notes=tuple(notes), save=True)


def result_of(function: Callable[..., Any], arguments: Sequence[Any], name: str) -> Any:
    """Return the result of a setting's function.  Raises SettingError if it fails."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit
        words = ", ".join(map(shown, arguments))
        raise SettingError(
            (name,), f"called with ({words}), it raised {type(error).__name__}: {error}"
        ) from error


def scores_of(
    function: ScoreFunction, answers: Sequence[str], positions: Sequence[str], game: GameName
) -> bytes:
    """Return scores by a control file's function.  Raises SettingError if it fails."""
    scores = np.full(len(positions), np.nan, dtype="<f4")
    for i, (answer, position) in enumerate(zip(answers, positions, strict=True)):
        value = result_of(function, (answer, position), "score")
        if value is None:
            continue
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise SettingError(
                ("score",),
                f"called with ({shown(answer)}, {shown(position)}), it returned {shown(value)}",
                "centipawns for the side to move, or None",
            )
        sign = 1 if position.split(" ", 2)[1:2] == [_FIRST[game]] else -1
        scores[i] = sign * min(max(float(value), -LARGEST_SCORE), LARGEST_SCORE)
    return scores.tobytes()


def as_void(result: EvaluationResult, reason: str, detail: str) -> EvaluationResult:
    return msgspec.structs.replace(
        result, outcome="void", reason=reason, detail=detail, scores=None, answers=None
    )


#: Settings whose functions are called in a pass.
_CALLED = {0: ["score", "target"], FEATURES: ["optimiser"]}
#: Most shards of a pass whose calls of functions are recorded.
_SAMPLED = 50


class Evaluations:
    """Builds the evaluation jobs of a tune, and completes their results.

    player  returns the tuned player with some values of the parameters
    """

    def __init__(
        self,
        tuning: Tuning,
        reference: Reference | None,
        player: Callable[[ValuesByCode], Player],
        moves: MoveAccuracy | None,
    ) -> None:
        self._tuning, self._reference, self._player = tuning, reference, player
        self._moves = moves
        self._values = values = tuning.settings
        self._game: GameName = values["game"]
        features = values["optimiser"].arguments.get("features")
        command = values["optimiser"].arguments.get("command", "features")
        #: How passes score positions; the optimiser's passes as pass 0.
        self._scorings: dict[int, Scoring] = {
            0: values["score"],
            STATIC: EVAL,
            COMPARED: values["positions"].quiet_score,
            FEATURES: Scoring(
                ScoreKind("eval", command=command),
                function=features if from_answers(features) else None,
            ),
        }
        if reference is not None:
            self._scorings[REFERENCE] = reference.scoring
        #: The control file's functions of scores, labels and features by setting.
        functions = {
            "score": values["score"].function,
            "reference": reference and reference.scoring.function,
            "target": values["target"].function,
            "optimiser": self._scorings[FEATURES].function,
        }
        self._functions = {
            name: function for name, function in functions.items() if function is not None
        }

    def _scoring(self, number: int) -> Scoring:
        # there may be a shard of a reference that is gone
        return self._scorings.get(min(max(number, REFERENCE), 0), self._scorings[0])

    def job(
        self, game_id: str, attempt: int, ticket: Ticket, settings: GameSettings
    ) -> EvaluationJob:
        """Return the shard, the probe or the searches of a ticket."""
        if "a" in ticket:
            part = self._searches(ticket)
        elif "n" in ticket:
            part = self._probe()
        else:
            part = self._shard(ticket, attempt)
        keep = self._values["stderr_to_log"]
        return EvaluationJob(
            game_id, settings=settings, ticket=ticket, attempt=attempt, keep_stderr=keep, **part
        )

    def _scored(self, places: slice, scoring: Scoring) -> dict[str, Any]:
        """Return the arguments of a job that scores positions of the file."""
        file = self._tuning.labelled.file
        return {
            "positions": str(file.path),
            "key": file.key,
            "first": places.start,
            "stop": places.stop,
            "step": places.step,
            "score": scoring.for_game(self._game),
            "answers": scoring.function is not None,
        }

    def _searches(self, ticket: Ticket) -> dict[str, Any]:
        assert self._moves is not None
        state, (shard, side) = self._tuning.state, divmod(ticket["i"], len(SIDES))
        texts = tuple(text for text, _ in self._moves.shard(shard))
        values = (self._moves.start, state.best_values or state.values)[side]
        apply = self._values["apply"]
        return {
            "player": self._player(values),
            "positions": "",
            "texts": texts,
            "first": 0,
            "stop": len(texts),
            "score": self._values["move_accuracy"].search,
            "answers": True,
            # hash tables of another search would change the moves
            "apply": "restart" if apply == "auto" else apply,
        }

    def _shard(self, ticket: Ticket, attempt: int) -> dict[str, Any]:
        tuning = self._tuning
        number, place = ticket["p"], ticket["i"]
        scoring = self._scoring(number)
        open_pass = tuning.find_or_ask(number)
        shard = place if open_pass is None else open_pass.shards[place]
        player = self._player(tuning.values(number))
        if is_reference(number) and self._reference is not None:
            player = self._reference.player
        # requests of another kind, and those after a void job, are sent one at a time
        is_probed = scoring == self._scoring(0) and not attempt and not is_reference(number)
        return {
            **self._scored(tuning.shards.positions(shard), scoring),
            "player": player,
            "score_key": score_key(tuning.state.beginning, number),
            "shard": shard,
            "apply": self._apply(scoring.kind, number),
            "in_flight": int((tuning.state.facts or {}).get("in_flight", 1)) if is_probed else 1,
        }

    def _probe(self) -> dict[str, Any]:
        """Return the arguments of a probe, which changes each parameter to its farther bound."""
        values = self._tuning.state.values
        changed = []
        for parameter in self._tuning.tuned:
            here = values[parameter.code]
            far = max((parameter.minimum, parameter.maximum), key=lambda end: abs(end - here))
            changed.append(self._player({**values, parameter.code: far}))
        names = ("apply", "in_flight")
        given = {name: self._values[name] for name in names if self._values[name] != "auto"}
        probe = Probe(tuple(changed), **given)
        scored = self._scored(self._tuning.shards.probed, self._scoring(0))
        return {**scored, "player": self._player(values), "probe": probe}

    def _apply(self, kind: ScoreKind, number: int) -> Apply:
        """Return when the options of a pass take effect.

        The tune's own scores follow the probe.  A search for the quiet filter or a reference
        gets a new process, as searches of a tune do.
        """
        foreign = is_reference(number)
        is_extra = foreign or self._scoring(0).kind.go is None
        if kind.go is not None and is_extra and self._values["apply"] == "auto":
            return "restart"
        if foreign:
            return "newgame"
        apply: Apply = (self._tuning.state.facts or {}).get("apply", "newgame")
        return apply

    def complete_result(self, task: EvaluationJob, result: EvaluationResult) -> EvaluationResult:
        """Return a result as recorded.  Raises SettingError if the user's function fails."""
        if result.outcome == "void":
            return result
        if "n" in task.ticket:
            return self._complete_probe(result)
        if "a" in task.ticket and self._moves is not None:
            try:
                hits = self._moves.hits(task.ticket["i"] // len(SIDES), result.answers or ())
            except EngineProtocolError as error:
                return as_void(result, "protocol", str(error))
            return msgspec.structs.replace(result, scores=None, answers=None, facts={"hits": hits})
        tuning, positions = self._tuning, self._tuning.labelled
        number, shard = task.ticket["p"], task.shard
        facts: dict[str, Any] = {}
        scores: bytes | None = None
        if number == FEATURES:
            assert tuning.features is not None
            rows = range(task.first, task.stop, task.step)
            with refusing(FEATURES_PLACE, DataFileError):
                tuning.features.put(shard, rows, result.answers or ())
        else:
            scores = result.scores or b""
            function = self._scoring(number).function
            if function is not None:
                texts = positions.texts(shard)
                scores = scores_of(function, result.answers or (), texts, self._game)
            if number > 0 and tuning.state.labelling is not None:
                values = decode_scores(scores)
                gone = np.isnan(values) & np.isfinite(positions.scores(0, shard))
                if gone.any():
                    text = positions.texts(shard)[int(np.argmax(gone))]
                    return as_void(
                        result,
                        "no score",
                        f"with the values of pass {number} the engine gives no score for a "
                        f"position that it scored before: {text}",
                    )
                facts["loss"] = positions.sum(shard, values).loss
            open_pass = tuning.find_or_ask(number)
            if open_pass is not None and not open_pass.keep:
                scores = None
        played = self._played(task, result)
        if played:
            facts["played"] = played
        return msgspec.structs.replace(result, scores=scores, answers=None, facts=facts)

    def _complete_probe(self, result: EvaluationResult) -> EvaluationResult:
        """Return the result of a probe with a check of its scores against the labels."""
        if result.scores is None:
            return result
        problem, warning = self._tuning.labelled.check_probed(decode_scores(result.scores))
        facts = {**result.facts, "problem": result.facts["problem"] or problem}
        return msgspec.structs.replace(result, scores=None, facts={**facts, "warning": warning})

    def _played(self, task: EvaluationJob, result: EvaluationResult) -> dict[str, list[Any]]:
        """Return arguments and results of the control file's functions by setting.

        They are recorded for the first position in passes that score all positions, and for the
        player of make_candidate in passes 0, 1, 2, 4, 8, …
        """
        tuning, positions = self._tuning, self._tuning.labelled
        number, shard = task.ticket["p"], task.shard
        played: dict[str, list[Any]] = {}
        names = ["reference"] if is_reference(number) else _CALLED.get(number, [])
        is_sampled = shard % (tuning.shards.total // _SAMPLED + 1) == 0
        for name in names:
            if name not in self._functions or not is_sampled:
                continue
            arguments: Sequence[Any] = positions.blended(shard)
            if name != "target":
                arguments = ((result.answers or ("",))[0], positions.texts(shard)[0])
            value = result_of(self._functions[name], arguments, name)
            played[name] = [arguments, canonical(value)]
        is_recorded = number >= 0 and number & (number - 1) == 0 and task.ticket["i"] == 0
        if is_recorded and self._values["make_candidate"] is not None:
            played["make_candidate"] = [tuning.values(number), scoring_arguments(task.player)]
        return played

    def played_values(self, played: Mapping[str, list[list[Any]]]) -> list[PlayedValue]:
        """Return recorded results of the functions; a call raises StateRefused if it fails."""

        def make(values: ValuesByCode) -> dict[str, Any]:
            return scoring_arguments(self._player(values))

        def call(function: Callable[..., Any], arguments: Sequence[Any], name: str) -> Any:
            try:
                return canonical(result_of(function, arguments, name))
            except SettingError as error:
                refusal = f"{error.message}; put it back, or use reset"
                raise StateRefused(refusal, error.path) from None

        of_players = [
            PlayedValue(("make_candidate",), repr(values), result, partial(make, values))
            for values, result in played.get("make_candidate", ())
        ]
        return of_players + [
            PlayedValue((name,), tuple(arguments), result, partial(call, function, arguments, name))
            for name, function in self._functions.items()
            for arguments, result in played.get(name, ())
        ]
