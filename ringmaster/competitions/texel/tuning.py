"""The passes of a tune: which shards of which are to be given out, what has come back, and
what the optimiser is told.

Everything is a function of the settings and of what each shard's loss was; losses are added
in the order of the shards, so the order in which they come back changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.competitions.competition import ScoreSource
from ringmaster.competitions.texel.features import Features, give
from ringmaster.competitions.texel.labels import (
    EventData,
    Positions,
    as_scores,
    left_out,
    usable,
)
from ringmaster.competitions.texel.reference import compare
from ringmaster.competitions.texel.settings import PositionsSettings
from ringmaster.competitions.texel.shards import Half, Shards
from ringmaster.competitions.texel.state import (
    COMPARED,
    FEATURES,
    REFERENCE,
    STATIC,
    Improvement,
    Labelling,
    Open,
    Quality,
    State,
    score_key,
)
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.errors import SettingError, StoreCorrupt
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.loss import Floats, Loss, LossKind
from ringmaster.tuners.texel.optimiser import Errors, Optimiser, Pass, Told
from ringmaster.tuners.texel.sweep import Swept, inner_state
from ringmaster.tuners.texel.targets import Target

#: Parameters whose values a line of the history names.
MOST_NAMED = 12


class Asked(msgspec.Struct, frozen=True):
    """A shard to be given out: place in the pass's list of shards."""

    number: int
    place: int


class Means(msgspec.Struct, frozen=True):
    """How a tune measures: what of the settings the errors depend on."""

    target: Target
    loss: LossKind
    win_rate_scale: float | str
    teacher_scale: float | str
    positions: PositionsSettings
    static_first: bool
    seed: int
    asks_features: bool = False
    reference: str | None = None

    @property
    def filters(self) -> tuple[int, ...]:
        """The passes that are not the optimiser's: of the quiet filter, of the features."""
        own = (FEATURES,) if self.asks_features else ()
        if self.positions.quiet is None:
            return own
        # where positions are scored by the static evaluation, pass 0 has it
        return (*own, COMPARED) if self.static_first else (*own, STATIC, COMPARED)


class Outcome(msgspec.Struct, frozen=True):
    """What a shard led to.

    line    of the history, where a pass was completed by it
    notes   further ones
    forget  keys of scores that are not needed any more
    settled whether the state must be stored with the result
    """

    line: str = ""
    notes: tuple[str, ...] = ()
    forget: tuple[int, ...] = ()
    settled: bool = False


class Tuning:
    """The passes of a tune, on a state that is the competition's.

    codes   of the tuned parameters, in the optimiser's order
    make    makes an optimiser without a result
    """

    def __init__(
        self,
        state: State,
        means: Means,
        codes: list[str],
        make: Callable[[State, Shards], Optimiser],
    ) -> None:
        self.state = state
        self.means = means
        self.codes = codes
        self._make = make
        self._source: ScoreSource = lambda number, shard: None
        self.positions: Positions | None = None
        self.optimiser: Optimiser | None = None
        #: Of a linear evaluation, and whether the optimiser has them.
        self.features: Features | None = None
        self.given = False

    # where it stands

    def attach(self, source: ScoreSource) -> None:
        """Learn where scores are."""
        self._source = source

    def use(self, file: PositionFile) -> None:
        """Learn where the positions are."""
        self.positions = Positions(file, self.means.target, self._usable, self.scores)

    @property
    def shards(self) -> Shards:
        """How the positions are divided; known once they have been read."""
        return Shards(self.state.train, self.state.validation)

    def begin(self) -> None:
        """Make the optimiser, where the state has got to; needs the number of positions."""
        self.optimiser = self._make(self.state, self.shards)
        if self.state.optimiser is not None:
            swept = isinstance(self.optimiser, Swept)
            found = self.state.optimiser
            self.optimiser.restore(found if swept else inner_state(found))
        if self.features is not None and self.positions is not None:
            matrix = self.features.ready(self.positions.file)
            if matrix is not None:
                give(self.optimiser, matrix, self._fixed())
                self.given = True

    def _fixed(self) -> Named:
        """Return the values of the parameters that are not tuned."""
        return {c: value for c, value in self.state.values.items() if c not in self.codes}

    def named(self, theta: Any) -> Named:
        """Return values of all parameters, with these of the tuned ones."""
        given = zip(self.codes, theta, strict=True)
        return {**self.state.values, **dict(given)}

    def best(self) -> Named:
        """Return the best values so far, of all parameters."""
        return self.state.best_values or self.state.values

    def values(self, number: int) -> Named:
        """Return the values that a pass is over."""
        if number < 0:
            return self.state.values
        found = self.state.open.get(str(number))
        return self.state.values if found is None else self.named(found.theta)

    @property
    def complete(self) -> bool:
        """Whether the optimiser wants nothing more, and all has come back."""
        return self.state.done and self._is_compared

    @property
    def _is_compared(self) -> bool:
        """Return whether there is no reference, or its errors are known."""
        found = self.state.comparison
        return self.means.reference is None or bool(found and found.get("best"))

    @property
    def _filters(self) -> tuple[int, ...]:
        """The passes that are not the optimiser's."""
        if self.means.reference is None:
            return self.means.filters
        return (*self.means.filters, self.state.reference_pass)

    def scores(self, number: int, shard: int) -> Floats:
        """Return scores of a kept pass.  Raises StoreCorrupt where they are missing."""
        data = self._source(score_key(self.state.beginning, number), shard)
        places = self.shards.positions(shard)
        if data is None or len(data) != 4 * len(places):
            raise StoreCorrupt(
                f"the scores of pass {number}, shard {shard} are not in the status file"
            )
        return as_scores(data)

    # giving out

    def next(self) -> Asked | None:
        """Return the next shard to be given out; it is `count` that takes note of it."""
        state = self.state
        if self.optimiser is None:
            return None
        for number in self._filters:
            found = self._filter(number)
            if found.next < len(found.shards):
                return Asked(number, found.next)
        for key, one in state.open.items():
            if one.next < len(one.shards):
                return Asked(int(key), one.next)
        if state.done:
            return None
        asked = self._ask()
        return None if asked is None else Asked(asked, 0)

    def _filter(self, number: int) -> Open:
        found = self.state.filters.get(str(number))
        if found is None:
            shards = self.shards.of("all")
            # features that are at hand already need not be asked for
            known = 0.0 if number == FEATURES and self.given else None
            found = self.state.filters[str(number)] = Open(
                [], "all", number != FEATURES, shards, [known] * len(shards)
            )
            found.next = 0 if known is None else len(shards)
        return found

    def _ask(self) -> int | None:
        """Let the optimiser ask for a further pass; returns its number."""
        assert self.optimiser is not None
        asked: Pass | None = self.optimiser.ask()
        if asked is None:
            return None
        shards = self.shards.of(asked.part)
        part = asked.part if isinstance(asked.part, str) else list(asked.part)
        self.state.open[str(asked.number)] = Open(
            list(asked.theta), part, asked.keep, shards, [None] * len(shards)
        )
        self.state.asked = max(self.state.asked, asked.number + 1)
        return asked.number

    def find(self, number: int) -> Open | None:
        """Return a pass that is under way; the optimiser is asked for it if it has not been
        yet, which is what it was asked when the shard was given out."""
        if number < 0:
            return self._filter(number) if number in self._filters else None
        while number >= self.state.asked:
            if self.optimiser is None or self._ask() is None:
                return None
        return self.state.open.get(str(number))

    def count(self, number: int, place: int) -> bool:
        """Learn that a shard has been given out; idempotent.  Returns whether it is awaited."""
        found = self.find(number)
        if found is None or place >= len(found.shards):
            return False
        found.next = max(found.next, place + 1)
        return found.losses[place] is None

    # taking back

    def loss(self, number: int, shard: int, scores: Floats) -> float | None:
        """Return the loss of a shard, None where its scores are kept until the scale is
        known."""
        labelling = self.state.labelling
        if number <= 0 or labelling is None:
            return None
        return self._data(labelling).sum(shard, scores).loss

    def missing(self, number: int, shard: int, scores: Floats) -> str:
        """Return the first position that has no score now and had one with the start values,
        "" if there is none."""
        assert self.positions is not None
        if number <= 0 or self.state.labelling is None:
            return ""
        gone = np.isnan(scores) & np.isfinite(self.scores(0, shard))
        if not gone.any():
            return ""
        return self.positions.text(shard, int(np.argmax(gone)))

    def take(self, number: int, place: int, loss: float | None) -> Outcome:
        """Learn what a shard came to (0 for those of pass 0 and of the filter)."""
        found = self.find(number)
        if found is None or place >= len(found.shards):
            return Outcome()
        found.losses[place] = 0.0 if loss is None else loss
        if not found.complete:
            return Outcome()
        if number <= REFERENCE and self.state.labelling is not None:
            return Outcome(notes=tuple(self._compare()), settled=True)
        if number <= 0:
            return self._labelled()
        del self.state.open[str(number)]
        return self._told(number, found, self._errors(found))

    def _labelled(self) -> Outcome:
        """Fix scales and labels once the start values and the filter are known."""
        first = self.state.open.get("0")
        filters = [self._filter(number) for number in self._filters]
        if first is None or not first.complete or not all(f.complete for f in filters):
            return Outcome(settled=True)
        if self.features is not None and not self.given:
            assert self.optimiser is not None
            give(self.optimiser, self.features.finish(self.shards.total), self._fixed())
            self.given = True
        lines = self._label()
        labelling, data = self.state.labelling, self._data()
        assert labelling is not None
        first.losses = [data.sum(shard, self.scores(0, shard)).loss for shard in first.shards]
        del self.state.open["0"]
        told = self._told(0, first, self._errors(first))
        # an optimiser that ends at once has compared already
        lines += [] if self.state.calibration else self._compare()
        return Outcome(told.line, (*lines, *told.notes), told.forget, True)

    def _compare(self) -> list[str]:
        """Find out how the errors of the reference compare; return lines for the history."""
        if self.means.reference is None or not self._filter(self.state.reference_pass).complete:
            return []
        assert self.positions is not None
        assert self.state.labelling is not None
        assert self.optimiser is not None
        found = compare(
            self.means.reference,
            self.positions,
            self._data(),
            self.state.labelling,
            self.scores,
            self.state.reference_pass,
            self.optimiser.best_pass if self.state.calibration else None,
        )
        if self.state.calibration and found.best is None:
            # not every optimiser keeps the scores of its best values
            found.best = self.state.best
        self.state.comparison = msgspec.to_builtins(found)
        errors = self._shown(Errors(found.reference.train, found.reference.validation))
        return [f"reference {found.player}: {errors}, by its own win-rate scale {found.scale:.5g}"]

    def _label(self) -> list[str]:
        positions = self.positions
        assert positions is not None
        positions.forget()
        before = self.state.labelling
        teacher, fitted, warnings = self._teacher_scale(before)
        kind = self.means.loss
        lines = []
        try:
            if isinstance(self.means.win_rate_scale, float):
                scale = self.means.win_rate_scale
            elif before is not None:
                scale = before.scale
                fitted += [name for name in before.fitted if name == "win_rate_scale"]
            else:
                fit = positions.fit_scale(kind, teacher)
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
            left_out(positions, self.scores, self._quiet, self._capped),
            self._score_cap,
        )
        if not math.fsum(self.state.labelling.weights[s] for s in self.shards.of("train")) > 0:
            raise SettingError(
                ("positions",), "no position is left to tune on: all are left out by the filters"
            )
        return lines

    def _teacher_scale(self, before: Labelling | None) -> tuple[float | None, list[str], list[str]]:
        if self.means.target.kind == "texel":
            return None, [], []
        if isinstance(self.means.teacher_scale, float):
            return self.means.teacher_scale, [], []
        if before is not None and before.teacher_scale is not None:
            return before.teacher_scale, [n for n in before.fitted if n == "teacher_scale"], []
        assert self.positions is not None
        try:
            fit = self.positions.fit_teacher(self.means.loss)
        except ValueError as error:
            raise SettingError(
                ("teacher_scale",), str(error), "its scale in centipawns, as 600"
            ) from None
        return fit.scale, ["teacher_scale"], [fit.warning] if fit.warning else []

    def _usable(self, shard: int) -> npt.NDArray[np.bool_]:
        return usable(self.scores(0, shard), self._quiet(shard), self._capped(shard))

    @property
    def _score_cap(self) -> float | None:
        """The largest own score of positions without a teacher's, centipawns.  It stays as it
        was when the positions were labelled."""
        labelling = self.state.labelling
        if labelling is not None:
            return labelling.score_cap
        return self.means.positions.dataset.score_cap

    def _capped(self, shard: int) -> npt.NDArray[np.bool_]:
        """Return which positions without a teacher's score have too large a score by the start
        values."""
        assert self.positions is not None
        teacher, cap = self.positions.column("teacher", shard), self._score_cap
        if cap is None:
            return np.zeros(len(teacher), dtype=np.bool_)
        return np.isnan(teacher) & (np.abs(self.scores(0, shard)) > cap)

    def _quiet(self, shard: int) -> tuple[Floats, Floats, float] | None:
        most = self.means.positions.quiet
        if most is None:
            return None
        static = self.scores(0 if self.means.static_first else STATIC, shard)
        return static, self.scores(COMPARED, shard), most

    def _data(self, labelling: Labelling | None = None) -> EventData:
        labelling = labelling or self.state.labelling
        assert labelling is not None
        assert self.positions is not None
        loss = Loss(self.means.loss, labelling.scale)
        return EventData(self.positions, self.scores, loss, labelling.teacher_scale)

    def _errors(self, found: Open) -> Errors:
        labelling = self.state.labelling
        assert labelling is not None
        border = self.shards.of_train
        means: list[float | None] = []
        for held in (False, True):
            places = [i for i, shard in enumerate(found.shards) if (shard >= border) is held]
            weight = math.fsum(labelling.weights[found.shards[i]] for i in places)
            loss = math.fsum(found.losses[i] or 0.0 for i in places)
            means.append(loss / weight if weight > 0 else None)
        return Errors(*means)

    def _told(self, number: int, found: Open, errors: Errors) -> Outcome:
        """Tell the optimiser of a pass, and take over what that has led to."""
        state, optimiser = self.state, self.optimiser
        assert optimiser is not None
        if found.keep:
            state.kept.append(number)
        told: Told = optimiser.tell(number, errors, self._data())
        state.told += 1
        quality = Quality(errors.train, errors.validation)
        if number == 0:
            state.start = state.best = quality
        forget = [n for n in told.forget if n and n in state.kept]
        notes = list(told.notes)
        self._follow()
        if not state.open and not optimiser.finished():
            # some find out only now that they have come to their end
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
        if len(self.codes) <= MOST_NAMED and found.theta:
            values = zip(self.codes, found.theta, strict=True)
            line += "; " + ", ".join(f"{code} {value:.6g}" for code, value in values)
        return Outcome(line, tuple(notes), tuple(dict.fromkeys(keys)), True)

    def _shown(self, errors: Errors) -> str:
        parts = [("training", errors.train), ("validation", errors.validation)]
        known = [f"{name} error {value:.8f}" for name, value in parts if value is not None]
        return ", ".join(known)

    def _follow(self) -> None:
        """Take over the best values and their errors."""
        optimiser = self.optimiser
        assert optimiser is not None
        best = optimiser.best
        self.state.best_values = self.named(best)
        for step in optimiser.course:
            if tuple(step.theta) == tuple(best) and step.train is not None:
                self.state.best = Quality(step.train, step.validation)

    def change_sweep(self) -> None:
        """Go on with a sweep that has been added, removed or given other pairs."""
        state, optimiser = self.state, self.optimiser
        if optimiser is None or not optimiser.is_settled:
            return
        # whatever is under way is the former sweep's
        kept = {0, optimiser.best_pass}
        numbers = [int(key) for key in state.open] + [n for n in state.kept if n not in kept]
        state.stale += [score_key(state.beginning, n) for n in numbers]
        state.open, state.kept = {}, [n for n in state.kept if n in kept]
        if isinstance(optimiser, Swept):
            optimiser.begin_again()
        state.done = optimiser.finished()

    # the end

    def _finish(self) -> list[str]:
        """Find out how sure the improvement is, and what the best values' scores are like."""
        state, optimiser, labelling = self.state, self.optimiser, self.state.labelling
        assert optimiser is not None
        assert labelling is not None
        assert self.positions is not None
        best = optimiser.best_pass
        data, teacher = self._data(), labelling.teacher_scale
        part: Half = "validation" if self.shards.of_validation else "train"
        shown = [(0, "start")] + ([(best, "best")] if best else [])
        for number, name in shown:
            state.calibration[name] = self.positions.calibration(number, data.loss, teacher)
            found = self.positions.entropies(number, part, data.loss, teacher)
            state.entropies[name] = found.means()
        values = ", ".join(f"{code} {value:.6g}" for code, value in state.best_values.items())
        lines = [f"tuned after {state.passes} passes: {values}"]
        if best:
            state.improvement = self._improvement(best, part, data)
            if state.improvement is not None:
                lines.append(improvement_line(state.improvement))
        return lines + self._compare()

    def _improvement(self, best: int, part: Half, data: EventData) -> Improvement | None:
        from ringmaster.tuners.texel.bootstrap import bootstrap

        found = bootstrap(data, 0, best, part, seed=self.means.seed)
        if found is None:
            return None
        value = found.before - found.after
        return Improvement(part, value, found.low, found.high, found.share, found.games)


def improvement_line(found: Improvement) -> str:
    """Return how much was gained, in words."""
    return (
        f"the {'validation' if found.part == 'validation' else 'training'} error is smaller by "
        f"{found.value:.8f} (95 % {found.low:.8f} to {found.high:.8f}), in "
        f"{100 * found.share:.4g} % of resampled games"
    )
