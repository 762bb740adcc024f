"""Edits of a tune's control file: continue from the present state, report the effects,
and replay recorded games under the settings of their time.

Stored results are learned under the stored settings first.  `apply_edit` then switches
to the settings of the control file, once a run and before the first game.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.competition import Trajectory
from ringmaster.competitions.spsa.games import IterationGames, Tickets
from ringmaster.competitions.spsa.methods import Schedule, make_schedule
from ringmaster.competitions.spsa.state import (
    LEARNING_SETTINGS,
    Iteration,
    LearningSettings,
    ParameterSettings,
    SpsaState,
    TuneHistory,
    UndoPoint,
)
from ringmaster.errors import counted
from ringmaster.model.jobs import Ticket, is_of_closing_match
from ringmaster.model.results import GameResult
from ringmaster.tuners.spsa import EstimateRule, GainMethod, Spsa
from ringmaster.tuners.spsa.tuner import FormerParameter, warm_start

_NOT_SET = "not set"
#: Parameters whose new c and R are reported one by one.
MOST_GAIN_LINES = 20
#: Tolerance of θ in a replay, as a part of the range: NumPy versions differ in the last
#: digits.
_TOLERANCE = 1e-6


class Tune(msgspec.Struct, frozen=True):
    """A tuner with the settings that it follows."""

    history: TuneHistory
    schedule: Schedule
    tuner: Spsa


#: Makes a tune without results.
MakeTune = Callable[[TuneHistory], Tune]


def make_tune(history: TuneHistory, estimate_rule: EstimateRule) -> Tune:
    """Return a tune without results.  Raises SettingError."""
    values = history.learning.values()
    tuned = [p.parameter() for p in history.learning.tuned]
    schedule = make_schedule(values, tuned, history.space(), tuple(history.earlier))
    tuner = Spsa(
        schedule.method,
        seed=values["seed"],
        rounding=values["rounding"],
        counting=schedule.counting,
        estimate_rule=estimate_rule,
        random_index=history.random_index(),
    )
    return Tune(history, schedule, tuner)


def apply_edit(
    now: Tune, learning: LearningSettings, issued: int, make: MakeTune
) -> tuple[Tune, list[str]]:
    """Return the tune under edited settings, and lines that report the effects.

    now     the tune before the edit; it is not changed
    issued  iterations of which a game has been issued
    """
    history = now.history
    if learning == history.learning:
        return now, []
    base, issued_under = now, history
    undo = history.undo
    if undo is not None and undo.tuner["told"] == now.tuner.iterations:
        base = make(undo.history)
        base.tuner.restore(undo.tuner)
        if issued == undo.issued:
            issued_under = undo.history
    if issued_under is base.history and learning == issued_under.learning:
        # reverted before an iteration was completed
        return base, _effect_lines(now, base, issued)
    base_history = base.history
    if issued_under is not base_history:
        base_history = msgspec.structs.replace(
            base_history,
            slots=issued_under.slots,
            layouts=issued_under.layouts,
            earlier=_issued_sizes(issued_under, issued),
        )
    edited = _edited_history(base_history, issued_under, base.tuner, learning, issued)
    edited.undo = UndoPoint(
        issued, base.tuner.state(), msgspec.structs.replace(base_history, undo=None)
    )
    tune = make(edited)
    if base.tuner.iterations:
        _continue_from(base, tune)
    for p in learning.tuned:
        edited.former.pop(p.code, None)
    return tune, _effect_lines(now, tune, issued)


def _issued_sizes(history: TuneHistory, issued: int) -> list[tuple[int, int]]:
    """Return `earlier` extended to all issued iterations."""
    earlier = list(history.earlier)
    rest = issued - sum(iterations for iterations, _ in earlier)
    if rest:
        earlier.append((rest, history.learning.settings["games_per_iteration"]))
    return earlier


def _edited_history(
    base: TuneHistory,
    issued_under: TuneHistory,
    tuner: Spsa,
    learning: LearningSettings,
    issued: int,
) -> TuneHistory:
    """Return the history under new settings.

    `former` still includes parameters that are tuned again.

    base          history of the results of `tuner`
    issued_under  history of the latest games
    """
    old = base.learning.by_code()
    old_codes = [p.code for p in base.learning.tuned]
    former, starts = dict(base.former), {}
    if tuner.iterations:
        new_codes = {p.code for p in learning.tuned}
        for i, (code, value) in enumerate(zip(old_codes, tuner.estimate().tolist(), strict=True)):
            if code not in new_codes:
                former[code] = FormerParameter.of(tuner, i, _rounded(value, old[code]))
        starts = {
            p.code: base.starts.get(p.code, old[p.code].start)
            for p in learning.tuned
            if p.code in old_codes and (p.code in base.starts or p.start != old[p.code].start)
        }
    codes = [p.code for p in learning.parameters]
    edited = msgspec.structs.replace(
        base,
        learning=learning,
        slots=[*base.slots, *(code for code in codes if code not in base.slots)],
        former=former,
        starts=starts,
        undo=None,
    )
    sizes = {x.settings["games_per_iteration"] for x in (issued_under.learning, learning)}
    if len(sizes) > 1:
        edited.earlier = _issued_sizes(issued_under, issued)
    return edited


def _rounded(value: float, parameter: ParameterSettings) -> float:
    """Return a value to about a millionth of the parameter's range."""
    places = 6 - math.floor(math.log10(parameter.maximum - parameter.minimum))
    return parameter.clip(round(value, places))


def _continue_from(base: Tune, new: Tune) -> None:
    before, tuned = base.history.learning.tuned, new.history.learning.tuned
    index = {p.code: i for i, p in enumerate(before)}
    methods = {tune.history.learning.settings["method"] for tune in (base, new)}
    warm_start(
        new.tuner,
        base.tuner,
        [index.get(p.code) for p in tuned],
        [None if p.code in index else new.history.former.get(p.code) for p in tuned],
        same_method=len(methods) == 1
        and _without_starts(before) == _without_starts(tuned)
        and np.array_equal(base.tuner.space.start, new.tuner.space.start),
    )


def _without_starts(parameters: Sequence[ParameterSettings]) -> list[ParameterSettings]:
    return [msgspec.structs.replace(p, start=0.0) for p in parameters]


# the report of an edit


def _effect_lines(was: Tune, now: Tune, issued: int) -> list[str]:
    where = f"after iteration {issued}" if issued else "before the first iteration"
    return [f"{where}: {text}" for text in _effects(was, now, issued)]


def _effects(was: Tune, now: Tune, issued: int) -> Iterator[str]:
    old, new = was.history.learning, now.history.learning
    before, after = old.texts(), new.texts()
    completed = now.tuner.iterations
    for name in LEARNING_SETTINGS:
        if before.get(name) != after.get(name):
            effect = ""
            if name == "method" and completed:
                effect = "; θ stays where it is, and moves by the new method's steps"
                if not isinstance(now.tuner.method, GainMethod):
                    effect = "; θ follows from all results so far"
            yield f"{name} {before.get(name, _NOT_SET)} → {after.get(name, _NOT_SET)}{effect}"
    planned = now.schedule.iterations
    if planned != was.schedule.iterations:
        text = f"the tune has {counted(planned, 'iteration')}, not {was.schedule.iterations}"
        yield f"{text}: it is complete, with {completed}" if completed >= planned else text
    yield from _parameter_effects(was, now)
    if completed < planned:
        yield from _gain_effects(was, now, issued + 1)
    in_progress = issued - completed
    if in_progress > 0 and old.parameters != new.parameters:
        yield (
            f"{in_progress} iterations in progress keep their values"
            if in_progress > 1
            else "the iteration in progress keeps its values"
        )


def _parameter_effects(was: Tune, now: Tune) -> Iterator[str]:
    old_values, new_values = _values(was), _values(now)
    old, new = was.history.learning.by_code(), now.history.learning.by_code()
    for code in old:
        if code not in new:
            left = now.history.former.get(code)
            place = "" if left is None else f" at {left.value:.6g}, its estimate"
            yield f"{code}: removed{place}; engines no longer receive it"
    for p in new.values():
        value = new_values[p.code]
        if p.code in old:
            text = _changes(old[p.code], p, old_values[p.code], value, now.tuner)
            if text:
                yield f"{p.code}: {text}"
        elif p.code in was.history.former:
            results = "frozen" if p.frozen else "with its earlier results"
            yield f"{p.code}: restored at {value:.6g}, its last value, {results}"
        else:
            frozen = ", frozen" if p.frozen else ""
            yield f"{p.code}: is new, at its start {value:.6g}{frozen}"


def _values(tune: Tune) -> dict[str, float]:
    """Return the value of each parameter: θ, or its frozen value."""
    theta = iter(tune.tuner.theta.tolist())
    return {
        p.code: tune.history.frozen_value(p) if p.frozen else next(theta)
        for p in tune.history.learning.parameters
    }


#: Fields of ParameterSettings by their names in control files.
_ARGUMENTS: Mapping[str, str] = {
    "min": "minimum",
    "max": "maximum",
    "c_end": "c_end",
    "r_end": "r_end",
    "step": "step",
    "integer": "integer",
    "start": "start",
}


def _changes(
    old: ParameterSettings, new: ParameterSettings, was: float, value: float, tuner: Spsa
) -> str:
    """Return the changes of a parameter, "" if there are none."""
    has_results = tuner.iterations > 0
    changes = [
        f"{name} {_shown(getattr(old, field))} → {_shown(getattr(new, field))}"
        for name, field in _ARGUMENTS.items()
        if getattr(old, field) != getattr(new, field)
    ]
    if new.frozen and not old.frozen:
        reason = f", its estimate (θ was {was:.6g})" if has_results else ""
        changes.append(f"frozen at {value:.6g}{reason}")
    elif old.frozen and not new.frozen:
        changes.append(f"tuned from now on, from {value:.6g}")
    elif was != value and has_results:
        name = "its value" if new.frozen else "θ"
        reason = ""
        if not new.frozen and new.clip(was) != was:
            reason = ", its averages restart"
        elif not new.frozen and not isinstance(tuner.method, GainMethod):
            reason = ", as the results now suggest"
        changes.append(f"{name} {was:.6g} → {value:.6g}{reason}")
    elif changes and has_results:
        changes.append(f"{'it' if new.frozen else 'θ'} stays at {value:.6g}")
        if old.start != new.start:
            changes.append("only reports compare with the start")
    return "; ".join(changes)


def _shown(value: Any) -> str:
    if value is None:
        return _NOT_SET
    return f"{value:g}" if isinstance(value, float) else str(value)


def _gain_effects(was: Tune, now: Tune, iteration: int) -> Iterator[str]:
    """Yield c and R of an iteration where the edit changes them."""
    old = {
        p.code: gains
        for p, gains in zip(was.history.learning.tuned, _gains(was.tuner, iteration), strict=True)
    }
    lines = []
    for p, gains in zip(now.history.learning.tuned, _gains(now.tuner, iteration), strict=True):
        parts = []
        for name, before, after in zip("cR", old.get(p.code, (None, None)), gains, strict=True):
            if after is None:
                continue
            if before is None:
                parts.append(f"{name} {after:.4g}")
            elif abs(after - before) > 1e-9 * abs(after):
                parts.append(f"{name} {before:.4g} → {after:.4g}")
        if parts:
            lines.append(f"{p.code}: {', '.join(parts)} in iteration {iteration}")
    yield from lines[:MOST_GAIN_LINES]
    if len(lines) > MOST_GAIN_LINES:
        yield f"and other c and R of {len(lines) - MOST_GAIN_LINES} more parameters"


def _gains(tuner: Spsa, iteration: int) -> list[tuple[float, float | None]]:
    """Return c and R of an iteration, R None for a method without it."""
    k = tuner.counting.k(iteration)
    c = tuner.method.c(k, tuner.memory).tolist()
    if isinstance(tuner.method, GainMethod):
        return list(zip(c, tuner.method.gains.R(k).tolist(), strict=True))
    return [(x, None) for x in c]


# θ after every iteration


def trajectory(
    state: SpsaState,
    tuner: Spsa,
    tickets: Tickets,
    make: MakeTune,
    games: Iterable[tuple[Ticket, GameResult]],
) -> Trajectory:
    """Return θ after every iteration, in order of completion.

    state, tuner  of the tune after all `games`

    Falls back to the thinned trajectory of the tuner, with a note, if the replay ends at
    another θ: early versions did not record edits.
    """
    replay = Replay(state, tickets, make)
    points = list(replay.points(games))
    codes = tuple(state.codes)
    if replay.ends_at(tuner):
        return Trajectory("iteration", codes, points)
    stride = tuner.trajectory.stride
    which = "iterations are" if stride == 1 else f"only every {stride}th iteration is"
    return Trajectory(
        "iteration",
        codes,
        [(iteration, codes, theta) for iteration, theta in tuner.trajectory.points()],
        "the control file was edited under an earlier version, which kept no record of that: "
        f"{which} counted in order of completion, θ has seven digits",
    )


class Replay:
    """Feeds recorded games to a fresh tuner, under the settings of their time."""

    def __init__(self, state: SpsaState, tickets: Tickets, make: MakeTune) -> None:
        self._edits = list(state.edits)
        present = state.history.learning
        #: The settings after each edit.
        self._learning = [*(edit.learning for edit in self._edits[1:]), present]
        first = self._edits[0].learning if self._edits else present
        self._tickets = tickets
        self._make = make
        self._tune = make(TuneHistory.begin(first))

    def points(
        self, games: Iterable[tuple[Ticket, GameResult]]
    ) -> Iterator[tuple[int, tuple[str, ...], array[float]]]:
        """Yield the number of each iteration, the codes of the tuned parameters, and θ."""
        layouts = self._tickets.history.layouts
        self._apply_edits()
        codes = self._codes()
        for k, iteration in self._completed_iterations(games):
            layout_codes = layouts[iteration.layout].codes
            plus, minus = (
                [by_code.get(code, math.nan) for code in codes]
                for by_code in (
                    dict(zip(layout_codes, iteration.plus, strict=True)),
                    dict(zip(layout_codes, iteration.minus, strict=True)),
                )
            )
            schedule = IterationGames(self._tickets.games.pairing, iteration.size)
            tuner = self._tune.tuner
            tuner.tell(k, plus, minus, iteration.result, schedule.equivalent_games)
            self._tune.history.undo = None
            yield k, codes, array("d", tuner.theta.tolist())
            if self._apply_edits():
                codes = self._codes()

    def ends_at(self, tuner: Spsa) -> bool:
        """Return whether the replay has reached a tuner's θ."""
        own, width = self._tune.tuner, tuner.space.width
        if own.iterations != tuner.iterations or len(own.theta) != len(tuner.theta):
            return False
        return bool(np.all(np.abs(own.theta - tuner.theta) <= _TOLERANCE * width))

    def _codes(self) -> tuple[str, ...]:
        return tuple(p.code for p in self._tune.history.learning.tuned)

    def _apply_edits(self) -> bool:
        """Apply the edits made at this point; return whether there are any."""
        edited = False
        while self._edits and self._edits[0].completed == self._tune.tuner.iterations:
            edit = self._edits.pop(0)
            learning = self._learning.pop(0)
            self._tune, _ = apply_edit(self._tune, learning, edit.issued, self._make)
            edited = True
        return edited

    def _completed_iterations(
        self, games: Iterable[tuple[Ticket, GameResult]]
    ) -> Iterator[tuple[int, Iteration]]:
        """Yield iterations in order of completion."""
        open_iterations: dict[int, Iteration] = {}
        schedule = self._tickets.games
        for ticket, result in games:
            if is_of_closing_match(ticket) or result.outcome == "void":
                continue
            k = ticket["k"]
            iteration = open_iterations.get(k)
            if iteration is None:
                iteration = open_iterations[k] = self._tickets.iteration(ticket)
            iteration.result += schedule.gain(self._tickets.sides(ticket), result.points(0))
            iteration.games += 1
            if iteration.games == iteration.size:
                yield k, open_iterations.pop(k)
