"""spsa: tunes one player's parameters by playing it against itself.

An iteration is a pair of games from one opening: θ⁺ against θ⁻, then with the
colours swapped.  When the tune is done, a closing match of the tuned against
the start values may prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np

from ringmaster.competitions.candidates import made_by
from ringmaster.competitions.closing_match import ClosingMatches, Standing
from ringmaster.competitions.common import noting, result_line, void_rule
from ringmaster.competitions.competition import Competition, MatchupInfo, Played, Verdict
from ringmaster.competitions.game_settings import make_game_settings
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE, OpeningBook
from ringmaster.competitions.players import PlayerDefinition, find_player
from ringmaster.competitions.spsa.settings import SPSA_SETTINGS
from ringmaster.competitions.spsa.state import Iteration, State
from ringmaster.errors import SettingError, SettingErrors, StateRefused
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
        self.book = OpeningBook(values["openings"], self._game, values["seed"], values["variant"])
        self._state = State(codes, self.tuner.state(), self.iterations)
        self._planned_before = self.iterations
        self.start_values: Values = tuple(p.engine_value(p.start) for p in self.parameters)
        # a wrong candidate must be known before the first game
        self.candidate("", self.start_values)
        #: Whether the closing match is all that is played now (the action `verify`).
        self._verifying = False
        self.closing = ClosingMatches(
            values["verify"],
            player=values["player"],
            definitions=values["players"],
            parameters=self.parameters,
            candidate=lambda suffix, named: self.candidate(suffix, tuple(named.values())),
            game=self.settings,
            book=self.book,
            seed=values["seed"],
        )
        self.closing.check()

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

    @property
    def openings_used(self) -> int:
        """How many openings of its book the tune uses."""
        return self.iterations

    @property
    def tuned(self) -> bool:
        """Whether every iteration has been told."""
        return self._state.told >= self.iterations

    def _standing(self) -> Standing:
        """Return where the tune is, for the closing match: that is due when the tune
        is done and the control file wants one, or when it was asked for."""
        due = self._verifying or (self.closing.settings is not None and self.tuned)
        estimate = zip(self.parameters, self.tuner.estimate().tolist(), strict=True)
        values = {p.code: p.engine_value(value) for p, value in estimate}
        return Standing(self._state.told, values, self.openings_used, due)

    def verify(self, games: int | None = None) -> None:
        self._verifying = True
        self.closing.ask(games)

    @property
    def goal(self) -> str:
        return "closing match" if self._verifying else super().goal

    def prepare(self) -> None:
        self.book.load()
        self.closing.prepare()

    def warnings(self) -> list[str]:
        lines = self.closing.warnings(self._standing())
        if self._verifying:
            return lines
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
        if self._verifying:
            return self.closing.check_jobs(self._standing())
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
        jobs = [
            CheckJob(f"check-{code}-{name}", self.candidate("", values), self.settings)
            for name, values in samples.items()
        ]
        return jobs + self.closing.check_jobs(None)

    def place_of(self, code: str) -> SettingPath:
        made = self.values["make_candidate"] is not None and code == self.values["player"]
        return ("make_candidate",) if made else ("players", code)

    def next_job(self) -> GameJob | None:
        state = self._state
        if not self._verifying and state.next < 2 * self.iterations:
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
        standing = self._standing()
        game_of_match = self.closing.next_game(standing) if standing.due else None
        return None if game_of_match is None else self._give_out(*game_of_match)

    def _give_out(self, game_id: str, ticket: Ticket) -> GameJob:
        """Make a job, then count it: a function of the control file may fail,
        and then the game has not been given out."""
        job = self.make_job(game_id, 0, ticket)
        self._count(ticket)
        return job

    def resume(self, ticket: Ticket) -> bool:
        if "v" in ticket:
            return self.closing.resume(ticket, self._standing())
        self._count(ticket)
        return not self._verifying and bool(ticket["k"] <= self.iterations)

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        if "v" in ticket:
            first, second = self.closing.sides(ticket)
            return self._game_job(
                game_id,
                attempt,
                (first.player, second.player),
                self.settings,
                ticket,
                self.closing.opening(ticket),
                (first.values, second.values),
            )
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
            self.book.pick(ticket["k"] - 1),
            (sides[0][1], sides[1][1]),
        )

    def _sides(self, ticket: Ticket) -> list[tuple[str, Values]]:
        """Return (suffix of the code, parameter values) of both players of a game of
        the tune, the one who moves first first."""
        sides = [("+", tuple(ticket["p"])), ("-", tuple(ticket["m"]))]
        return sides[::-1] if ticket["g"] % 2 else sides

    def _named(self, values: Values) -> dict[str, Any]:
        return dict(zip(self._state.codes, values, strict=True))

    def describe(self, ticket: Ticket) -> Played:
        if "v" in ticket:
            return self.closing.describe(ticket)
        first, second = self._sides(ticket)
        name = self.values["player"]
        return Played(
            players=(f"{name}{first[0]}", f"{name}{second[0]}"),
            parameters=(self._named(first[1]), self._named(second[1])),
            opening=ticket.get("o", ""),
        )

    def matchup_infos(self) -> list[MatchupInfo]:
        return self.closing.infos(self._standing())

    def _count(self, ticket: Ticket) -> None:
        """Learn from a ticket which games have been given out; idempotent."""
        state = self._state
        if "v" in ticket:
            self.closing.count(ticket, self._standing())
            return
        number = 2 * (ticket["k"] - 1) + ticket["g"]
        # a game is issued or taken only while its iteration is under way
        state.open.setdefault(str(ticket["k"]), Iteration(ticket["p"], ticket["m"]))
        state.next = max(state.next, number + 1)

    def take(self, ticket: Ticket, result: GameResult) -> Verdict:
        if "v" in ticket:
            return self.closing.take(ticket, result, self._standing())
        state = self._state
        self._count(ticket)
        first_seat = ticket["g"] % 2
        name = self.values["player"]
        sides = (f"{name}+", f"{name}-")
        line = result_line(result, (sides[first_seat], sides[1 - first_seat]))
        void = result.outcome == "void"
        first = not any(state.results)
        state.void_in_a_row = state.void_in_a_row + 1 if void else 0
        halt = void_rule(state.void_in_a_row, first=first, what="the tune")
        if void:
            state.void += 1
            return Verdict(line, replay=True, halt=halt)
        points = result.points(first_seat)
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
        return Verdict(
            line,
            notes=(f"iteration {k}: W-L {iteration.result:+g}; {theta}",),
            # the closing match that begins now is of these values, whatever comes
            save=self.tuned,
        )

    def finished(self) -> bool:
        standing = self._standing()
        if standing.due:
            return self.closing.complete(standing)
        return self.tuned

    def state(self) -> dict[str, Any]:
        self._state.tuner = self.tuner.state()
        self._state.iterations = self.iterations
        self._state.matches = self.closing.state()
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
        self.closing.restore(restored.matches, self.openings_used)

    def progress(self) -> Progress:
        standing = self._standing()
        played, games = self.closing.progress(standing)
        if self._verifying:
            return Progress(played, games, phase="closing match")
        tune = sum(self._state.results)
        before = self.closing.completed - played
        if not standing.due:
            # what a match of the present values has come to is one of those before
            before, played = self.closing.completed, 0
            games = 0 if self.closing.settings is None else self.closing.settings.games
        return Progress(
            tune + before + played,
            2 * self.iterations + before + games,
            phase="closing match" if standing.due else "tuning",
        )

    def report(self) -> Report:
        blocks: list[Table | Text] = [self._parameter_table()]
        blocks += self.closing.blocks(self._standing())
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
        if self.closing.matches:
            summary["matchups"] = self.closing.summaries(self._standing())
        return summary
