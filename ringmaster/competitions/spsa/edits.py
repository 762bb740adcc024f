"""Edits of a tune's control file: continue from the present state, report the effects,
and replay recorded games under the settings of their time.

Stored results are learned under the stored settings first.  `apply_edit` then switches
to the settings of the control file, once a run and before the first game.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from ringmaster.competitions.competition import Trajectory
from ringmaster.competitions.spsa.games import Tickets
from ringmaster.competitions.spsa.methods import Schedule, make_schedule
from ringmaster.competitions.spsa.state import (
    LEARNING_SETTINGS,
    Iteration,
    LearningSettings,
    ParameterSettings,
    SpsaState,
    TuneHistory,
)
from ringmaster.competitions.tuning.parameter_settings import changed_arguments
from ringmaster.errors import counted
from ringmaster.model.jobs import Ticket, is_of_closing_match
from ringmaster.model.results import GameResult
from ringmaster.tuners.spsa import EstimateRule, GainMethod, Spsa

_NOT_SET = "not set"
#: Parameters whose new c and R are reported one by one.
MOST_GAIN_LINES = 20


class Tune(msgspec.Struct, frozen=True):
    """A tuner with the settings that it follows."""

    history: TuneHistory
    schedule: Schedule
    tuner: Spsa


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


def apply_edit(now: Tune, learning: LearningSettings, issued: int) -> tuple[Tune, list[str]]:
    """Return a tune that continues from θ under edited settings, and lines on the effects.

    now     the tune before the edit; it is not changed
    issued  iterations of which a game has been issued
    """
    edited = make_tune(_edited_history(now, learning, issued), now.tuner.estimate_rule)
    if now.tuner.iterations:
        before, tuned = now.history.learning.tuned, learning.tuned
        index = {p.code: i for i, p in enumerate(before)}
        methods = {history.learning.settings["method"] for history in (now.history, edited.history)}
        edited.tuner.resume(
            now.tuner,
            [index.get(p.code) for p in tuned],
            same_method=len(methods) == 1
            and _without_starts(before) == _without_starts(tuned)
            and np.array_equal(now.tuner.space.start, edited.tuner.space.start),
        )
    where = f"after iteration {issued}" if issued else "before the first iteration"
    return edited, [f"{where}: {text}" for text in _effects(now, edited, issued)]


def _edited_history(now: Tune, learning: LearningSettings, issued: int) -> TuneHistory:
    history, tuner = now.history, now.tuner
    old, codes = history.learning.by_code(), history.codes
    left, starts = dict(history.left), {}
    if tuner.iterations:
        estimates = dict(zip(codes, tuner.estimate().tolist(), strict=True))
        began = dict(zip(codes, tuner.space.start.tolist(), strict=True))
        tuned = {p.code for p in learning.tuned}
        left |= {
            code: _rounded(value, old[code])
            for code, value in estimates.items()
            if code not in tuned
        }
        began |= {code: left.pop(code) for code in tuned & left.keys()}
        starts = {code: value for code, value in began.items() if code in tuned}
    arrived = [p.code for p in learning.parameters if p.code not in history.slots]
    earlier = list(history.earlier)
    size = history.learning.settings["games_per_iteration"]
    rest = issued - sum(iterations for iterations, _ in earlier)
    if rest and learning.settings["games_per_iteration"] != size:
        earlier.append((rest, size))
    return msgspec.structs.replace(
        history,
        learning=learning,
        slots=history.slots + arrived,
        left=left,
        starts=starts,
        earlier=earlier,
    )


def _rounded(value: float, parameter: ParameterSettings) -> float:
    """Return a value to about a millionth of the parameter's range."""
    places = 6 - math.floor(math.log10(parameter.maximum - parameter.minimum))
    return parameter.clip(round(value, places))


def _without_starts(parameters: Sequence[ParameterSettings]) -> list[ParameterSettings]:
    return [msgspec.structs.replace(p, start=0.0) for p in parameters]


# the report of an edit


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
    if completed:
        yield from _forgotten(was, now)
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
            value = now.history.left.get(code)
            place = "" if value is None else f" at {value:.6g}, its estimate"
            yield f"{code}: removed{place}; engines no longer receive it"
    for p in new.values():
        value = new_values[p.code]
        frozen = ", frozen" if p.frozen else ""
        if p.code in old:
            text = _changes(old[p.code], p, old_values[p.code], value, now.tuner)
            if text:
                yield f"{p.code}: {text}"
        elif p.code in was.history.left:
            yield f"{p.code}: restored at {value:.6g}, its last value{frozen}"
        else:
            yield f"{p.code}: is new, at its start {value:.6g}{frozen}"


def _forgotten(was: Tune, now: Tune) -> Iterator[str]:
    """Yield lines on the knowledge that the tune loses by the edit."""
    lost = [code for code in was.history.codes if code not in now.history.codes]
    if lost:
        yield f"the results for {', '.join(lost)} are forgotten"
    if now.tuner.averages.count < was.tuner.averages.count:
        yield "the averages of all parameters restart"


def _values(tune: Tune) -> dict[str, float]:
    """Return the value of each parameter: θ, or its frozen value."""
    theta = iter(tune.tuner.theta.tolist())
    return {
        p.code: tune.history.frozen_value(p) if p.frozen else next(theta)
        for p in tune.history.learning.parameters
    }


#: Fields of ParameterSettings whose changes are reported, in this order.
_ARGUMENTS = ("minimum", "maximum", "c_end", "r_end", "step", "integer", "start")


def _changes(
    old: ParameterSettings, new: ParameterSettings, was: float, value: float, tuner: Spsa
) -> str:
    """Return the changes of a parameter, "" if there are none."""
    has_results = tuner.iterations > 0
    changes = changed_arguments(old, new, _ARGUMENTS)
    if new.frozen and not old.frozen:
        reason = f", its estimate (θ was {was:.6g})" if has_results else ""
        changes.append(f"frozen at {value:.6g}{reason}")
    elif old.frozen and not new.frozen:
        changes.append(f"tuned from now on, from {value:.6g}")
    elif was != value and has_results:
        name = "its value" if new.frozen else "θ"
        reason = ""
        follows_results = not isinstance(tuner.method, GainMethod)
        if follows_results and not new.frozen and new.clip(was) == was:
            reason = ", as the results now suggest"
        changes.append(f"{name} {was:.6g} → {value:.6g}{reason}")
    elif changes and has_results:
        changes.append(f"{'it' if new.frozen else 'θ'} stays at {value:.6g}")
        if old.start != new.start:
            changes.append("only reports compare with the start")
    return "; ".join(changes)


def _gain_effects(was: Tune, now: Tune, iteration: int) -> Iterator[str]:
    """Yield c and R of an iteration where the edit changes them."""
    old, lines = _gains(was, iteration), []
    for code, gains in _gains(now, iteration).items():
        before = old.get(code, {})
        parts = [
            f"{name} {before[name]:.4g} → {value:.4g}" if name in before else f"{name} {value:.4g}"
            for name, value in gains.items()
            if not math.isclose(before.get(name, math.inf), value)
        ]
        if parts:
            lines.append(f"{code}: {', '.join(parts)} in iteration {iteration}")
    yield from lines[:MOST_GAIN_LINES]
    if len(lines) > MOST_GAIN_LINES:
        yield f"and other c and R of {len(lines) - MOST_GAIN_LINES} more parameters"


def _gains(tune: Tune, iteration: int) -> dict[str, dict[str, float]]:
    """Return c and R of an iteration by parameter; only c for a method without R."""
    method, k = tune.tuner.method, tune.tuner.counting.k(iteration)
    columns = {"c": method.c(k, tune.tuner.memory).tolist()}
    if isinstance(method, GainMethod):
        columns["R"] = method.gains.R(k).tolist()
    return {
        code: {name: values[i] for name, values in columns.items()}
        for i, code in enumerate(tune.history.codes)
    }


# θ after every iteration


def trajectory(
    state: SpsaState,
    tickets: Tickets,
    estimate_rule: EstimateRule,
    games: Iterable[tuple[Ticket, GameResult]],
) -> Trajectory:
    """Return θ after every iteration, in order of completion.

    state  of the tune after all `games`
    """
    points = list(_replayed(state, tickets, estimate_rule, games))
    return Trajectory("iteration", tuple(state.codes), points)


def _replayed(
    state: SpsaState,
    tickets: Tickets,
    estimate_rule: EstimateRule,
    games: Iterable[tuple[Ticket, GameResult]],
) -> Iterator[tuple[int, tuple[str, ...], array[float]]]:
    """Yield the number of each iteration, the codes of the tuned parameters, and θ.

    A fresh tuner learns from the games under the settings of their time.
    """
    edits = list(state.edits)
    #: The settings at the beginning, then after each edit.
    learning = [*(edit.learning for edit in edits), state.history.learning]
    tune = make_tune(TuneHistory.begin(learning.pop(0)), estimate_rule)
    open_iterations: dict[int, Iteration] = {}
    for ticket, result in games:
        if is_of_closing_match(ticket) or result.outcome == "void":
            continue
        k = ticket["k"]
        iteration = open_iterations.get(k)
        if iteration is None:
            iteration = open_iterations[k] = tickets.iteration(ticket)
        iteration.result += tickets.games.gain(tickets.sides(ticket), result.points(0))
        iteration.games += 1
        if iteration.games < iteration.size:
            continue
        del open_iterations[k]
        while edits and edits[0].completed == tune.tuner.iterations:
            tune, _ = apply_edit(tune, learning.pop(0), edits.pop(0).issued)
        codes = tune.history.codes
        tickets.learn(tune.tuner, codes, k, iteration)
        yield k, tuple(codes), array("d", tune.tuner.theta.tolist())
