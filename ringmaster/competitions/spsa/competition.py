"""spsa: tunes one player's parameters by simultaneous perturbations.

An iteration is a few games with one perturbation: θ⁺ against θ⁻, or both against a
reference.  When the tune is done, a closing match of the tuned against the start
values may prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.closing_match import Standing
from ringmaster.competitions.common import noting, result_line
from ringmaster.competitions.competition import Played, Trajectory, Verdict
from ringmaster.competitions.game_settings import make_game_settings
from ringmaster.competitions.matchup_charts import MatchupCourses
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE
from ringmaster.competitions.player_tune import PlayerTune
from ringmaster.competitions.players import PlayerDefinition, find_player
from ringmaster.competitions.repeats import repeats_line
from ringmaster.competitions.spsa.charts import TuneCharts
from ringmaster.competitions.spsa.checks import (
    check_method,
    check_numbers,
    find_opponents,
    weights_of,
    without_effect,
)
from ringmaster.competitions.spsa.edits import Past, Tune, adopt, begin, make_tune
from ringmaster.competitions.spsa.pairing import Games, Side, rota
from ringmaster.competitions.spsa.played import Grid, Layout
from ringmaster.competitions.spsa.replay import trajectory
from ringmaster.competitions.spsa.report import TuneReport
from ringmaster.competitions.spsa.settings import SPSA_SETTINGS
from ringmaster.competitions.spsa.state import Iteration, State, read_state
from ringmaster.competitions.spsa.terms import Terms
from ringmaster.competitions.spsa.tickets import Tickets
from ringmaster.competitions.tuned_options import TunedOptions, tuned_options
from ringmaster.competitions.tuned_parameters import Named, check_codes
from ringmaster.competitions.voids import REMEDY, VoidKinds, added, count_void, void_line, void_rule
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.charts import ChartGroup
from ringmaster.model.jobs import CheckJob, GameJob, Task, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player
from ringmaster.model.report import Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Setting

#: Column of W, D, L by points.
_COLUMN = {1.0: 0, 0.5: 1, 0.0: 2}


class SpsaCompetition(PlayerTune):
    """The `spsa` competition type.

    parameters  all of them
    tuned       those that are not frozen; the tuner's arrays are of these, in this order
    """

    type_name: ClassVar[str] = "spsa"
    table: ClassVar[tuple[Setting, ...]] = SPSA_SETTINGS

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self.pairing = values["pairing"]
        errors: list[SettingError] = []
        with noting(errors):
            self.settings = make_game_settings(self._game, values)
        with noting(errors):
            definition: PlayerDefinition = find_player(
                values["players"], values["player"], ("player",)
            )
        self.opponents: dict[str, Player] = {}
        with noting(errors):
            self.opponents = find_opponents(values)
        errors += [*check_numbers(values), *check_method(values), *check_codes(self.declared)]
        if errors:
            raise SettingErrors(errors)
        self._use(definition, counted="iterations")
        self._rota = rota(weights_of(values))
        #: What the control file says of how the tune learns.
        self._terms = Terms.of(values)
        tune = self._make(begin(self._terms))
        self._state = State(tune.past, tune.tuner.state())
        self._follow(tune)
        self._state.past.layouts = [self._layout()]

    def _make(self, past: Past) -> Tune:
        return make_tune(past, self.values["estimate"])

    def _follow(self, tune: Tune) -> None:
        """Go by the terms of a tune."""
        present = {p.code: p for p in self.parameters}
        terms = tune.past.terms
        self._state.past = tune.past
        self._tune = tune
        self.tuner, self.schedule = tune.tuner, tune.schedule
        #: The parameters that the tuner's arrays are of, in this order.
        self.tuned: tuple[TunedParameter, ...] = tuple(
            present[p.code] if self._terms == terms else p.tuned() for p in terms.tuned
        )
        self.games_per_iteration: int = terms.settings["games_per_iteration"]
        self._games = Games(self.pairing, self.games_per_iteration)
        #: Iterations that are planned.
        self.iterations = self.schedule.iterations
        self._grid = Grid(self.tuned, self.schedule.least_c())
        self._tickets = Tickets(self._state.past, self._games, self._grid)

    def _layout(self) -> Layout:
        past = self._state.past
        frozen = {p.code: past.rest(p) for p in past.terms.parameters if p.frozen}
        fixed = {p.code: p.engine_value(frozen[p.code]) for p in self.parameters if p.frozen}
        return msgspec.structs.replace(self._grid.layout, fixed=fixed)

    # values and players

    def named(self, values: Sequence[float]) -> Named:
        """Return values of tuned parameters (as they are played) with those of the rest."""
        return self._all(self._state.past.layouts[-1].named(values))

    def _all(self, given: Named) -> Named:
        """Return given values with those of parameters that were not there yet: at their
        start, for both sides."""
        return {
            p.code: given[p.code] if p.code in given else p.engine_value(p.start)
            for p in self.parameters
        }

    def estimated(self) -> Named:
        """Return what the tune has come to, of all parameters, as engines are given it."""
        estimate = zip(self.tuned, self.tuner.estimate().tolist(), strict=True)
        rounded = [p.engine_value(value) for p, value in estimate]
        return self.named(self._grid.played(rounded))

    # the closing match

    @property
    def openings_used(self) -> int:
        """How many openings of its book the tune uses."""
        return self._games.openings(self.tuner.counting.games_before(self.iterations + 1))

    @property
    def all_told(self) -> bool:
        """Whether every iteration has been told.  Where the number of games has been cut,
        those that are told may be later ones than some that are under way."""
        state, last = self._state, self.iterations
        return state.told >= last and not any(int(k) <= last for k in state.open)

    def _standing(self) -> Standing:
        return Standing(self._state.told, self.estimated(), self.openings_used, self._due)

    # before the games

    def prepare(self) -> None:
        self.book.load()
        self.closing.prepare()

    def warnings(self) -> list[str]:
        lines = self.closing.warnings(self._standing())
        missed = not self.closing.has_openings if self._verifying else self.book.missed
        if missed:
            lines.append(SAME_GAMES_OF_TUNE)
        if self._verifying:
            return lines
        lines += without_effect(self.values["method"], self.tuned)
        lines += self.schedule.warnings(self.tuned)
        return lines

    def notices(self) -> list[str]:
        derived = [] if self._verifying else list(self.schedule.derived)
        return derived + self.closing.notices(self._standing())

    def contestants(self) -> list[Player]:
        opponents = list(self.opponents.values())
        known = {player.code: player for player in (*super().contestants(), *opponents)}
        return list(known.values())

    def check_jobs(self) -> list[CheckJob]:
        if self._verifying:
            return self.closing.check_jobs(self._standing())
        # The engine must take the whole range, and what lies between whole
        # numbers if need be, or games would be void later.
        asked = self.tuner.perturbation(1, self.tuner.space.start)
        samples = {
            "start": self.start_values,
            "minimum": self.named([p.engine_value(p.minimum) for p in self.tuned]),
            "maximum": self.named([p.engine_value(p.maximum) for p in self.tuned]),
            "first side": self.named(self._grid.played(asked.plus.tolist())),
            "other side": self.named(self._grid.played(asked.minus.tolist())),
        }
        if not all(p.integer for p in self.tuned):
            samples["between"] = self.named(self._grid.between())
        jobs = self._candidate_checks(samples)
        jobs[:0] = [
            CheckJob(f"check-{code}", player, self.settings)
            for code, player in self.opponents.items()
        ]
        return jobs + self.closing.check_jobs(None)

    def tuned_options(self) -> TunedOptions | None:
        """See `Competition.tuned_options`: the start values and the bounds."""
        if self._verifying:
            return None

        def maker(parameter: TunedParameter, end: float) -> Callable[[], Player]:
            changed = {**self.start_values, parameter.code: parameter.engine_value(end)}
            return lambda: self.candidate(":end", changed)

        ends = {
            p.code: [
                maker(p, end)
                for end in sorted((p.minimum, p.maximum), key=lambda end: -abs(end - p.start))
            ]
            for p in self.tuned
        }
        check = self._check_id("start")
        return tuned_options(check, self.candidate("", self.start_values), ends)

    # giving out

    def may_run_ahead(self, parallel: int) -> bool:
        """See `Competition.may_run_ahead`: an iteration knows the results that there are
        when it is made.  One game at a time is one at a time."""
        return parallel > 1

    def next_job(self) -> Task | None:
        state = self._state
        if not self._verifying and state.iteration <= self.iterations:
            k, game = state.iteration, state.game
            iteration = state.open.get(str(k)) or self._begin(k)
            game_id = Games(self.pairing, iteration.size).game_id(k, game, self.iterations)
            ticket = self._tickets.make(k, game, iteration)
            if len(self.opponents) > 1:
                ticket["r"] = self._rota[self._opening(ticket) % len(self._rota)]
            return self._give_out(game_id, ticket)
        return self._game_of_match()

    def _begin(self, k: int) -> Iteration:
        asked = self.tuner.ask(k)
        return Iteration(
            self._grid.played(asked.plus.tolist()),
            self._grid.played(asked.minus.tolist()),
            size=self.games_per_iteration,
            layout=len(self._state.past.layouts) - 1,
        )

    def resume(self, ticket: Ticket) -> bool:
        if "v" in ticket:
            return self.closing.resume(ticket, self._standing())
        return self._count(ticket) and not self._verifying

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        if "v" in ticket:
            return self._match_job(game_id, attempt, ticket)
        sides = self._tickets.sides(ticket)
        named = self._named(ticket, sides[0]), self._named(ticket, sides[1])
        opening = self._opening(ticket)
        return self._game_job(
            game_id,
            attempt,
            (self._player(ticket, sides[0], named[0]), self._player(ticket, sides[1], named[1])),
            self.settings,
            ticket,
            self.book.pick(opening),
            named,
            round=opening + 1,
        )

    def _opening(self, ticket: Ticket) -> int:
        before = self.tuner.counting.games_before(ticket["k"])
        return self._games.opening(before + int(ticket["g"]))

    def _named(self, ticket: Ticket, side: Side) -> Named:
        """Return the values of all parameters for a side of a game, {} for the opponent."""
        return {} if side == "=" else self._all(self._tickets.values(ticket, side))

    def _player(self, ticket: Ticket, side: Side, named: Named) -> Player:
        if side == "=":
            return self.opponents[self._opponent(ticket)]
        return self.candidate(side, named)

    def _opponent(self, ticket: Ticket) -> str:
        """Return the code of a game's opponent."""
        return str(ticket.get("r", self._rota[0]))

    def _codes(self, ticket: Ticket) -> tuple[str, str]:
        """Return the codes of a game's sides, the one that moves first first."""
        first, second = (
            self._opponent(ticket) if side == "=" else f"{self.values['player']}{side}"
            for side in self._tickets.sides(ticket)
        )
        return first, second

    def _engine_codes(self, ticket: Ticket) -> list[str]:
        """Return the codes of a game's players; both sides of a tune are one player."""
        sides = self._tickets.sides(ticket)
        return [self._opponent(ticket) if side == "=" else self.values["player"] for side in sides]

    def describe(self, ticket: Ticket) -> Played:
        if "v" in ticket:
            return self.closing.describe(ticket)
        first, second = self._tickets.sides(ticket)
        return Played(
            players=self._codes(ticket),
            parameters=(
                self._tickets.values(ticket, first),
                self._tickets.values(ticket, second),
            ),
            opening=ticket.get("o", ""),
        )

    def _count(self, ticket: Ticket) -> bool:
        state = self._state
        if "v" in ticket:
            self.closing.count(ticket, self._standing())
            return True
        k, game = ticket["k"], ticket["g"]
        # a game is issued or taken only while its iteration is under way
        if str(k) not in state.open:
            state.open[str(k)] = self._tickets.iteration(ticket)
        if (k, game) >= (state.iteration, state.game):
            following = (k, game + 1) if game + 1 < state.open[str(k)].size else (k + 1, 0)
            state.iteration, state.game = following
        return bool(k <= self.iterations)

    # learning

    def take(self, ticket: Ticket, result: GameResult) -> Verdict:
        if "v" in ticket:
            return self.closing.take(ticket, result, self._standing())
        state = self._state
        self._count(ticket)
        sides = self._tickets.sides(ticket)
        line = result_line(result, self._codes(ticket))
        void = result.outcome == "void"
        first = not state.completed
        state.void_in_a_row = state.void_in_a_row + 1 if void else 0
        if void:
            state.void += 1
            count_void(state.void_kinds, result, self._engine_codes(ticket))
            halt = void_rule(state.void_in_a_row, first=first, what="this run")
            return Verdict(line, replay=True, halt=halt and f"{halt}; {REMEDY}")
        own = "-" if "+" not in sides else "+"
        results = state.results if own == "+" else state.results_minus
        column = _COLUMN[result.points(sides.index(own))]
        results[column] += 1
        if "r" in ticket:
            state.against.setdefault(ticket["r"], [0, 0, 0])[column] += 1
        state.repeats += result.repeats
        k = ticket["k"]
        iteration = state.open[str(k)]
        iteration.result += self._games.gain(sides, result.points(0))
        iteration.games += 1
        if iteration.games < iteration.size:
            return Verdict(line)
        del state.open[str(k)]
        self._tell(k, iteration)
        # the closing match that begins now is of these values, whatever comes
        return Verdict(line, notes=(self._note(k, iteration.result),), save=self.all_told)

    def _tell(self, k: int, iteration: Iteration) -> None:
        past = self._state.past
        plus, minus = iteration.plus, iteration.minus
        if past.layouts[iteration.layout].codes != past.layouts[-1].codes:
            plus = past.arranged(iteration.layout, plus)
            minus = past.arranged(iteration.layout, minus)
        told = Games(self.pairing, iteration.size).told
        self.tuner.tell(k, plus, minus, iteration.result, told)
        self._state.told = self.tuner.told
        past.before = None

    def _note(self, k: int, result: float) -> str:
        theta = zip(self._state.codes, self.tuner.theta.tolist(), strict=True)
        values = ", ".join([f"{code} {value:.6g}" for code, value in theta])
        return f"iteration {k}: W-L {result:+g}; {values}"

    # state

    def state(self) -> dict[str, Any]:
        self._state.tuner = self.tuner.state()
        self._state.matches = self.closing.state()
        return msgspec.to_builtins(self._state)  # type: ignore[no-any-return]  # a struct: a dict

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = read_state(state, self._terms, self._make(begin(self._terms)).tuner.state())
        # results recorded since are taken under the settings that they were played under
        self._state = restored
        self._follow(self._make(restored.past))
        self.tuner.restore(restored.tuner)
        self.closing.restore(restored.matches, self.openings_used)

    def adopt(self, outstanding: Sequence[Ticket]) -> list[str]:
        for ticket in outstanding:
            if "v" not in ticket:
                self._count(ticket)
        before, begun = self._state.past.terms, self._state.begun
        tune, lines = adopt(self._tune, self._terms, begun, self._make)
        self._state.record_edit(begun, before, self._terms)
        self._follow(tune)
        layout = self._layout()
        if tune.past.layouts[-1] != layout:
            # a new list: the tune before the edit has the old one
            tune.past.layouts = [*tune.past.layouts, layout]
        return lines

    # what is told

    def _report(self) -> TuneReport:
        return TuneReport(
            self.parameters,
            self.schedule,
            self.tuner,
            self._state,
            weights_of(self.values),
            self._shown,
            self.estimated(),
        )

    def progress(self) -> Progress:
        standing = self._standing()
        played, games = self.closing.progress(standing)
        if self._verifying:
            return Progress(played, games, phase="closing match")
        before = self.closing.completed - played
        if not standing.due:
            # what a match of the present values has come to is one of those before
            before, played = self.closing.completed, 0
            games = 0 if self.closing.settings is None else self.closing.settings.games
        planned = self.tuner.counting.games_before(self.iterations + 1)
        return Progress(
            self._state.completed + before + played,
            max(planned, self._state.completed) + before + games,
            phase="closing match" if standing.due else "tuning",
        )

    def report(self) -> Report:
        blocks: list[Table | Text] = self._report().blocks()
        removed = self._state.past.removed()
        if removed:
            values = ", ".join(f"{code} {value:.6g}" for code, value in removed.items())
            blocks.append(Text((f"removed parameters, as they were left: {values}",)))
        blocks += self.closing.blocks(self._standing())
        if self._state.void:
            blocks.append(Text((void_line(self._state.void_kinds, self._state.void),)))
        if self._state.repeats:
            blocks.append(Text((repeats_line(self._state.repeats, self._state.completed),)))
        return Report(tuple(blocks))

    def void_kinds(self) -> VoidKinds:
        return added([self._state.void_kinds, self.closing.void_kinds()])

    def live_report(self) -> Report:
        return Report((*self._report().short(), *self.closing.blocks(self._standing())))

    def summary(self) -> dict[str, Any]:
        summary = {**self._report().data(), "repeats": self._state.repeats}
        removed = self._state.past.removed()
        if removed:
            summary["removed"] = removed
        if self.closing.matches:
            summary["matchups"] = self.closing.summaries(self._standing())
        return summary

    def trajectory(self, history: Iterable[tuple[Ticket, GameResult]]) -> Trajectory:
        return trajectory(self._state, self.tuner, self._tickets, self._make, history)

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        tune = TuneCharts(
            self.tuned,
            self.tuner,
            self.values["player"],
            self._state.completed,
            lambda told: self.tuner.counting.games_before(told + 1),
        )
        matches = MatchupCourses(self.matchup_infos())
        for ticket, result in history:
            played = self.describe(ticket)
            if played.matchup:
                matches.take(played, result)
            else:
                tune.take(played, result)
        return [*tune.charts(), *matches.charts("Closing match")]
