"""spsa: tunes one player's parameters by playing it against itself.

An iteration is a pair of games from one opening: θ⁺ against θ⁻, then with the
colours swapped.  When the tune is done, a closing match of the tuned against
the start values may prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np

from ringmaster.competitions.candidates import made_by
from ringmaster.competitions.closing_match import Match, VerifySettings
from ringmaster.competitions.common import noting, result_line, void_rule
from ringmaster.competitions.competition import Competition, MatchupInfo, Played, Verdict
from ringmaster.competitions.game_settings import make_game_settings
from ringmaster.competitions.matchup_charts import MatchupCourses
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE, OpeningBook
from ringmaster.competitions.players import PlayerDefinition, find_player
from ringmaster.competitions.spsa.charts import TuneCharts
from ringmaster.competitions.spsa.settings import SPSA_SETTINGS
from ringmaster.competitions.spsa.state import Iteration, State
from ringmaster.errors import SettingError, SettingErrors, StateRefused
from ringmaster.model.charts import ChartGroup
from ringmaster.model.jobs import CheckJob, GameJob, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import GameName, OptionValue, Player
from ringmaster.model.report import RIGHT, Cell, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Setting, SettingPath
from ringmaster.tuners.spsa import Array, Classic, Counting, GainMethod, Space, Spsa

Values = tuple[int | float, ...]


class SpsaCompetition(Competition):
    """The `spsa` competition type."""

    type_name: ClassVar[str] = "spsa"
    table: ClassVar[tuple[Setting, ...]] = SPSA_SETTINGS

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.parameters: tuple[TunedParameter, ...] = values["parameters"]
        errors: list[SettingError] = []
        with noting(errors):
            self.settings = make_game_settings(self._game, values)
        with noting(errors):
            self._definition: PlayerDefinition = find_player(
                values["players"], values["player"], ("player",)
            )
        if values["number_of_games"] % 2:
            errors.append(
                SettingError(
                    ("number_of_games",),
                    f"{values['number_of_games']} is odd",
                    "an even number: games are played in pairs",
                )
            )
        codes = [p.code for p in self.parameters]
        for i, name in enumerate(codes):
            if name in codes[:i]:
                errors.append(
                    SettingError(("parameters", i, "code"), f"parameter {name!r} is declared twice")
                )
        if errors:
            raise SettingErrors(errors)
        #: Iterations that are planned.
        self.iterations: int = values["number_of_games"] // 2
        counting = Counting()
        space = Space.of(self.parameters)
        N = counting.length(self.iterations)
        self.gains = Classic(
            np.array([p.c_end for p in self.parameters]),
            np.array([p.r_end for p in self.parameters]),
            N,
            values["alpha"],
            values["gamma"],
            0.1 * N if values["A"] is None else values["A"],
            space.least_c,
        )
        self.tuner = Spsa(GainMethod(space, self.gains), seed=values["seed"], counting=counting)
        ends = np.array([f(k) for f in (self.gains.c, self.gains.R) for k in (1, N)])
        for i in np.flatnonzero(~np.all((ends > 0) & (ends < 1e100), axis=0)).tolist():
            raise SettingError(
                ("parameters", i), "its gain sequences leave the numbers that can be handled"
            )
        self._verify: VerifySettings | None = values["verify"]
        self.book = OpeningBook(values["openings"], self._game, values["seed"], values["variant"])
        self._state = State(codes, self.tuner.state(), self.iterations)
        self._planned_before = self.iterations
        self.start_values: Values = tuple(p.engine_value(p.start) for p in self.parameters)
        # a wrong candidate must be known before the first game
        self.candidate("", self.start_values)

    def candidate(self, suffix: str, values: Values) -> Player:
        """Return the player with the given parameter values (engine units).

        Raises SettingError when the values do not make a player.
        """
        player_code = self.values["player"]
        code = f"{player_code}{suffix}"
        named: dict[str, OptionValue] = {
            p.code: v for p, v in zip(self.parameters, values, strict=True)
        }
        make: Callable[..., PlayerDefinition] | None = self.values["make_candidate"]
        if make is not None:
            return made_by(lambda: make(**named), code, self._game)
        try:
            player = self._definition.make(code, self._game)
        except SettingError as error:
            raise error.under("players", player_code) from None
        if player.protocol == "gtp":
            raise SettingError(
                ("parameters",),
                "GTP has no options that parameters could be",
                "a make_candidate function that returns a Player",
            )
        options = {p.option or p.code: named[p.code] for p in self.parameters}
        return msgspec.structs.replace(player, options={**player.options, **options})

    def _played(self, values: Array) -> Values:
        """Return values of the tuner as engines are given them."""
        return tuple(
            int(v) if p.integer else v
            for p, v in zip(self.parameters, values.tolist(), strict=True)
        )

    def _values(self) -> Values:
        """Return the present θ as engines would be given it."""
        return tuple(
            p.engine_value(t)
            for p, t in zip(self.parameters, self.tuner.theta.tolist(), strict=True)
        )

    def prepare(self) -> None:
        self.book.load()

    def warnings(self) -> list[str]:
        lines = []
        if self.book.missed:
            lines.append(SAME_GAMES_OF_TUNE)
        if self._planned_before != self.iterations:
            lines.append(
                f"number_of_games {2 * self._planned_before} -> {2 * self.iterations}: the "
                "gain sequences are derived anew, from iteration "
                f"{self._state.next // 2 + 1} on"
            )
        for parameter, c in zip(self.parameters, self.gains.c(1), strict=True):
            if parameter.integer and parameter.c_end is not None and parameter.c_end < 0.5:
                lines.append(
                    f"parameter {parameter.code!r}: c_end {parameter.c_end:g} is raised to 0.5, "
                    "the least by which whole numbers can differ"
                )
            width = parameter.maximum - parameter.minimum
            if 2 * c > width:
                lines.append(
                    f"parameter {parameter.code!r}: its first perturbations (±{c:.3g}) "
                    f"reach beyond its range of {width:g}"
                )
        return lines

    def check_jobs(self) -> list[CheckJob]:
        # The engine must take the whole range, and what lies between whole
        # numbers if need be, or games would be void later.
        asked = self.tuner.perturbation(1, self.tuner.space.start)
        samples: dict[str, Values] = {
            "start": self.start_values,
            "minimum": tuple(p.engine_value(p.minimum) for p in self.parameters),
            "maximum": tuple(p.engine_value(p.maximum) for p in self.parameters),
            "first side": self._played(asked.plus),
            "other side": self._played(asked.minus),
        }
        code = self.values["player"]
        return [
            CheckJob(f"check-{code}-{name}", self.candidate("", values), self.settings)
            for name, values in samples.items()
        ]

    def place_of(self, code: str) -> SettingPath:
        made = self.values["make_candidate"] is not None
        return ("make_candidate",) if made else ("players", code)

    def next_job(self) -> GameJob | None:
        state = self._state
        if state.next < 2 * self.iterations:
            k, game = state.next // 2 + 1, state.next % 2
            iteration = state.open.get(str(k))
            if iteration is None:
                asked = self.tuner.ask(k)
                iteration = Iteration(
                    list(self._played(asked.plus)), list(self._played(asked.minus))
                )
            return self._give_out(
                f"{k:0{len(str(self.iterations))}d}{'ab'[game]}",
                {"k": k, "g": game, "p": iteration.plus, "m": iteration.minus},
            )
        if self._verify is None or state.told < self.iterations:
            return None
        match = self._current_match()
        if match.next >= self._verify.games:
            return None
        round_number = len(state.matches)
        ticket: Ticket = {"v": round_number, "g": match.next}
        return self._give_out(f"verify{round_number}_{match.next:04d}", ticket)

    def _give_out(self, game_id: str, ticket: Ticket) -> GameJob:
        """Make a job, then count it: a function of the control file may fail,
        and then the game has not been given out."""
        job = self.make_job(game_id, 0, ticket)
        self._count(ticket)
        return job

    def _current_match(self) -> Match:
        """Return the closing match of the present values, a new one if there is
        none yet (the tune has gone on since the last one)."""
        matches = self._state.matches
        if not matches or not self._is_current(matches[-1]):
            matches.append(self._new_match())
        return matches[-1]

    def _new_match(self) -> Match:
        return Match([float(v) for v in self._values()], self._state.told)

    def _is_current(self, match: Match) -> bool:
        return self.iterations <= self._state.told == match.told

    def resume(self, ticket: Ticket) -> bool:
        self._count(ticket)
        if "v" in ticket:
            # a match of values that have been tuned further is of no more use
            present = self._verify is not None and ticket["v"] == len(self._state.matches)
            return present and self._is_current(self._state.matches[-1])
        return bool(ticket["k"] <= self.iterations)

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        if "v" in ticket:
            # fresh openings: the tune has used one for each iteration
            opening = self.iterations + ticket["g"] // 2
        else:
            opening = ticket["k"] - 1
        sides = [
            (self.candidate(suffix, side), self._named(side))
            for suffix, side in self._sides(ticket)
        ]
        return self._game_job(
            game_id,
            attempt,
            (sides[0][0], sides[1][0]),
            self.settings,
            ticket,
            self.book.pick(opening),
            (sides[0][1], sides[1][1]),
        )

    def _sides(self, ticket: Ticket) -> list[tuple[str, Values]]:
        """Return (suffix of the code, parameter values) of both players, the one
        who moves first first."""
        if "v" in ticket:
            match = self._state.matches[ticket["v"] - 1]
            tuned = tuple(
                p.engine_value(v) for p, v in zip(self.parameters, match.values, strict=True)
            )
            sides: list[tuple[str, Values]] = [(":tuned", tuned), (":start", self.start_values)]
        else:
            sides = [("+", tuple(ticket["p"])), ("-", tuple(ticket["m"]))]
        return sides[::-1] if ticket["g"] % 2 else sides

    def _named(self, values: Values) -> dict[str, Any]:
        return dict(zip(self._state.codes, values, strict=True))

    def describe(self, ticket: Ticket) -> Played:
        first, second = self._sides(ticket)
        name = self.values["player"]
        return Played(
            players=(f"{name}{first[0]}", f"{name}{second[0]}"),
            matchup=f"verify{ticket['v']}" if "v" in ticket else "",
            parameters=(self._named(first[1]), self._named(second[1])),
            opening=ticket.get("o", ""),
            pair=ticket["g"] // 2 if "v" in ticket else None,
        )

    def matchup_infos(self) -> list[MatchupInfo]:
        sides = (f"{self.values['player']}:tuned", f"{self.values['player']}:start")
        games = None if self._verify is None else self._verify.games
        return [
            MatchupInfo(f"verify{i}", sides, " v ".join(sides), self.settings, True, games)
            for i in range(1, len(self._state.matches) + 1)
        ]

    def _count(self, ticket: Ticket) -> None:
        """Learn from a ticket which games have been given out; idempotent."""
        state = self._state
        if "v" in ticket:
            while len(state.matches) < ticket["v"]:
                state.matches.append(self._new_match())
            match = state.matches[ticket["v"] - 1]
            match.next = max(match.next, ticket["g"] + 1)
            return
        number = 2 * (ticket["k"] - 1) + ticket["g"]
        # a game is issued or taken only while its iteration is under way
        state.open.setdefault(str(ticket["k"]), Iteration(ticket["p"], ticket["m"]))
        state.next = max(state.next, number + 1)

    def take(self, ticket: Ticket, result: GameResult) -> Verdict:
        state = self._state
        self._count(ticket)
        first_seat = ticket["g"] % 2
        name = self.values["player"]
        sides = (f"{name}:tuned", f"{name}:start") if "v" in ticket else (f"{name}+", f"{name}-")
        line = result_line(result, (sides[first_seat], sides[1 - first_seat]))
        void = result.outcome == "void"
        first = not any(state.results)
        state.void_in_a_row = state.void_in_a_row + 1 if void else 0
        halt = void_rule(state.void_in_a_row, first=first, what="the tune")
        if void:
            state.void += 1
            return Verdict(line, replay=True, halt=halt)
        points = result.points(first_seat)
        if "v" in ticket:
            state.matches[ticket["v"] - 1].take(ticket["g"], points)
            return Verdict(line)
        state.results[{1.0: 0, 0.5: 1, 0.0: 2}[points]] += 1
        k = ticket["k"]
        iteration = state.open[str(k)]
        iteration.result += 2 * points - 1
        iteration.games += 1
        if iteration.games < 2:
            return Verdict(line)
        del state.open[str(k)]
        self.tuner.tell(k, iteration.plus, iteration.minus, iteration.result)
        state.told = self.tuner.told
        theta = ", ".join(
            f"{p.code} {t:.6g}" for p, t in zip(self.parameters, self.tuner.theta, strict=True)
        )
        return Verdict(line, notes=(f"iteration {k}: W-L {iteration.result:+g}; {theta}",))

    def finished(self) -> bool:
        if self._state.told < self.iterations:
            return False
        if self._verify is None:
            return True
        return self._current_match().completed >= self._verify.games

    def state(self) -> dict[str, Any]:
        self._state.tuner = self.tuner.state()
        self._state.iterations = self.iterations
        return msgspec.to_builtins(self._state)  # type: ignore[no-any-return]  # a struct: a dict

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        if restored.codes != self._state.codes:
            raise StateRefused(
                f"the tune is of {', '.join(restored.codes)}, the control file has "
                f"{', '.join(self._state.codes)} now; put the parameters back, or use reset",
                ("parameters",),
            )
        self._planned_before = restored.iterations
        self._state = restored
        self.tuner.restore(restored.tuner)

    def progress(self) -> Progress:
        state = self._state
        total = 2 * self.iterations
        completed = sum(state.results)
        phase = "tuning"
        if self._verify is not None:
            played = [m.completed for m in state.matches]
            tuned = state.told >= self.iterations
            current = self._current_match().completed if tuned else 0
            earlier = sum(played) - current if tuned else sum(played)
            completed += sum(played)
            total += earlier + self._verify.games
            phase = "closing match" if tuned else phase
        return Progress(completed, total, phase=phase)

    def report(self) -> Report:
        blocks: list[Table | Text] = [self._parameter_table()]
        name = self.values["player"]
        for match in self._state.matches:
            wins, draws, losses = match.results
            estimate = match.estimate()
            values = ", ".join(
                f"{p.code}={p.engine_value(v):.6g}"
                for p, v in zip(self.parameters, match.values, strict=True)
            )
            limit = f"{match.completed}"
            if self._verify is not None and self._is_current(match):
                limit += f"/{max(match.completed, self._verify.games)}"
            blocks.append(
                Text(
                    (
                        f"closing match after {match.told} iterations ({limit} games): "
                        f"{name}:tuned against {name}:start",
                        f"  tuned: {values}",
                        f"  wins {wins}, draws {draws}, losses {losses}; "
                        f"pairs {match.pairs.counts}: {estimate}",
                    )
                )
            )
        if self._state.void:
            blocks.append(Text((f"void games (not counted): {self._state.void}",)))
        return Report(tuple(blocks))

    live_report = report

    def _parameter_table(self) -> Table:
        wins, draws, losses = self._state.results
        k = min(self._state.told + 1, self.iterations)
        rows: list[tuple[Cell, ...]] = []
        k = self.tuner.counting.k(k)
        for parameter, theta, c, r in zip(
            self.parameters, self.tuner.theta, self.gains.c(k), self.gains.R(k), strict=True
        ):
            rows.append(
                (
                    parameter.code,
                    f"{parameter.start:.6g}",
                    f"{theta:.6g}",
                    f"{parameter.engine_value(theta):.6g}",
                    f"{parameter.minimum:.6g}",
                    f"{parameter.maximum:.6g}",
                    f"{c:.3g}",
                    f"{r:.3g}",
                )
            )
        return Table(
            headers=("parameter", "start", "value", "engine", "min", "max", "c", "R"),
            rows=tuple(rows),
            title=f"iteration {self._state.told}/{self.iterations}",
            notes=(f"wins {wins}, draws {draws}, losses {losses} of θ+ against θ-",),
            align=("left", *([RIGHT] * 7)),
        )

    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "parameters": [
                {"code": p.code, "start": p.start, "value": t, "engine_value": p.engine_value(t)}
                for p, t in zip(self.parameters, self.tuner.theta.tolist(), strict=True)
            ]
        }
        if self._state.matches:
            name = self.values["player"]
            summary["matchups"] = [
                {
                    "id": f"verify{i}",
                    "players": [f"{name}:tuned", f"{name}:start"],
                    "wins": [match.results[0], match.results[2]],
                    "draws": match.results[1],
                    "unknown": 0,
                    "forfeits": [0, 0],
                }
                for i, match in enumerate(self._state.matches, 1)
            ]
        return summary

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        tune = TuneCharts(
            self.parameters, self.tuner, self.values["player"], sum(self._state.results), 2
        )
        matches = MatchupCourses(self.matchup_infos())
        for ticket, result in history:
            played = self.describe(ticket)
            if played.matchup:
                matches.take(played, result)
            else:
                tune.take(played, result)
        return [*tune.charts(), *matches.charts("Closing match")]
