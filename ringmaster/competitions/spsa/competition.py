"""The `spsa` competition: tune one player's parameters by simultaneous perturbations.

An iteration is a few games with one perturbation: θ⁺ against θ⁻, or both against a
reference.  A closing match of the tuned against the start values may follow.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace

from ringmaster.competitions.competition import History, LongHistory, Reaction, Trajectory
from ringmaster.competitions.spsa.methods import Schedule, make_schedule
from ringmaster.competitions.spsa.report import MOST_DRAWN, MOST_VALUES, ReportedTune, TuneCharts
from ringmaster.competitions.spsa.settings import SPSA_SETTINGS, unused_arguments, wrong_settings
from ringmaster.competitions.spsa.state import (
    ARGUMENTS,
    LEARNING_SETTINGS,
    Edit,
    Iteration,
    IterationGames,
    LearningSettings,
    Side,
    SpsaState,
    TuneHistory,
    ValueGrid,
    ValueOrder,
    draw_time_control,
)
from ringmaster.competitions.tournaments.matchup_charts import MatchupCourses
from ringmaster.competitions.tuning.chart_parts import closing_charts
from ringmaster.competitions.tuning.closing_match import Standing
from ringmaster.competitions.tuning.parameter_settings import (
    ValuesByCode,
    changed_arguments,
    check_codes,
)
from ringmaster.errors import SettingError, counted
from ringmaster.model.jobs import CheckJob, Task, Ticket, is_of_closing_match
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import ChartGroup, Progress
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Setting
from ringmaster.tuners.spsa.tuner import EstimateRule, Spsa


class SpsaCompetition(ReportedTune):
    """The `spsa` competition type.

    The way of a value:

    1. θ: the centre of an iteration, a real number on the tuner's scale (`Spsa.theta`).
    2. θ⁺ and θ⁻: θ with the perturbation of an iteration, clipped; whole numbers for
       integer parameters (`Spsa.ask`).
    3. The played value: θ⁺ or θ⁻ with few decimals (`ValueGrid.round`).  The ticket stores
       it, and the tuner learns from it.
    4. The engine value: the played value after transform and format
       (`ParameterBinding.value`).  The engine gets it as an option, a GTP command, an
       argument or an environment variable; a `make_candidate` gets it without format.

    parameters  all parameters
    tuned       the parameters that are not frozen, in the order of the tuner's arrays
    """

    type_name: ClassVar[str] = "spsa"
    functions_stay = False
    table: ClassVar[tuple[Setting, ...]] = SPSA_SETTINGS

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self.pairing = values["pairing"]
        self._set_player(counted="iterations")
        #: The learning settings of the control file.
        self._learning = LearningSettings.of(values)
        tune = make_tune(TuneHistory.begin(self._learning), values["estimate"])
        self._state = SpsaState(tune.history, tune.tuner.state())
        self._use_tune(tune)
        self._state.history.layouts = [self._value_order()]

    def _wrong_settings(self) -> Iterable[SettingError]:
        return [*wrong_settings(self.values), *check_codes(self.declared)]

    def _use_tune(self, tune: Tune) -> None:
        self._tune = tune
        self._state.history = tune.history
        self.tuner, self.schedule = tune.tuner, tune.schedule
        learning = tune.history.learning
        declared = {p.code: p for p in self.parameters}
        self.tuned: tuple[TunedParameter, ...] = tuple(
            declared[p.code] if learning == self._learning else p for p in learning.tuned
        )
        #: Planned iterations.
        self.iterations = self.schedule.iterations
        self._schedule = IterationGames(self.pairing, learning.settings["games_per_iteration"])
        self._grid = ValueGrid(self.tuned, self.schedule.least_c())

    def _value_order(self) -> ValueOrder:
        history = self._state.history
        frozen = {p.code: history.frozen_value(p) for p in history.learning.parameters if p.frozen}
        fixed = {p.code: p.played_value(frozen[p.code]) for p in self.parameters if p.frozen}
        return ValueOrder([p.code for p in self.tuned], fixed=fixed)

    # values and players

    def values_by_code(self, values: Sequence[float]) -> ValuesByCode:
        """Return values of tuned parameters, and those of frozen ones, by code."""
        return self._add_missing(self._state.history.layouts[-1].by_code(values))

    def _add_missing(self, values: ValuesByCode) -> ValuesByCode:
        """Return values by code, with parameters that lack one at their start."""
        return {
            p.code: values[p.code] if p.code in values else p.played_value(p.start)
            for p in self.parameters
        }

    def estimated(self) -> ValuesByCode:
        estimate = zip(self.tuned, self.tuner.estimate().tolist(), strict=True)
        return self.values_by_code(
            self._grid.round([p.played_value(value) for p, value in estimate])
        )

    # the closing match

    @property
    def _planned_games(self) -> int:
        return self.tuner.counting.games_before(self.iterations + 1)

    @property
    def is_tuned(self) -> bool:
        # after a cut of number_of_games, later iterations may be complete before earlier ones
        state, last = self._state, self.iterations
        return state.iterations >= last and not any(int(k) <= last for k in state.open)

    def _standing(self) -> Standing:
        openings = self._schedule.opening(self._planned_games - 1) + 1
        return Standing(self._state.iterations, self.estimated(), openings, self._due)

    # before the games

    def _warnings(self) -> list[str]:
        lines = super()._warnings()
        if self._verifying:
            return lines
        lines += unused_arguments(self.values["method"], self.tuned)
        lines += self.schedule.warnings(self.tuned)
        return lines

    def _notices(self) -> list[str]:
        derived = [] if self._verifying else list(self.schedule.derived)
        return derived + super()._notices()

    def _samples_to_check(self) -> Mapping[str, ValuesByCode]:
        first = self.tuner.ask(1, self.tuner.space.start)
        samples = {
            "start": self.start_values,
            "minimum": self.values_by_code([p.played_value(p.minimum) for p in self.tuned]),
            "maximum": self.values_by_code([p.played_value(p.maximum) for p in self.tuned]),
            "first side": self.values_by_code(self._grid.round(first.plus.tolist())),
            "other side": self.values_by_code(self._grid.round(first.minus.tolist())),
        }
        if not all(p.integer for p in self.tuned):
            samples["between"] = self.values_by_code(self._grid.sample())
        return samples

    def _check_jobs(self) -> list[CheckJob]:
        jobs = super()._check_jobs()
        first, *others = self.values["time_controls"] or ("",)
        by_code = {job.player.code: job for job in jobs if str(job.player.time_control) == first}
        return jobs + [
            replace(job, id=f"{job.id}-{control}", player=job.player.at_time_control(control))
            for control in others
            for job in by_code.values()
        ]

    # issuing games

    def next_job(self) -> Task | None:
        state = self._state
        if self._verifying or state.next_iteration > self.iterations:
            return self._match_game()
        k, game = state.next_iteration, state.next_game
        iteration = state.open.get(str(k)) or self._begin(k)
        game_id = IterationGames(self.pairing, iteration.size).game_id(k, game, self.iterations)
        ticket = iteration.ticket(k, game)
        if len(self.opponents) > 1:
            ticket["r"] = self._opponent_cycle[self._opening(ticket) % len(self._opponent_cycle)]
        return self._issue(game_id, ticket)

    def _begin(self, k: int) -> Iteration:
        perturbation = self.tuner.ask(k)
        return Iteration(
            self._grid.round(perturbation.plus.tolist()),
            self._grid.round(perturbation.minus.tolist()),
            size=self._schedule.size,
            layout=len(self._state.history.layouts) - 1,
            time_control=draw_time_control(self._state.history.learning.settings, k),
        )

    def _opening(self, ticket: Ticket) -> int:
        before = self.tuner.counting.games_before(ticket["k"])
        return self._schedule.opening(before + int(ticket["g"]))

    def _sides(self, ticket: Ticket) -> tuple[Side, Side]:
        games = IterationGames(self.pairing, ticket.get("n", 2))
        return games.sides(ticket["k"], ticket["g"])

    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self._add_missing(self._described_values(ticket, side))

    def _described_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        # the parameters that the tune had, in their order of arrival
        history, values = self._state.history, ticket["p" if side == "+" else "m"]
        by_code = history.layouts[ticket.get("l", 0)].by_code(values)
        return {code: by_code[code] for code in history.slots if code in by_code}

    def _register_of_tune(self, ticket: Ticket) -> bool:
        state = self._state
        k, game = ticket["k"], ticket["g"]
        iteration = state.open.setdefault(str(k), Iteration.of(ticket))
        if (k, game) >= (state.next_iteration, state.next_game):
            following = (k, game + 1) if game + 1 < iteration.size else (k + 1, 0)
            state.next_iteration, state.next_game = following
        return bool(k <= self.iterations)

    # learning

    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        state = self._state
        k = ticket["k"]
        iteration = state.open[str(k)]
        if not self._complete(iteration, ticket, result):
            return Reaction(line)
        del state.open[str(k)]
        codes = state.history.codes
        self._tell(self.tuner, codes, ticket, iteration.result)
        state.iterations = self.tuner.iterations
        theta = zip(codes, self.tuner.theta.tolist(), strict=True)
        values = ", ".join([f"{code} {value:.6g}" for code, value in theta])
        note = f"iteration {k}: W-L {iteration.result:+g}; {values}"
        # a closing match that begins now is of these values
        return Reaction(line, notes=(note,), save=self.is_tuned)

    def _complete(self, iteration: Iteration, ticket: Ticket, result: GameResult) -> bool:
        """Count a game of an iteration.  Return whether it was the last one."""
        side, score = self._score(ticket, result)
        iteration.result += score if side == "+" else -score
        iteration.games += 1
        return iteration.games == iteration.size

    def _score(self, ticket: Ticket, result: GameResult) -> tuple[str, float]:
        """Return a side of the tune and its score: 1, 0 or −1 for a win, draw or loss."""
        side = self._own_side(ticket)
        return side, 2 * result.points(self._sides(ticket).index(side)) - 1

    def _tell(self, tuner: Spsa, codes: Sequence[str], ticket: Ticket, result: float) -> None:
        """Let a tuner of these parameters learn from a complete iteration.

        ticket  of a game of the iteration
        result  W − L of θ⁺ in all its games
        """
        # two games against a reference equal one of θ⁺ against θ⁻
        games = ticket.get("n", 2) / (1 if self.pairing == "self_play" else 2)
        plus, minus = self._both_sides(ticket, codes)
        tuner.tell(ticket["k"], plus, minus, result, games)

    def _both_sides(self, ticket: Ticket, codes: Sequence[str]) -> list[Sequence[float]]:
        """Return θ⁺ and θ⁻ in the order of some codes, NaN for a parameter that was not tuned."""
        layout = self._state.history.layouts[ticket.get("l", 0)]
        return [layout.in_order(codes, ticket[side]) for side in "pm"]

    # state

    def state(self) -> dict[str, Any]:
        self._state.tuner = self.tuner.state()
        return super().state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._state = msgspec.convert(state, SpsaState)
        # results recorded after this state are learned under its settings
        self._use_tune(make_tune(self._state.history, self.values["estimate"]))
        self.tuner.restore(self._state.tuner)
        self.closing.restore(self._state.matches)

    def apply_edits(self, outstanding: Sequence[Ticket]) -> list[str]:
        lines = super().apply_edits(outstanding)
        before, issued = self._state.history.learning, self._state.issued
        if self._learning != before:
            tune, lines = apply_edit(self._tune, self._learning, issued)
            self._state.edits.append(Edit(self._state.iterations, issued, before))
            self._use_tune(tune)
        layout, layouts = self._value_order(), self._state.history.layouts
        if layouts[-1] != layout:
            layouts.append(layout)
        return lines

    # reports

    def _progress(self) -> Progress:
        return self._progress_to(max(self._planned_games, self._games))

    def _work_done(self) -> str:
        done, games = self._state.iterations, counted(self._games, "game")
        return f"iteration {done:,} of {self.iterations:,}, {games}"

    def _course(self, games: History) -> Trajectory:
        """Return θ after every iteration, in order of completion.

        A fresh tuner learns from all games so far under the settings of their time.
        """
        state = self._state
        edits = list(state.edits)
        #: The settings at the beginning, then after each edit.
        learning = [*(edit.learning for edit in edits), state.history.learning]
        tune = make_tune(TuneHistory.begin(learning.pop(0)), self.values["estimate"])
        open_iterations: dict[int, Iteration] = {}
        points = []
        for ticket, result in games:
            if is_of_closing_match(ticket) or result.outcome == "void":
                continue
            k = ticket["k"]
            iteration = open_iterations.setdefault(k, Iteration.of(ticket))
            if not self._complete(iteration, ticket, result):
                continue
            del open_iterations[k]
            while edits and edits[0].completed == tune.tuner.iterations:
                tune, _ = apply_edit(tune, learning.pop(0), edits.pop(0).issued)
            codes = tune.history.codes
            self._tell(tune.tuner, codes, ticket, iteration.result)
            points.append((k, tuple(codes), array("d", tune.tuner.theta.tolist())))
        return Trajectory("iteration", tuple(state.history.codes), points)

    def charts(self, history: History) -> list[ChartGroup]:
        most = min(MOST_DRAWN, MOST_VALUES // len(self.tuned))
        share = min(1.0, most / max(1, self._games))
        if share < 1 and isinstance(history, LongHistory):
            history = history.sample(share, "kind")
        else:
            share = 1.0
        tune = TuneCharts(self.tuned, self.tuner, share)
        matches = MatchupCourses(self.closing.infos(self._standing()))
        codes = [p.code for p in self.tuned]
        for ticket, result in history:
            if is_of_closing_match(ticket):
                played = self.closing.describe(ticket)
                matches.record_result(played.matchup, played.players[0], played.pair, result)
            elif result.outcome != "void":
                # `describe` takes several times as long
                plus, minus = self._both_sides(ticket, codes)
                side, score = self._score(ticket, result)
                own, other = (plus, minus) if side == "+" else (minus, plus)
                tune.add(own, None if self.opponents else other, score)
        return [*tune.charts(), *closing_charts(matches)]


# Edits of the control file.  Stored results are learned under the stored settings first; then
# `apply_edit` switches to those of the control file, once a run and before the first game.

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
                if now.schedule.gains is None:
                    effect = "; θ goes on by all results so far"
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
    gains, k = tune.schedule.gains, tune.tuner.counting.k(iteration)
    texts = [f"c {c:.4g}" for c in tune.tuner.c(k)]
    if gains is not None:
        texts = [f"{text}, R {R:.4g}" for text, R in zip(texts, gains.R(k), strict=True)]
    return dict(zip(tune.history.codes, texts, strict=True))
