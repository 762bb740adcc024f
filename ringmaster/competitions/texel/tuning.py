"""The passes of a tune: issue of shards, their results, and the optimiser.

Everything depends on the settings and the losses of shards alone.  Losses are added in the order
of the shards, so the order of results does not matter.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from ringmaster.competitions.competition import Reaction, ScoreSource
from ringmaster.competitions.texel.labels import LabelledPositions, Shards, refusing
from ringmaster.competitions.texel.settings import OPTIMISERS, OptimiserSettings
from ringmaster.competitions.texel.state import (
    COMPARED,
    FEATURES,
    STATIC,
    OpenPass,
    TexelState,
    is_reference,
    score_key,
)
from ringmaster.competitions.tuning.parameter_binding import spread
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.errors import DataFileError, SettingError, counted
from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import TunedParameter
from ringmaster.positions import FeatureFile, PositionFile
from ringmaster.tuners.texel.features import features_of
from ringmaster.tuners.texel.loss import Sum, mean
from ringmaster.tuners.texel.optimiser import Arguments, Errors, Optimiser, Pass, Split
from ringmaster.tuners.texel.ridge import DEFAULT_STRENGTH, strengths_of
from ringmaster.tuners.texel.sweep import Sweep
from ringmaster.tuners.texel.uncertainty import gain_over_start

if TYPE_CHECKING:
    from ringmaster.datasets.feature_set import Features

#: Place of the features in the settings.
FEATURES_PLACE = ("optimiser", "features")
#: Most parameters whose values are listed in a line of the history.
MOST_NAMED = 12


class Tuning:
    """The passes of a tune; `load` replaces its state."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        state: TexelState,
        source: ScoreSource,
        say: Callable[[str], None],
    ) -> None:
        self.settings, self.state = settings, state
        self.parameters: tuple[TunedParameter, ...] = settings["parameters"]
        self._say = say
        self._source = source
        self.positions: LabelledPositions | None = None
        self.optimiser: Optimiser | None = None
        self.sweep: Sweep | None = None
        #: Features of a linear evaluation, and whether the optimiser has them.
        self.features: Features | None = None
        self.features_are_known = False

    def load(self, state: TexelState, file: PositionFile | None = None) -> None:
        """Replace the state, and the positions if there is a file.  `begin` makes the optimiser."""
        self.state, self.optimiser, self.sweep = state, None, None
        if file is None and self.positions is not None:
            file = self.positions.file
        if file is None:
            return
        self.positions = LabelledPositions(
            file, self.settings, state.beginning, state.labelling, self._source
        )
        self.features_are_known = False
        if self.settings["optimiser"].name == "linear":
            self.features = self._features_of(file)

    def _features_of(self, file: PositionFile) -> Features:
        """Return the features of a linear evaluation.  Raises SettingError for a missing file."""
        from ringmaster.datasets.feature_set import Features

        arguments = self.settings["optimiser"].arguments
        source, phase = arguments["features"], bool(arguments.get("tapered"))
        version = self.state.features
        if not from_answers(source):
            version = _digest(source, file) if callable(source) else ""
        with refusing(FEATURES_PLACE, DataFileError):
            return Features(
                source,
                file,
                features_of([p.code for p in self.parameters], phase),
                file.path.with_suffix(".features"),
                phase=phase,
                unnamed=arguments.get("unnamed", "ignore" if callable(source) else "refuse"),
                version=version,
            )

    @property
    def labelled(self) -> LabelledPositions:
        """The positions, which have been read."""
        assert self.positions is not None
        return self.positions

    @property
    def codes(self) -> list[str]:
        """Codes of the tuned parameters, in the order of the optimiser's arrays."""
        return self.state.settings.codes

    @property
    def tuned(self) -> list[TunedParameter]:
        codes = set(self.codes)
        return [p for p in self.parameters if p.code in codes]

    @property
    def shards(self) -> Shards:
        """The division into shards; known after the positions have been read."""
        return Shards(self.state.train, self.state.validation)

    def begin(self) -> None:
        """Make the optimiser and the sweep after it; needs the number of positions."""
        state = self.state
        self.optimiser = make_optimiser(self.settings, state, self.shards)
        if state.optimiser is not None:
            self.optimiser.restore(state.optimiser)
        if self.settings["sweep"] is not None:
            self.sweep = Sweep(
                self.optimiser,
                targets=self.settings["sweep"].targets(self.settings["target"]),
                strengths=strengths_of(self.settings["regularisation"]),
                validated=self.shards.validation > 0,
            )
            if state.sweep is not None:
                self.sweep.restore(state.sweep)
        if self.features is not None:
            with refusing(FEATURES_PLACE, DataFileError):
                matrix = self.features.existing()
                if matrix is None and FEATURES not in self._extra_passes:
                    matrix = self.features.build(self._say)
            if matrix is not None:
                self._set_features(matrix)

    def _set_features(self, matrix: FeatureFile) -> None:
        """Pass features to the optimiser.  Raises SettingError if they do not fit."""
        optimiser: Any = self.optimiser
        with refusing(FEATURES_PLACE):
            optimiser.set_features(matrix)
        self.features_are_known = True

    def _named(self, theta: Sequence[float]) -> ValuesByCode:
        """Return values of all parameters, given the tuned ones."""
        return {**self.state.values, **dict(zip(self.codes, theta, strict=True))}

    def values(self, number: int) -> ValuesByCode:
        one = self.state.open.get(str(number))
        return self.state.values if one is None else self._named(one.theta)

    @property
    def complete(self) -> bool:
        """Return whether all shards have returned, and the errors of the reference are known."""
        comparison = self.state.comparison
        is_compared = comparison is not None and comparison.best is not None
        return self.state.done and (self.settings["reference"] is None or is_compared)

    @property
    def _extra_passes(self) -> tuple[int, ...]:
        """Numbers of the passes that are not the optimiser's: features, quiet filter, reference."""
        settings = self.settings
        source = settings["optimiser"].arguments.get("features")
        passes: tuple[int, ...] = (FEATURES,) if from_answers(source) else ()
        if settings["positions"].quiet is not None:
            # pass 0 has the static evaluation if it is the score of positions
            passes += (COMPARED,) if settings["score"].is_static else (STATIC, COMPARED)
        return passes if settings["reference"] is None else (*passes, self.state.reference_pass)

    def next(self) -> tuple[int, int] | None:
        """Return the pass and the place of the next shard; `register_issue` records its issue."""
        state = self.state
        if self.optimiser is None:
            return None
        passes = {number: self._extra_pass(number) for number in self._extra_passes}
        passes |= {int(key): one for key, one in state.open.items()}
        for number, one in passes.items():
            if one.next < len(one.shards):
                return number, one.next
        if state.done:
            return None
        asked = self._ask()
        return None if asked is None else (asked, 0)

    def _extra_pass(self, number: int) -> OpenPass:
        one = self.state.filters.get(str(number))
        if one is None:
            shards = self.shards.of("all")
            one = OpenPass([], number != FEATURES, shards, [None] * len(shards))
            self.state.filters[str(number)] = one
            # known features need no pass
            if number == FEATURES and self.features_are_known:
                one.next, one.losses = len(shards), [0.0] * len(shards)
        return one

    def _ask(self) -> int | None:
        """Ask the optimiser, or the sweep after it, for a further pass; return its number."""
        assert self.optimiser is not None
        asked: Pass | None = self.optimiser.ask()
        if asked is None and self.sweep is not None and self.optimiser.finished():
            asked = self.sweep.next(self.state.asked)
        if asked is None:
            return None
        shards = self.shards.of(asked.part)
        one = OpenPass(list(asked.theta), asked.keep, shards, [None] * len(shards))
        self.state.open[str(asked.number)] = one
        self.state.asked = max(self.state.asked, asked.number + 1)
        return asked.number

    def find_or_ask(self, number: int) -> OpenPass | None:
        """Return a pass under way.  A pass issued before an interruption is asked for again."""
        if number < 0:
            return self._extra_pass(number) if number in self._extra_passes else None
        while number >= self.state.asked:
            if self.optimiser is None or self._ask() is None:
                return None
        return self.state.open.get(str(number))

    def register_issue(self, number: int, place: int) -> bool:
        """Record the issue of a shard; idempotent.  Return whether its result is awaited."""
        one = self.find_or_ask(number)
        if one is None or place >= len(one.shards):
            return False
        one.next = max(one.next, place + 1)
        return one.losses[place] is None

    def record_loss(self, number: int, place: int, loss: float | None) -> Reaction:
        """Record the loss of a shard (0 for pass 0 and extra passes)."""
        one = self.find_or_ask(number)
        if one is None or place >= len(one.shards):
            return Reaction("")
        one.losses[place] = 0.0 if loss is None else loss
        if not one.complete:
            return Reaction("")
        if is_reference(number) and self.state.labelling is not None:
            return Reaction("", notes=tuple(self._compare()), save=True)
        if number <= 0:
            return self._labelled()
        del self.state.open[str(number)]
        return self._tell(number, one)

    def _labelled(self) -> Reaction:
        """Fix scales and labels after the start values and extra passes."""
        state = self.state
        first = state.open.get("0")
        extras = [self._extra_pass(number) for number in self._extra_passes]
        if first is None or not first.complete or not all(extra.complete for extra in extras):
            return Reaction("", save=True)
        if self.features is not None and not self.features_are_known:
            self._set_features(self.features.finish(self.shards.total))
        positions = self.labelled
        before, state.labelling = state.labelling, positions.label()
        known = [] if before is None else before.scales()
        lines = [line for line in state.labelling.scales() if line not in known]
        lines += [f"warning: {warning}" for warning in state.labelling.warnings]
        first.losses = [
            positions.sum(shard, positions.scores(0, shard)).loss for shard in first.shards
        ]
        del state.open["0"]
        told = self._tell(0, first)
        # an optimiser that ends at once has already compared
        lines += [] if state.calibration else self._compare()
        return msgspec.structs.replace(told, notes=(*lines, *told.notes))

    def _compare(self) -> list[str]:
        number = self.state.reference_pass
        if number not in self._extra_passes or not self._extra_pass(number).complete:
            return []
        assert self.optimiser is not None
        best = self.optimiser.best_pass if self.state.calibration else None
        comparison = self.labelled.compare(self.settings["reference"][0], number, best)
        if self.state.calibration and comparison.best is None:
            # some optimisers drop the scores of their best values
            comparison.best = self.state.best
        self.state.comparison = comparison
        errors = _shown(comparison.reference)
        scale = f"by its own win-rate scale {comparison.scale:.5g}"
        return [f"reference {comparison.player}: {errors}, {scale}"]

    def _errors(self, one: OpenPass) -> Errors:
        labelling = self.state.labelling
        assert labelling is not None
        train: list[Sum] = []
        held: list[Sum] = []
        for shard, loss in zip(one.shards, one.losses, strict=True):
            part = train if shard < self.shards.of_train else held
            part.append(Sum(loss or 0.0, labelling.weights[shard]))
        return Errors(mean(train), mean(held))

    def _tell(self, number: int, one: OpenPass) -> Reaction:
        """Tell the optimiser the errors of a pass, and adopt the consequences."""
        state, optimiser, errors = self.state, self.optimiser, self._errors(one)
        assert optimiser is not None
        if one.keep:
            state.kept.append(number)
        teller = optimiser
        if optimiser.finished() and self.sweep is not None:
            teller = self.sweep
        told = teller.tell(number, errors, self.labelled)
        state.told += 1
        if number == 0:
            state.start = state.best = errors
        forget = [n for n in told.forget if n and n in state.kept]
        notes = list(told.notes)
        best = optimiser.best
        state.best_values = self._named(best)
        for step in optimiser.course:
            if tuple(step.theta) == tuple(best) and step.train is not None:
                state.best = Errors(step.train, step.validation)
        if optimiser.finished() and not state.calibration:
            notes += self._finish()
        state.done = self._is_over() and not state.open
        if state.done:
            forget += [n for n in state.kept if n not in (0, optimiser.best_pass)]
        state.kept = [n for n in state.kept if n not in forget]
        keys = [*state.stale, *(score_key(state.beginning, n) for n in forget)]
        state.stale = []
        line = f"pass {state.told_before + number}: {_shown(errors)}"
        if len(self.codes) <= MOST_NAMED and one.theta:
            values = zip(self.codes, one.theta, strict=True)
            line += "; " + ", ".join(f"{code} {value:.6g}" for code, value in values)
        return Reaction(
            line,
            halt=optimiser.problem or "",
            notes=tuple(notes),
            save=True,
            forget=tuple(dict.fromkeys(keys)),
        )

    def _is_over(self) -> bool:
        """Return whether neither the optimiser nor the sweep wants or awaits a pass."""
        assert self.optimiser is not None
        return self.optimiser.finished() and (self.sweep is None or self.sweep.finished())

    def forget_reference(self) -> None:
        """Forget the scores of a replaced or changed reference engine."""
        state = self.state
        state.played.pop("reference", None)
        state.filters.pop(str(state.reference_pass), None)
        state.stale.append(score_key(state.beginning, state.reference_pass))
        state.comparison = None
        state.reference_pass -= 1

    def change_sweep(self) -> None:
        """Continue after a sweep was added, removed or changed."""
        state, optimiser = self.state, self.optimiser
        if optimiser is None or not optimiser.finished():
            return
        # passes under way belong to the former sweep
        kept = {0, optimiser.best_pass}
        numbers = [int(key) for key in state.open] + [n for n in state.kept if n not in kept]
        state.stale += [score_key(state.beginning, n) for n in numbers]
        state.open, state.kept = {}, [n for n in state.kept if n in kept]
        if self.sweep is not None:
            self.sweep.begin_again()
        state.done = self._is_over()

    def _finish(self) -> list[str]:
        """Measure the improvement, and the properties of the best values' scores."""
        state, optimiser, positions = self.state, self.optimiser, self.labelled
        assert optimiser is not None
        best = optimiser.best_pass
        part: Split = "validation" if self.shards.of_validation else "train"
        for number, name in [(0, "start")] + ([(best, "best")] if best else []):
            state.calibration[name] = positions.calibration(number)
            state.entropies[name] = positions.entropies(number, part)
        values = ", ".join(f"{code} {value:.6g}" for code, value in state.best_values.items())
        lines = [f"tuned after {counted(state.passes, 'pass')}: {values}"]
        if best:
            factors = (positions.unit_factor(0), positions.unit_factor(best))
            seed = self.settings["seed"]
            gain = gain_over_start(positions, best, part, seed=seed, factors=factors)
            if gain is not None:
                state.improvement = gain
                lines.append(gain.text())
        return lines + self._compare()


def _shown(errors: Errors) -> str:
    parts = [("training", errors.train), ("validation", errors.validation)]
    return ", ".join(f"{name} error {value:.8f}" for name, value in parts if value is not None)


def make_optimiser(values: Mapping[str, Any], state: TexelState, shards: Shards) -> Optimiser:
    """Return an optimiser that starts from the values of a state.  Raises SettingError."""
    settings: OptimiserSettings = values["optimiser"]
    ridge: tuple[float | None] | None = values["regularisation"]
    logarithmic = [p.code for p in values["parameters"] if p.scale == "log" and not p.frozen]
    if settings.name == "linear" and logarithmic:
        raise SettingError(
            ("parameters",),
            f"features are linear in the values: scale='log' of {', '.join(logarithmic)} has no "
            "meaning for the linear optimiser",
            "scale='linear', or another optimiser",
        )
    module = import_module(f"ringmaster.tuners.texel.{settings.name}")
    cls = getattr(module, OPTIMISERS[settings.name])
    accepted = {*inspect.signature(cls).parameters, *get_type_hints(Arguments)}
    if values["groups"] and "groups" not in accepted:
        raise SettingError(
            ("groups",), f"optimiser {settings.name!r} has no groups", "to leave it out"
        )
    by_code = {p.code: p for p in values["parameters"]}
    tuned = [
        msgspec.structs.replace(by_code[code], start=float(state.values[code]))
        for code in state.settings.codes
    ]
    strength = 0.0 if ridge is None else ridge[0]
    offered = {
        **{key: values[key] for key in ("seed", "patience", "most_passes", "groups")},
        "shards": shards.of_train,
        "ridge": ridge,
        # of methods that try one strength only
        "strength": DEFAULT_STRENGTH if strength is None else strength,
        # some are for the features and the engine, and no method accepts them
        **settings.arguments,
    }
    optimiser: Optimiser = cls(tuned, **{k: v for k, v in offered.items() if k in accepted})
    return optimiser


def _digest(function: Callable[[str], Any], file: PositionFile) -> str:
    """Return a digest of a function's results for some positions.

    A function that fails has none; the error is reported when all positions are read.
    """
    texts = [file.text(place).decode(errors="replace") for place in spread(len(file), 1000)]
    try:
        results = [canonical(function(text)) for text in texts]
    except KeyboardInterrupt:
        raise
    except BaseException:  # also SystemExit
        return ""
    return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()


def from_answers(source: Any) -> bool:
    """Return whether a source is a function of the engine's answer."""
    if not callable(source):
        return False
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2
