"""The state of a texel tune, and its changes after edits of the control file.

The optimiser restarts from the best values so far if an edit changes the errors or its course.
After other edits the tune continues.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ringmaster.competitions.common_settings import PlayerDefinition
from ringmaster.competitions.result_lines import VoidKinds
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, changed_arguments
from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player
from ringmaster.positions import PositionFile

#: Settings that define scores and labels.
MEASURING = ("positions", "score", "validation", "win_rate_scale", "teacher_scale", "loss", "seed")
#: Settings whose change restarts the optimiser, in the order of messages.
LEARNING = (*MEASURING, "apply", "target", "optimiser", "regularisation", "groups")


class ParameterSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter, without reporting and its delivery to engines."""

    code: str
    minimum: float
    maximum: float
    step: float | None = None
    integer: bool = False
    frozen: bool = False
    group: str | None = None

    @classmethod
    def of(cls, parameter: TunedParameter, anchor: str | None) -> ParameterSettings:
        """Return the settings of a parameter; the anchor counts as frozen."""
        fields = {name: getattr(parameter, name) for name in cls.__struct_fields__}
        return cls(**{**fields, "frozen": parameter.frozen or parameter.code == anchor})


class LearningSettings(msgspec.Struct, frozen=True):
    """Parameters and settings that determine the course of a tune.

    settings  those of LEARNING as JSON data, by name
    """

    parameters: list[ParameterSettings]
    settings: dict[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> LearningSettings:
        """Return the learning settings among interpreted settings."""
        settings = {name: canonical(values[name]) for name in LEARNING}
        paths = settings["positions"].get("paths")
        if isinstance(paths, list):
            # the folder of a competition may be moved
            settings["positions"]["paths"] = [os.path.basename(str(path)) for path in paths]
        return cls(
            [ParameterSettings.of(p, values["anchor"]) for p in values["parameters"]], settings
        )

    @property
    def tuned(self) -> list[ParameterSettings]:
        """The parameters that are not frozen."""
        return [p for p in self.parameters if not p.frozen]


def plain(data: Any) -> Any:
    """Return JSON data as a store returns it."""
    return msgspec.json.decode(msgspec.json.encode(data))


#: Each restart stores scores under numbers of its own.
KEY_STRIDE = 1_000_000
#: Passes of the quiet filter: the static score, and the score to compare.
STATIC, COMPARED = -1, -2
#: The pass in which engines print their features.
FEATURES = -3
#: First pass of a reference engine; later reference engines use lower numbers.
REFERENCE = -4


def is_reference(number: int) -> bool:
    """Whether a pass belongs to a reference engine."""
    return number <= REFERENCE


def score_key(beginning: int, number: int) -> int:
    """Return the number under which the store has the scores of a pass."""
    return number + (beginning if number >= 0 else -beginning) * KEY_STRIDE


class OpenPass(msgspec.Struct, omit_defaults=True):
    """A pass with missing shards.

    part    see `Pass`; a batch is a list
    shards  their numbers in the order of issue
    losses  Σ weight·loss of each shard, None while awaited
    next    place of the next shard to issue
    """

    theta: list[float]
    part: str | list[int]
    keep: bool
    shards: list[int]
    losses: list[float | None]
    next: int = 0

    @property
    def complete(self) -> bool:
        """Whether all shards have returned."""
        return None not in self.losses


class Quality(msgspec.Struct, omit_defaults=True):
    """Mean errors of some values, None if nothing is held out or the error is unknown."""

    train: float | None = None
    validation: float | None = None


class Chapter(msgspec.Struct):
    """A tune before a restart of the optimiser.

    why     the edit that ended it
    passes  completed passes
    start, best  errors at its start and at its best values, `values`
    """

    why: str
    passes: int
    start: Quality
    best: Quality
    values: ValuesByCode


class Improvement(msgspec.Struct):
    """The decrease of an error, with its 95 % interval.

    part   measured on "validation" or "train"
    share  share of resamples (of games) with a smaller error
    """

    part: str
    value: float
    low: float
    high: float
    share: float
    games: int = 0


class Labelling(msgspec.Struct):
    """Scales and weights, fixed when the start values' scores are known.

    scale, teacher_scale  centipawns; None without a teacher
    fitted    names of the fitted scales
    warnings  lines for the user
    weights   Σ weight of each shard
    left_out  positions that do not count, by reason
    score_cap  largest score by the start values of positions without a teacher's score,
              centipawns; None without a cap
    """

    scale: float
    teacher_scale: float | None
    fitted: list[str]
    warnings: list[str]
    weights: list[float]
    left_out: dict[str, int]
    score_cap: float | None


class Comparison(msgspec.Struct):
    """The errors of a reference and of the tune over the same positions.

    scale    win-rate scale of the reference, centipawns
    missing  weight of positions without a score of the reference
    best     errors of the best values, after the tune
    """

    player: str
    scale: float
    missing: float
    reference: Quality
    start: Quality
    best: Quality | None = None


class TexelState(msgspec.Struct):
    """The state of a tune.

    learning   see `LearningSettings`
    engine     settings of the player on which scores depend
    key, digest  of the position file and its contents; "" before it was read
    train, validation  numbers of positions
    notes      notes of the position file
    beginning  number of restarts of the optimiser
    values     of all parameters, at the last restart
    left       values of parameters removed from the control file
    probes     probes issued
    probe_due  whether a probe is wanted; probe_out: number of the probe under way
    facts      results of the last probe, None while unknown
    in_flight  the setting at the time of the probe
    filters    extra passes by number: quiet filter, features and reference
    open       the optimiser's passes under way, by number
    asked, told  passes issued and completed since the restart
    optimiser  its state; None before it is asked
    reference  settings of the reference engine on which its scores depend
    reference_pass  number of its pass
    sweep      targets of the sweep as JSON data
    played     arguments and results of the control file's functions by setting, some of those
               since the restart
    features   version of the function of the features
    comparison  comparison with the reference, None while unknown
    kept       passes whose scores are stored
    stale      keys of scores that are no longer needed
    best       errors of the best values
    shards, positions, seconds  totals of results
    """

    learning: LearningSettings
    engine: dict[str, Any]
    values: ValuesByCode
    key: str = ""
    digest: str = ""
    train: int = 0
    validation: int = 0
    notes: list[str] = []
    beginning: int = 0
    left: ValuesByCode = {}
    probes: int = 0
    probe_due: bool = True
    probe_out: int | None = None
    facts: dict[str, Any] | None = None
    in_flight: int | str | None = None
    filters: dict[str, OpenPass] = {}
    open: dict[str, OpenPass] = {}
    asked: int = 0
    told: int = 0
    told_before: int = 0
    optimiser: dict[str, Any] | None = None
    limits: dict[str, Any] = {}
    reference: dict[str, Any] | None = None
    reference_pass: int = REFERENCE
    sweep: list[dict[str, Any]] | None = None
    comparison: Comparison | None = None
    labelling: Labelling | None = None
    kept: list[int] = []
    stale: list[int] = []
    start: Quality = msgspec.field(default_factory=Quality)
    best: Quality = msgspec.field(default_factory=Quality)
    best_values: ValuesByCode = {}
    done: bool = False
    improvement: Improvement | None = None
    entropies: dict[str, dict[str, float | None]] = {}
    calibration: dict[str, list[list[float]]] = {}
    earlier: list[Chapter] = []
    shards: int = 0
    positions: int = 0
    seconds: float = 0.0
    void: int = 0
    matches: list[dict[str, Any]] = []
    played: dict[str, list[list[Any]]] = {}
    features: str = ""
    void_kinds: VoidKinds = {}

    @property
    def passes(self) -> int:
        """Completed passes, including those before restarts."""
        return self.told_before + self.told


_CHUNK = 1 << 16


def digest_of(file: PositionFile, state: TexelState) -> str:
    """Return a digest of the positions and their labels; touching the file does not change it."""
    if state.digest and file.key == state.key:
        return state.digest
    digest = hashlib.blake2b(f"{file.train} {file.validation}".encode(), digest_size=16)
    for name in ("result", "teacher", "weight", "group"):
        digest.update(np.ascontiguousarray(getattr(file, name)).tobytes())
    for first in range(0, len(file), _CHUNK):
        digest.update(b"\n".join(file.texts(first, min(first + _CHUNK, len(file)))))
    return digest.hexdigest()


def record_positions(file: PositionFile, state: TexelState) -> None:
    """Record the properties of the position file in the state."""
    state.digest = digest_of(file, state)
    state.key = file.key
    state.train, state.validation = file.train, file.validation
    state.notes = list(file.notes)


#: Arguments of Player(…) on which scores depend.
_SCORING_ARGUMENTS = ("command", "environ", "options", "protocol", "startup_gtp_commands")


def scoring_settings(
    definition: PlayerDefinition | None, options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the settings of a player on which scores depend.

    The competition's folder may move, and limits of moves may change.

    definition  None for players of make_candidate, which are compared by `scoring_player`
    options     of all players; a `definition` has them already
    """
    if definition is None:
        return {"options": plain(canonical(options))}
    return _scoring(definition.values)


def scoring_player(player: Player) -> dict[str, Any]:
    """Return the properties of a made player on which scores depend."""
    return _scoring(msgspec.structs.asdict(player))


def _scoring(values: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: plain(canonical(values[name])) for name in _SCORING_ARGUMENTS}
    command = list(settings["command"])
    # sys.executable has many names (python, python3, …), depending on the call of ringmaster
    own = command[0] == sys.executable
    command[0] = "python" if own else command[0].rpartition("/")[2]
    return {**settings, "command": command}


#: Results of one function that a state has.
MOST_PLAYED = 50


def record_played(state: TexelState, played: Mapping[str, list[Any]]) -> None:
    """Record arguments and results of functions, by setting."""
    for name, result in played.items():
        results = state.played.setdefault(name, [])
        if len(results) < MOST_PLAYED:
            results.append(result)


class Edit(NamedTuple):
    """An edit of the control file.

    reasons    to restart the optimiser, a few words each
    remeasure  whether scales and labels must be computed again
    """

    reasons: list[str]
    remeasure: bool


def edit_of(
    was: LearningSettings, now: LearningSettings, edited: Collection[str], *, new_positions: bool
) -> Edit:
    """Return the difference of two settings.

    edited         settings whose functions give other results
    new_positions  whether the file has other positions or labels
    """
    changed = [
        name
        for name in LEARNING
        if name in edited or plain(was.settings.get(name)) != plain(now.settings.get(name))
    ]
    reasons = [f"{name} changed" for name in changed]
    if not reasons and new_positions:
        reasons.append("the positions changed")
    before, after = ({p.code: p for p in learning.parameters} for learning in (was, now))
    for code, old in before.items():
        new = after.get(code)
        if new is None:
            reasons.append(f"{code} removed")
        elif new != old:
            reasons.append(f"{code}: {_differences(old, new)}")
    reasons += [f"{code} is new" for code in after if code not in before]
    if not reasons and was.parameters != now.parameters:
        reasons.append("the order of the parameters changed")
    return Edit(reasons, new_positions or any(name in MEASURING for name in changed))


def _differences(old: ParameterSettings, new: ParameterSettings) -> str:
    fields = [name for name in ParameterSettings.__struct_fields__ if name != "frozen"]
    parts = changed_arguments(old, new, fields)
    if old.frozen != new.frozen:
        parts.append("frozen" if new.frozen else "tuned from now on")
    return ", ".join(parts)


def restarted(
    state: TexelState,
    learning: LearningSettings,
    parameters: Sequence[TunedParameter],
    why: str,
    *,
    remeasure: bool,
    features: str,
) -> TexelState:
    """Return the state after a restart of the optimiser from the best values so far.

    why        the edit, in a few words
    remeasure  whether scales and labels must be computed again
    features   version of the function of the features
    """
    best: ValuesByCode = {**state.left, **state.values, **state.best_values}
    values = {p.code: p.played_value(p.clip(best.get(p.code, p.start))) for p in parameters}
    keys = [score_key(state.beginning, n) for n in (*state.kept, 0)]
    keys += [score_key(state.beginning, int(n)) for n in (*state.open, *state.filters)]
    earlier = list(state.earlier)
    if state.told:
        earlier.append(Chapter(why, state.told, state.start, state.best, dict(state.best_values)))
    return msgspec.structs.replace(
        state,
        learning=learning,
        values=values,
        left={code: value for code, value in best.items() if code not in values},
        beginning=state.beginning + 1,
        # the old probe belongs to other scores, parameters or positions
        probe_due=True,
        probe_out=None,
        facts=None,
        filters={},
        open={},
        asked=0,
        told=0,
        told_before=state.told_before + state.asked,
        optimiser=None,
        labelling=None if remeasure else state.labelling,
        kept=[],
        stale=list(dict.fromkeys([*state.stale, *keys])),
        start=Quality(),
        best=Quality(),
        best_values={},
        done=False,
        improvement=None,
        entropies={},
        calibration={},
        comparison=None,
        earlier=earlier,
        # features that stay are not computed again
        played={
            k: v for k, v in state.played.items() if (k, features) == ("optimiser", state.features)
        },
        features=features,
    )


def limits_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that limit a tune."""
    return {name: values[name] for name in ("patience", "most_passes")}
