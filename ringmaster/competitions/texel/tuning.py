"""The passes of a tune: issue of shards, their results, and the optimiser.

Everything depends on the settings and the losses of shards alone.  Losses are added in the order
of the shards, so the order of results does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.competitions.competition import Reaction, ScoreSource
from ringmaster.competitions.texel.labels import (
    ShardedPositions,
    Shards,
    TrainingData,
    count_left_out,
    decode_scores,
    usable_positions,
)
from ringmaster.competitions.texel.methods import Features, from_answers, pass_features
from ringmaster.competitions.texel.reference import compare
from ringmaster.competitions.texel.state import (
    COMPARED,
    FEATURES,
    STATIC,
    Improvement,
    Labelling,
    OpenPass,
    Quality,
    TexelState,
    is_reference,
    score_key,
)
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.errors import SettingError, StoreCorrupt, counted
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.loss import Floats, Loss, LossKind
from ringmaster.tuners.texel.optimiser import Errors, Optimiser, Pass, Split, TellResult
from ringmaster.tuners.texel.sweep import Swept, inner_state
from ringmaster.tuners.texel.targets import Target

#: Most parameters whose values are listed in a line of the history.
MOST_NAMED = 12


class Tuning:
    """The passes of a tune; its state belongs to the competition.

    values     settings
    reference  code of the reference engine, None without one
    make       makes a new optimiser
    """

    def __init__(
        self,
        state: TexelState,
        values: Mapping[str, Any],
        reference: str | None,
        make: Callable[[TexelState, Shards], Optimiser],
    ) -> None:
        self.state = state
        self.codes = [p.code for p in state.learning.tuned]
        self._values, self._reference = values, reference
        self._target: Target = values["target"]
        self._kind: LossKind = values["loss"]
        self._quiet_limit: float | None = values["positions"].quiet
        self._is_static: bool = values["score"].is_static
        self._make = make
        self._source: ScoreSource = lambda number, shard: None
        self.positions: ShardedPositions | None = None
        self.optimiser: Optimiser | None = None
        #: Features of a linear evaluation, and whether the optimiser has them.
        self.features: Features | None = None
        self.features_are_known = False

    def attach(self, source: ScoreSource) -> None:
        """Set the source of stored scores."""
        self._source = source

    def set_positions(self, file: PositionFile) -> None:
        """Set the position file."""
        self.positions = ShardedPositions(file, self._target, self._usable, self.scores)

    @property
    def shards(self) -> Shards:
        """The division into shards; known after the positions have been read."""
        return Shards(self.state.train, self.state.validation)

    def begin(self) -> None:
        """Make the optimiser and restore its state; needs the number of positions."""
        self.optimiser = self._make(self.state, self.shards)
        if self.state.optimiser is not None:
            swept = isinstance(self.optimiser, Swept)
            stored = self.state.optimiser
            self.optimiser.restore(stored if swept else inner_state(stored))
        if self.features is not None and self.positions is not None:
            matrix = self.features.ready(self.positions.file)
            if matrix is not None:
                pass_features(self.optimiser, matrix, self._fixed())
                self.features_are_known = True

    def _fixed(self) -> ValuesByCode:
        """Return the values of parameters that are not tuned."""
        return {c: value for c, value in self.state.values.items() if c not in self.codes}

    def named(self, theta: Any) -> ValuesByCode:
        """Return values of all parameters, given the tuned ones."""
        return {**self.state.values, **dict(zip(self.codes, theta, strict=True))}

    def best(self) -> ValuesByCode:
        """Return the best values so far, of all parameters."""
        return self.state.best_values or self.state.values

    def values(self, number: int) -> ValuesByCode:
        """Return the values of a pass."""
        if number < 0:
            return self.state.values
        one = self.state.open.get(str(number))
        return self.state.values if one is None else self.named(one.theta)

    @property
    def complete(self) -> bool:
        """Whether the optimiser is finished, and all shards have returned."""
        return self.state.done and self._is_compared

    @property
    def _is_compared(self) -> bool:
        """Whether the errors of the reference are known, or there is none."""
        comparison = self.state.comparison
        return self._reference is None or bool(comparison and comparison.get("best"))

    @property
    def _extra_passes(self) -> tuple[int, ...]:
        """Numbers of the passes that are not the optimiser's: features, quiet filter, reference."""
        source = self._values["optimiser"].arguments.get("features")
        passes: tuple[int, ...] = (FEATURES,) if from_answers(source) else ()
        if self._quiet_limit is not None:
            # pass 0 has the static evaluation if it is the score of positions
            passes += (COMPARED,) if self._is_static else (STATIC, COMPARED)
        return passes if self._reference is None else (*passes, self.state.reference_pass)

    def scores(self, number: int, shard: int) -> Floats:
        """Return scores of a kept pass.  Raises StoreCorrupt if they are missing."""
        data = self._source(score_key(self.state.beginning, number), shard)
        places = self.shards.positions(shard)
        if data is None or len(data) != 4 * len(places):
            raise StoreCorrupt(
                f"the scores of pass {number}, shard {shard} are not in the status file"
            )
        return decode_scores(data)

    def next(self) -> tuple[int, int] | None:
        """Return the pass and the place of the next shard; `register_issue` records its issue."""
        state = self.state
        if self.optimiser is None:
            return None
        for number in self._extra_passes:
            one = self._extra_pass(number)
            if one.next < len(one.shards):
                return number, one.next
        for key, one in state.open.items():
            if one.next < len(one.shards):
                return int(key), one.next
        if state.done:
            return None
        asked = self._ask()
        return None if asked is None else (asked, 0)

    def _extra_pass(self, number: int) -> OpenPass:
        one = self.state.filters.get(str(number))
        if one is None:
            shards = self.shards.of("all")
            # known features need no pass
            known = 0.0 if number == FEATURES and self.features_are_known else None
            one = self.state.filters[str(number)] = OpenPass(
                [], "all", number != FEATURES, shards, [known] * len(shards)
            )
            one.next = 0 if known is None else len(shards)
        return one

    def _ask(self) -> int | None:
        """Ask the optimiser for a further pass; return its number."""
        assert self.optimiser is not None
        asked: Pass | None = self.optimiser.ask()
        if asked is None:
            return None
        shards = self.shards.of(asked.part)
        part = asked.part if isinstance(asked.part, str) else list(asked.part)
        self.state.open[str(asked.number)] = OpenPass(
            list(asked.theta), part, asked.keep, shards, [None] * len(shards)
        )
        self.state.asked = max(self.state.asked, asked.number + 1)
        return asked.number

    def find_or_ask(self, number: int) -> OpenPass | None:
        """Return a pass under way.

        A pass issued before an interruption is asked for again.
        """
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

    def loss(self, number: int, shard: int, scores: Floats) -> float | None:
        """Return the loss of a shard, None while the scale is unknown."""
        labelling = self.state.labelling
        if number <= 0 or labelling is None:
            return None
        return self._data(labelling).sum(shard, scores).loss

    def missing(self, number: int, shard: int, scores: Floats) -> str:
        """Return the first position that lost its score since the start values, "" if none did."""
        assert self.positions is not None
        if number <= 0 or self.state.labelling is None:
            return ""
        gone = np.isnan(scores) & np.isfinite(self.scores(0, shard))
        if not gone.any():
            return ""
        return self.positions.text(shard, int(np.argmax(gone)))

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
        return self._tell(number, one, self._errors(one))

    def _labelled(self) -> Reaction:
        """Fix scales and labels after the start values and extra passes."""
        first = self.state.open.get("0")
        extras = [self._extra_pass(number) for number in self._extra_passes]
        if first is None or not first.complete or not all(extra.complete for extra in extras):
            return Reaction("", save=True)
        if self.features is not None and not self.features_are_known:
            assert self.optimiser is not None
            pass_features(self.optimiser, self.features.finish(self.shards.total), self._fixed())
            self.features_are_known = True
        lines = self._label()
        labelling, data = self.state.labelling, self._data()
        assert labelling is not None
        first.losses = [data.sum(shard, self.scores(0, shard)).loss for shard in first.shards]
        del self.state.open["0"]
        told = self._tell(0, first, self._errors(first))
        # an optimiser that ends at once has already compared
        lines += [] if self.state.calibration else self._compare()
        return msgspec.structs.replace(told, notes=(*lines, *told.notes))

    def _compare(self) -> list[str]:
        """Compare with the reference; return lines for the history."""
        if self._reference is None or not self._extra_pass(self.state.reference_pass).complete:
            return []
        assert self.positions is not None
        assert self.state.labelling is not None
        assert self.optimiser is not None
        comparison = compare(
            self._reference,
            self.positions,
            self._data(),
            self.state.labelling,
            self.scores,
            self.state.reference_pass,
            self.optimiser.best_pass if self.state.calibration else None,
        )
        if self.state.calibration and comparison.best is None:
            # some optimisers drop the scores of their best values
            comparison.best = self.state.best
        self.state.comparison = msgspec.to_builtins(comparison)
        errors = self._shown(Errors(comparison.reference.train, comparison.reference.validation))
        return [
            f"reference {comparison.player}: {errors}, "
            f"by its own win-rate scale {comparison.scale:.5g}"
        ]

    def _label(self) -> list[str]:
        positions = self.positions
        assert positions is not None
        positions.forget()
        before = self.state.labelling
        teacher, fitted, warnings = self._teacher_scale(before)
        kind = self._kind
        lines = []
        try:
            if isinstance(self._values["win_rate_scale"], float):
                scale = self._values["win_rate_scale"]
            elif before is not None:
                scale = before.scale
                fitted += [name for name in before.fitted if name == "win_rate_scale"]
            else:
                fit = positions.fit_scale(0, kind, teacher)
                scale = fit.scale
                fitted.append("win_rate_scale")
                warnings += [fit.warning] if fit.warning else []
                lines.append(
                    f"win-rate scale {scale:.5g} centipawns (K {fit.k:.4g}), by the scores of "
                    "the start values"
                )
        except ValueError as error:
            raise SettingError(("positions",), str(error)) from None
        if teacher is not None and "teacher_scale" in fitted:
            lines.append(f"teacher's win-rate scale {teacher:.5g} centipawns")
        lines += [f"warning: {warning}" for warning in warnings]
        self.state.labelling = Labelling(
            scale,
            teacher,
            fitted,
            warnings,
            [
                float(positions.labels(shard, teacher).weight.astype(np.float64).sum())
                for shard in range(self.shards.total)
            ],
            count_left_out(positions, self.scores, self._quiet, self._capped),
            self._score_cap,
        )
        if not math.fsum(self.state.labelling.weights[s] for s in self.shards.of("train")) > 0:
            raise SettingError(("positions",), "the filters leave out all positions")
        return lines

    def _teacher_scale(self, before: Labelling | None) -> tuple[float | None, list[str], list[str]]:
        if self._target.kind == "texel":
            return None, [], []
        if isinstance(self._values["teacher_scale"], float):
            return self._values["teacher_scale"], [], []
        if before is not None and before.teacher_scale is not None:
            return before.teacher_scale, [n for n in before.fitted if n == "teacher_scale"], []
        assert self.positions is not None
        try:
            fit = self.positions.fit_teacher(self._kind)
        except ValueError as error:
            raise SettingError(
                ("teacher_scale",), str(error), "the scale in centipawns, for example 600"
            ) from None
        return fit.scale, ["teacher_scale"], [fit.warning] if fit.warning else []

    def _usable(self, shard: int) -> npt.NDArray[np.bool_]:
        return usable_positions(self.scores(0, shard), self._quiet(shard), self._capped(shard))

    @property
    def _score_cap(self) -> float | None:
        """The largest own score of positions without a teacher's, centipawns.

        It keeps the value of the time of labelling.
        """
        labelling = self.state.labelling
        if labelling is not None:
            return labelling.score_cap
        cap: float | None = self._values["positions"].dataset.score_cap
        return cap

    def _capped(self, shard: int) -> npt.NDArray[np.bool_]:
        """Return whether positions without a teacher's score exceed the score cap."""
        assert self.positions is not None
        teacher, cap = self.positions.column("teacher", shard), self._score_cap
        if cap is None:
            return np.zeros(len(teacher), dtype=np.bool_)
        return np.isnan(teacher) & (np.abs(self.scores(0, shard)) > cap)

    def _quiet(self, shard: int) -> tuple[Floats, Floats, float] | None:
        most = self._quiet_limit
        if most is None:
            return None
        static = self.scores(0 if self._is_static else STATIC, shard)
        return static, self.scores(COMPARED, shard), most

    def _data(self, labelling: Labelling | None = None) -> TrainingData:
        labelling = labelling or self.state.labelling
        assert labelling is not None
        assert self.positions is not None
        loss = Loss(self._kind, labelling.scale)
        return TrainingData(self.positions, self.scores, loss, labelling.teacher_scale)

    def _errors(self, one: OpenPass) -> Errors:
        labelling = self.state.labelling
        assert labelling is not None
        border = self.shards.of_train
        means: list[float | None] = []
        for held in (False, True):
            places = [i for i, shard in enumerate(one.shards) if (shard >= border) is held]
            weight = math.fsum(labelling.weights[one.shards[i]] for i in places)
            loss = math.fsum(one.losses[i] or 0.0 for i in places)
            means.append(loss / weight if weight > 0 else None)
        return Errors(*means)

    def _tell(self, number: int, one: OpenPass, errors: Errors) -> Reaction:
        """Tell the optimiser the errors of a pass, and adopt the consequences."""
        state, optimiser = self.state, self.optimiser
        assert optimiser is not None
        if one.keep:
            state.kept.append(number)
        told: TellResult = optimiser.tell(number, errors, self._data())
        state.told += 1
        quality = Quality(errors.train, errors.validation)
        if number == 0:
            state.start = state.best = quality
        forget = [n for n in told.forget if n and n in state.kept]
        notes = list(told.notes)
        self._record_best()
        if not state.open and not optimiser.finished():
            # some optimisers notice their end only when asked
            self._ask()
        if optimiser.problem:
            notes.append(optimiser.problem)
        if optimiser.is_settled and not state.calibration:
            notes += self._finish()
        if optimiser.finished() and not state.open:
            state.done = True
            forget += [n for n in state.kept if n not in (0, optimiser.best_pass)]
        state.kept = [n for n in state.kept if n not in forget]
        keys = [*state.stale, *(score_key(state.beginning, n) for n in forget)]
        state.stale = []
        line = f"pass {state.told_before + number}: {self._shown(errors)}"
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

    def _shown(self, errors: Errors) -> str:
        parts = [("training", errors.train), ("validation", errors.validation)]
        known = [f"{name} error {value:.8f}" for name, value in parts if value is not None]
        return ", ".join(known)

    def _record_best(self) -> None:
        """Adopt the best values and their errors."""
        optimiser = self.optimiser
        assert optimiser is not None
        best = optimiser.best
        self.state.best_values = self.named(best)
        for step in optimiser.course:
            if tuple(step.theta) == tuple(best) and step.train is not None:
                self.state.best = Quality(step.train, step.validation)

    def change_sweep(self) -> None:
        """Continue after a sweep was added, removed or changed."""
        state, optimiser = self.state, self.optimiser
        if optimiser is None or not optimiser.is_settled:
            return
        # passes under way belong to the former sweep
        kept = {0, optimiser.best_pass}
        numbers = [int(key) for key in state.open] + [n for n in state.kept if n not in kept]
        state.stale += [score_key(state.beginning, n) for n in numbers]
        state.open, state.kept = {}, [n for n in state.kept if n in kept]
        if isinstance(optimiser, Swept):
            optimiser.begin_again()
        state.done = optimiser.finished()

    def _finish(self) -> list[str]:
        """Measure the improvement, and the properties of the best values' scores."""
        state, optimiser, labelling = self.state, self.optimiser, self.state.labelling
        assert optimiser is not None
        assert labelling is not None
        assert self.positions is not None
        best = optimiser.best_pass
        data, teacher = self._data(), labelling.teacher_scale
        part: Split = "validation" if self.shards.of_validation else "train"
        shown = [(0, "start")] + ([(best, "best")] if best else [])
        for number, name in shown:
            state.calibration[name] = self.positions.calibration(number, data.loss, teacher)
            entropies = self.positions.entropies(number, part, data.loss, teacher)
            state.entropies[name] = entropies.means()
        values = ", ".join(f"{code} {value:.6g}" for code, value in state.best_values.items())
        lines = [f"tuned after {counted(state.passes, 'pass')}: {values}"]
        if best:
            state.improvement = self._improvement(best, part, data)
            if state.improvement is not None:
                lines.append(improvement_line(state.improvement))
        return lines + self._compare()

    def _improvement(self, best: int, part: Split, data: TrainingData) -> Improvement | None:
        from ringmaster.tuners.texel.uncertainty import bootstrap

        gain = bootstrap(data, 0, best, part, seed=self._values["seed"])
        if gain is None:
            return None
        value = gain.before - gain.after
        return Improvement(part, value, gain.low, gain.high, gain.share, gain.games)


def improvement_line(gain: Improvement, *, brief: bool = False) -> str:
    """Return the gain in words."""
    part = "validation" if gain.part == "validation" else "training"
    form = "{:.3g}" if brief else "{:.8f}"
    value, low, high = map(form.format, (gain.value, gain.low, gain.high))
    text = f"the {part} error fell by {value} (95 %: {low} to {high})"
    return text if brief else f"{text}, in {100 * gain.share:.4g} % of resampled games"
