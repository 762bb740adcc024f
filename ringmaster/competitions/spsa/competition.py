"""The `spsa` competition: tune one player's parameters by simultaneous perturbations.

An iteration is a few games with one perturbation: θ⁺ against θ⁻, or both against a
reference.  A closing match of the tuned against the start values may follow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from ringmaster.competitions.competition import (
    History,
    LongHistory,
    Reaction,
    Trajectory,
)
from ringmaster.competitions.spsa.charts import MOST_DRAWN, MOST_VALUES, TuneCharts
from ringmaster.competitions.spsa.edits import Tune, apply_edit, make_tune, trajectory
from ringmaster.competitions.spsa.report import ReportedTune
from ringmaster.competitions.spsa.settings import (
    SPSA_SETTINGS,
    unused_arguments,
    wrong_settings,
)
from ringmaster.competitions.spsa.state import (
    Edit,
    Iteration,
    IterationGames,
    LearningSettings,
    SpsaState,
    Tickets,
    TuneHistory,
    ValueGrid,
    ValueOrder,
)
from ringmaster.competitions.tournaments.matchup_charts import MatchupCourses
from ringmaster.competitions.tuning.chart_parts import closing_charts
from ringmaster.competitions.tuning.closing_match import Standing
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, check_codes
from ringmaster.errors import SettingError, counted
from ringmaster.model.jobs import CheckJob, Task, Ticket, is_of_closing_match
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import ChartGroup, Progress
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Setting


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
        self._set_player(self._definition, counted="iterations")
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
        self._tickets = Tickets(tune.history, self._schedule)

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
        ticket = self._tickets.write(k, game, iteration)
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
            time_control=self._tickets.draw_time_control(k),
        )

    def _opening(self, ticket: Ticket) -> int:
        before = self.tuner.counting.games_before(ticket["k"])
        return self._schedule.opening(before + int(ticket["g"]))

    def _sides(self, ticket: Ticket) -> tuple[str, str]:
        return self._tickets.sides(ticket)

    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self._add_missing(self._described_values(ticket, side))

    def _described_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self._tickets.values_by_code(ticket, side)

    def _register_of_tune(self, ticket: Ticket) -> bool:
        state = self._state
        k, game = ticket["k"], ticket["g"]
        iteration = state.open.setdefault(str(k), self._tickets.iteration(ticket))
        if (k, game) >= (state.next_iteration, state.next_game):
            following = (k, game + 1) if game + 1 < iteration.size else (k + 1, 0)
            state.next_iteration, state.next_game = following
        return bool(k <= self.iterations)

    # learning

    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        state = self._state
        k = ticket["k"]
        iteration = state.open[str(k)]
        if not self._tickets.add(iteration, ticket, result):
            return Reaction(line)
        del state.open[str(k)]
        codes = state.history.codes
        self._tickets.learn(self.tuner, codes, ticket, iteration.result)
        state.iterations = self.tuner.iterations
        theta = zip(codes, self.tuner.theta.tolist(), strict=True)
        values = ", ".join([f"{code} {value:.6g}" for code, value in theta])
        note = f"iteration {k}: W-L {iteration.result:+g}; {values}"
        # a closing match that begins now is of these values
        return Reaction(line, notes=(note,), save=self.is_tuned)

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

    def _course_of_tune(self) -> Callable[[History], Trajectory]:
        return functools.partial(trajectory, self._state, self._tickets, self.values["estimate"])

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
                sides = self._tickets.sides(ticket)
                plus, minus = self._tickets.values(ticket, codes)
                side = "+" if "+" in sides else "-"
                own, other = (plus, minus) if side == "+" else (minus, plus)
                score = 2 * result.points(sides.index(side)) - 1
                tune.add(own, None if "=" in sides else other, score)
        return [*tune.charts(), *closing_charts(matches)]
