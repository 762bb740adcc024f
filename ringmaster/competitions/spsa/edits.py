"""Edits of a tune's control file: continue from the present state, report the effects,
and replay recorded games under the settings of their time.

Stored results are learned under the stored settings first.  `apply_edit` then switches
to the settings of the control file, once a run and before the first game.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from ringmaster.competitions.competition import Trajectory
from ringmaster.competitions.spsa.methods import Schedule, make_schedule
from ringmaster.competitions.spsa.state import (
    ARGUMENTS,
    LEARNING_SETTINGS,
    Iteration,
    LearningSettings,
    SpsaState,
    Tickets,
    TuneHistory,
)
from ringmaster.competitions.tuning.parameter_settings import changed_arguments
from ringmaster.errors import counted
from ringmaster.model.jobs import Ticket, is_of_closing_match
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.results import GameResult
from ringmaster.tuners.spsa.method import GainMethod
from ringmaster.tuners.spsa.tuner import EstimateRule, Spsa

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
    schedule = make_schedule(
        values, history.learning.tuned, history.space(), tuple(history.earlier)
    )
    tuner = Spsa(
        schedule.method,
        seed=values["seed"],
        rounding=values["rounding"],
        counting=schedule.counting,
        estimate_rule=estimate_rule,
        random_index=[history.slots.index(code) for code in history.codes],
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
        same = now.history.learning.settings["method"] == learning.settings["method"]
        # where the tune began counts, not the start in the control file
        same = same and np.array_equal(now.tuner.space.start, edited.tuner.space.start)
        same = same and tuned == [
            msgspec.structs.replace(old, start=new.start)
            for old, new in zip(before, tuned, strict=True)
        ]
        places = [index.get(p.code) for p in tuned]
        edited.tuner.resume(now.tuner, places, same_method=same)
    where = f"after iteration {issued}" if issued else "before the first iteration"
    return edited, [f"{where}: {text}" for text in _effects(now, edited, issued)]


def _edited_history(now: Tune, learning: LearningSettings, issued: int) -> TuneHistory:
    history, tuner = now.history, now.tuner
    old, codes = history.learning.by_code(), history.codes
    left, starts = dict(history.left), {}
    if tuner.iterations:
        estimates = dict(zip(codes, tuner.estimate().tolist(), strict=True))
        began = dict(zip(codes, tuner.began.tolist(), strict=True))
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


def _rounded(value: float, parameter: TunedParameter) -> float:
    """Return a value to about a millionth of the parameter's range."""
    places = 6 - math.floor(math.log10(parameter.maximum - parameter.minimum))
    return parameter.clip(round(value, places))


# the report of an edit


def _effects(was: Tune, now: Tune, issued: int) -> Iterator[str]:
    old, new = was.history.learning, now.history.learning
    completed = now.tuner.iterations
    for name in LEARNING_SETTINGS:
        before, after = (
            repr(learning.settings[name]) if name in learning.settings else "not set"
            for learning in (old, new)
        )
        if before != after:
            effect = ""
            if name == "method" and completed:
                effect = "; θ stays where it is, and moves by the new method's steps"
                if not isinstance(now.tuner.method, GainMethod):
                    effect = "; θ follows from all results so far"
            yield f"{name} {before} → {after}{effect}"
    planned = now.schedule.iterations
    if planned != was.schedule.iterations:
        text = f"the tune has {counted(planned, 'iteration')}, not {was.schedule.iterations}"
        yield f"{text}: it is complete, with {completed}" if completed >= planned else text
    yield from _parameter_effects(was, now)
    lost = [code for code in was.history.codes if code not in now.history.codes]
    if completed and lost:
        yield f"the results for {', '.join(lost)} are forgotten"
    if now.tuner.averages.count < was.tuner.averages.count:
        yield "the averages of all parameters restart"
    if completed < planned:
        yield from _gain_effects(_gains(was, issued + 1), _gains(now, issued + 1), issued + 1)
    in_progress = issued - completed
    if in_progress > 0 and old.parameters != new.parameters:
        yield (
            f"{in_progress} iterations in progress keep their values"
            if in_progress > 1
            else "the iteration in progress keeps its values"
        )


def _parameter_effects(was: Tune, now: Tune) -> Iterator[str]:
    """Yield a line for each parameter whose arguments or value the edit changes."""
    old, new = was.history.learning.by_code(), now.history.learning.by_code()
    results = now.tuner.iterations > 0
    for code in {**old, **new}:
        before, after = _value_text(was, code), _value_text(now, code)
        both = code in old and code in new
        parts = changed_arguments(old[code], new[code], ARGUMENTS) if both else []
        if results and any(part.startswith("start ") for part in parts):
            parts.append("only reports compare with the start")
        if before != after:
            leaves = code in was.history.codes and code not in now.history.codes
            parts.append(f"{before} → {after}{', its estimate' if leaves and results else ''}")
        elif parts and results:
            parts.append(f"{after} stays")
        if parts:
            yield f"{code}: {'; '.join(parts)}"


def _value_text(tune: Tune, code: str) -> str:
    """Return a parameter's part in a tune and its value: "θ 52", "frozen at 50"."""
    history = tune.history
    if code in history.codes:
        return f"θ {tune.tuner.theta[history.codes.index(code)]:.6g}"
    parameter = history.learning.by_code().get(code)
    if parameter is not None:
        return f"frozen at {history.frozen_value(parameter):.6g}"
    if code in history.slots:
        return f"removed at {history.left[code]:.6g}" if code in history.left else "removed"
    return "new"


def _gain_effects(old: Mapping[str, str], new: Mapping[str, str], iteration: int) -> Iterator[str]:
    """Yield c and R of an iteration where the edit changes them."""
    lines = [
        f"{code}: {f'{old[code]} → ' if code in old else ''}{text} in iteration {iteration}"
        for code, text in new.items()
        if old.get(code) != text
    ]
    yield from lines[:MOST_GAIN_LINES]
    if len(lines) > MOST_GAIN_LINES:
        yield f"and other c and R of {len(lines) - MOST_GAIN_LINES} more parameters"


def _gains(tune: Tune, iteration: int) -> dict[str, str]:
    """Return c and R of an iteration by parameter; only c for a method without R."""
    method, k = tune.tuner.method, tune.tuner.counting.k(iteration)
    texts = [f"c {c:.4g}" for c in tune.tuner.c(k)]
    if isinstance(method, GainMethod):
        gains = method.gains.R(k)
        texts = [f"{text}, R {R:.4g}" for text, R in zip(texts, gains, strict=True)]
    return dict(zip(tune.history.codes, texts, strict=True))


# θ after every iteration


def trajectory(
    state: SpsaState,
    tickets: Tickets,
    estimate_rule: EstimateRule,
    games: Iterable[tuple[Ticket, GameResult]],
) -> Trajectory:
    """Return θ after every iteration, in order of completion.

    A fresh tuner learns from the games under the settings of their time.

    state  of the tune after all `games`
    """
    edits = list(state.edits)
    #: The settings at the beginning, then after each edit.
    learning = [*(edit.learning for edit in edits), state.history.learning]
    tune = make_tune(TuneHistory.begin(learning.pop(0)), estimate_rule)
    open_iterations: dict[int, Iteration] = {}
    points = []
    for ticket, result in games:
        if is_of_closing_match(ticket) or result.outcome == "void":
            continue
        k = ticket["k"]
        if k not in open_iterations:
            open_iterations[k] = tickets.iteration(ticket)
        if not tickets.add(open_iterations[k], ticket, result):
            continue
        iteration = open_iterations.pop(k)
        while edits and edits[0].completed == tune.tuner.iterations:
            tune, _ = apply_edit(tune, learning.pop(0), edits.pop(0).issued)
        codes = tune.history.codes
        tickets.learn(tune.tuner, codes, ticket, iteration.result)
        points.append((k, tuple(codes), array("d", tune.tuner.theta.tolist())))
    return Trajectory("iteration", tuple(state.history.codes), points)
