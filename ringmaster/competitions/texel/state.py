"""The state of a texel tune, and its changes after edits of the control file.

The optimiser restarts from the best values so far if an edit changes the errors or its course.
After other edits the tune continues.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.result_lines import VoidKinds
from ringmaster.competitions.tuning.closing_match import Match
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, changed_arguments
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import Ticket
from ringmaster.model.parameters import Scale, TunedParameter
from ringmaster.model.players import Player
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.loss import k_of
from ringmaster.tuners.texel.optimiser import Errors
from ringmaster.tuners.texel.uncertainty import Improvement

#: Settings that define scores and labels.
MEASURING = ("positions", "score", "validation", "win_rate_scale", "teacher_scale", "loss", "seed")
#: Settings whose change restarts the optimiser, in the order of messages.
LEARNING = (*MEASURING, "apply", "target", "optimiser", "regularisation", "groups")
#: Settings whose change continues a finished tune.
LIMITS = ("patience", "most_passes")


class ParameterSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter, without reporting and its delivery to engines."""

    code: str
    minimum: float
    maximum: float
    step: float | None = None
    integer: bool = False
    scale: Scale = "linear"
    frozen: bool = False
    group: str | None = None

    @classmethod
    def of(cls, parameter: TunedParameter, anchor: str | None) -> ParameterSettings:
        """Return the settings of a parameter; the anchor counts as frozen."""
        fields = {name: getattr(parameter, name) for name in cls.__struct_fields__}
        return cls(**{**fields, "frozen": parameter.frozen or parameter.code == anchor})


class TuneSettings(msgspec.Struct, frozen=True):
    """The settings of a control file on which a tune depends, as a store returns them.

    learning   those of LEARNING, by name
    limits     those of LIMITS, by name
    engine     arguments of the player on which scores depend
    reference  the same of the reference engine, and its score; None without one
    sweep      targets of the sweep, None without one
    """

    parameters: list[ParameterSettings]
    learning: dict[str, Any]
    limits: dict[str, Any]
    engine: dict[str, Any]
    reference: dict[str, Any] | None
    sweep: list[dict[str, Any]] | None
    in_flight: int | str

    @classmethod
    def of(
        cls, values: Mapping[str, Any], engine: dict[str, Any], reference: dict[str, Any] | None
    ) -> TuneSettings:
        """Return the settings of a control file.  Raises SettingError for a wrong sweep."""
        learning = {name: canonical(values[name]) for name in LEARNING}
        # the folder of a competition may be moved
        for source in learning["positions"]["sources"]:
            source["paths"] = [os.path.basename(path) for path in source["paths"]]
            # changed positions have another digest
            del source["skip_bad"]
        parameters = [ParameterSettings.of(p, values["anchor"]) for p in values["parameters"]]
        limits = {name: values[name] for name in LIMITS}
        sweep = values["sweep"] and canonical(values["sweep"].targets(values["target"]))
        return cls(parameters, learning, limits, engine, reference, sweep, values["in_flight"])

    @property
    def codes(self) -> list[str]:
        return [p.code for p in self.parameters if not p.frozen]


#: Each restart stores scores under numbers of its own.
KEY_STRIDE = 1_000_000
#: Passes of the quiet filter: the static score, and the score to compare.
STATIC, COMPARED = -1, -2
#: The pass in which engines print their features.
FEATURES = -3
#: First pass of a reference engine; later reference engines use lower numbers.
REFERENCE = -4


def is_reference(number: int) -> bool:
    return number <= REFERENCE


def score_key(beginning: int, number: int) -> int:
    """Return the number under which the store has the scores of a pass."""
    return number + (beginning if number >= 0 else -beginning) * KEY_STRIDE


class OpenPass(msgspec.Struct, omit_defaults=True):
    """A pass with missing shards.

    shards  their numbers in the order of issue
    losses  Σ weight·loss of each shard, None while awaited
    next    place of the next shard to issue
    """

    theta: list[float]
    keep: bool
    shards: list[int]
    losses: list[float | None]
    next: int = 0

    @property
    def complete(self) -> bool:
        return None not in self.losses


class Labelling(msgspec.Struct):
    """Scales and weights, fixed when the start values' scores are known.

    scale, teacher_scale  centipawns; None without a teacher
    given     names of the settings that give a scale
    fits      scales that a fit gives, by the name of the setting
    weights   Σ weight of each shard
    left_out  positions that do not count, by reason
    """

    scale: float
    teacher_scale: float | None
    given: list[str]
    fits: dict[str, float]
    warnings: list[str]
    weights: list[float]
    left_out: dict[str, int]

    def scales(self) -> list[str]:
        """Return the scales and their origins, a line each."""
        rows = (
            ("win-rate scale", "win_rate_scale", self.scale),
            ("teacher's win-rate scale", "teacher_scale", self.teacher_scale),
        )
        lines = []
        for name, setting, scale in rows:
            if scale is not None:
                fitted = f"; a fit gives {self.fits[setting]:.5g}" if setting in self.fits else ""
                origin = f"given{fitted}" if setting in self.given else "fitted"
                lines.append(f"{name}: C {scale:.5g} centipawns, K {k_of(scale):.4g} ({origin})")
        return lines


class Comparison(msgspec.Struct):
    """The errors of a reference and of the tune over the same positions.

    scale    win-rate scale of the reference, centipawns
    missing  weight of positions without a score of the reference
    best     errors of the best values, after the tune
    """

    player: str
    scale: float
    missing: float
    reference: Errors
    start: Errors
    best: Errors | None = None


#: Values that a test of moves compares: those of the control file, and the tuned ones.
SIDES = ("start", "best")


class MoveTest(msgspec.Struct):
    """A test of moves.  Its jobs alternate between the values of SIDES.

    settings  those on which its results depend
    hits      of each job, None while awaited: for each position "1" if the engine's move is the
              teacher's, else "0"
    number    of the test since the last restart of the optimiser
    next      number of the next job to issue
    """

    settings: dict[str, Any]
    hits: list[str | None]
    number: int
    next: int = 0

    @property
    def complete(self) -> bool:
        return None not in self.hits

    def register_issue(self, ticket: Ticket) -> bool:
        """Record the issue of a job; idempotent.  Return whether its result is awaited."""
        if ticket["a"] != self.number:
            return False
        self.next = max(self.next, ticket["i"] + 1)
        return self.hits[ticket["i"]] is None


class TexelState(msgspec.Struct):
    """The state of a tune.

    settings   of the results so far
    key, digest  of the position file and its contents; "" before it was read
    train, validation  numbers of positions
    beginning  number of restarts of the optimiser
    values     of all parameters, at the last restart
    left       values of parameters removed from the control file
    probes     number of issued ones
    probe_due  whether a probe is wanted; probe_out: number of the probe under way
    facts      results of the last probe, None while unknown
    filters    extra passes by number: quiet filter, features and reference
    open       the optimiser's passes under way, by number
    asked, told  passes issued and completed since the restart
    played     arguments and results of the control file's functions by setting, some of those
               since the restart
    features   version of the function of the features
    moves      test of moves, None without `move_accuracy`; tests: their number so far
    kept       passes whose scores are stored
    stale      keys of scores that are no longer needed
    shards, positions, seconds  totals of results
    """

    settings: TuneSettings
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
    filters: dict[str, OpenPass] = {}
    open: dict[str, OpenPass] = {}
    asked: int = 0
    told: int = 0
    told_before: int = 0
    optimiser: dict[str, Any] | None = None
    sweep: dict[str, Any] | None = None
    reference_pass: int = REFERENCE
    comparison: Comparison | None = None
    labelling: Labelling | None = None
    kept: list[int] = []
    stale: list[int] = []
    start: Errors = Errors()
    best: Errors = Errors()
    best_values: ValuesByCode = {}
    done: bool = False
    improvement: Improvement | None = None
    entropies: dict[str, dict[str, float | None]] = {}
    calibration: dict[str, list[list[float]]] = {}
    shards: int = 0
    positions: int = 0
    seconds: float = 0.0
    matches: list[Match] = []
    played: dict[str, list[list[Any]]] = {}
    features: str = ""
    moves: MoveTest | None = None
    tests: int = 0
    void_kinds: VoidKinds = {}

    @property
    def passes(self) -> int:
        """Completed passes, including those before restarts."""
        return self.told_before + self.told


_CHUNK = 1 << 16


def record_positions(file: PositionFile, state: TexelState) -> bool:
    """Record the position file; return whether its positions or labels have changed."""
    known = state.digest
    if not known or file.key != state.key:
        digest = hashlib.blake2b(f"{file.train} {file.validation}".encode(), digest_size=16)
        for name in ("result", "teacher", "weight", "group"):
            digest.update(np.ascontiguousarray(getattr(file, name)).tobytes())
        for first in range(0, len(file), _CHUNK):
            digest.update(b"\n".join(file.texts(first, min(first + _CHUNK, len(file)))))
        state.digest = digest.hexdigest()
    state.key, state.notes = file.key, list(file.notes)
    state.train, state.validation = file.train, file.validation
    return known not in ("", state.digest)


#: Arguments of Player(…) on which scores depend.
_SCORING_ARGUMENTS = ("command", "environ", "options", "protocol", "startup_gtp_commands")


def scoring_arguments(player: Player) -> dict[str, Any]:
    """Return the arguments of a player on which scores depend.

    The competition's folder may move, and limits of moves may change.
    """
    settings = {name: canonical(getattr(player, name)) for name in _SCORING_ARGUMENTS}
    command = settings["command"]
    # sys.executable has many names (python, python3, …), depending on the call of ringmaster
    own = command[0] == sys.executable
    command[0] = "python" if own else command[0].rpartition("/")[2]
    return settings


def edit_of(
    state: TexelState, now: TuneSettings, edited: Collection[str], *, new_positions: bool
) -> tuple[list[str], bool]:
    """Return the reasons to restart the optimiser, and whether to compute scales and labels again.

    edited         settings whose functions give other results
    new_positions  whether the file has other positions or labels
    """
    was = state.settings
    changed = [n for n in LEARNING if n in edited or was.learning[n] != now.learning[n]]
    reasons = [f"{name} changed" for name in changed]
    if not reasons and new_positions:
        reasons.append("the positions changed")
    before, after = ({p.code: p for p in settings.parameters} for settings in (was, now))
    for code, old in before.items():
        if code not in after:
            reasons.append(f"{code} removed")
        elif after[code] != old:
            reasons.append(f"{code}: {_differences(old, after[code])}")
    reasons += [f"{code} is new" for code in after if code not in before]
    if not reasons and was.parameters != now.parameters:
        reasons.append("the order of the parameters changed")
    # its last checks, or a sweep, may be under way after the end of a tune
    if not reasons and (state.calibration or (state.optimiser or {}).get("over")):
        reasons = [f"{name} changed" for name in LIMITS if was.limits[name] != now.limits[name]]
    return reasons, new_positions or any(name in MEASURING for name in changed)


def _differences(old: ParameterSettings, new: ParameterSettings) -> str:
    fields = [name for name in ParameterSettings.__struct_fields__ if name != "frozen"]
    parts = changed_arguments(old, new, fields)
    if old.frozen != new.frozen:
        parts.append("frozen" if new.frozen else "tuned from now on")
    return ", ".join(parts)


#: Fields that outlive a restart of the optimiser unchanged.
_LASTING = (
    *("key", "digest", "train", "validation", "notes", "probes", "reference_pass", "shards"),
    *("positions", "seconds", "void_kinds", "matches"),
)


def restarted(
    state: TexelState,
    settings: TuneSettings,
    parameters: Sequence[TunedParameter],
    *,
    remeasure: bool,
    features: str,
) -> TexelState:
    """Return the state after a restart of the optimiser from the best values so far.

    remeasure  whether scales and labels must be computed again
    features   version of the function of the features
    """
    best: ValuesByCode = {**state.left, **state.values, **state.best_values}
    values = {p.code: p.played_value(p.clip(best.get(p.code, p.start))) for p in parameters}
    numbers = (*state.kept, 0, *map(int, (*state.open, *state.filters)))
    keys = [score_key(state.beginning, number) for number in numbers]
    # features that stay are not computed again
    played = {
        k: v for k, v in state.played.items() if (k, features) == ("optimiser", state.features)
    }
    return TexelState(
        settings,
        values,
        **{name: getattr(state, name) for name in _LASTING},
        beginning=state.beginning + 1,
        left={code: value for code, value in best.items() if code not in values},
        told_before=state.told_before + state.asked,
        labelling=None if remeasure else state.labelling,
        stale=list(dict.fromkeys([*state.stale, *keys])),
        played=played,
        features=features,
    )
