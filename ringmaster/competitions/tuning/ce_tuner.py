"""ce_tuner: tune parameters by the cross-entropy method.

Each generation of candidates is drawn from a Gaussian distribution, which then moves
towards the most successful candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec

from ringmaster.competitions.competition import Played, Reaction, TunedOptions
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tuning.candidates import (
    CANDIDATE_SETTINGS,
    PARAMETER_ARGUMENTS,
    CandidateParameter,
    CandidateState,
    CandidateTuner,
    candidate_seat,
)
from ringmaster.competitions.tuning.parameter_settings import check_unchanged
from ringmaster.errors import SettingError, StateRefused, counted
from ringmaster.model.jobs import CheckJob, GameJob, Ticket
from ringmaster.model.players import Player
from ringmaster.model.report import RIGHT, Cell, ChartGroup, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import CallOf, Float, Function, Integer, ListOf, Setting
from ringmaster.tuners.cross_entropy import MOST_SAMPLES, Distribution, elite_size, ranked

#: Number of candidates on the live display.
SHOWN_LIVE = 10
#: Probes of transforms: range in standard deviations, steps a deviation, and number of
#: candidates of the present generation.
PROBED_DEVIATIONS, PROBED_STEPS, PROBED_CANDIDATES = 4, 8, 1000


class CeParameter(CandidateParameter, frozen=True, kw_only=True):
    """A Parameter(…) of a ce_tuner control file."""

    function_name: ClassVar[str] = "transform"

    initial_mean: float
    initial_variance: float
    transform: Callable[[float], Any] | None


PARAMETER = CallOf(
    "Parameter",
    (
        *PARAMETER_ARGUMENTS,
        Setting("initial_mean", Float(), "Mean of the first generation."),
        Setting("initial_variance", Float(minimum=0), "Variance of the first generation."),
        optional(
            "transform",
            Function("a function of a number"),
            "Function from an optimiser parameter to an engine parameter; by default none.",
            change="played",
        ),
    ),
    lambda values, context: CeParameter(**values),
    positional=("code",),
)


def _only_more(before: Any, now: Any) -> str:
    if isinstance(before, int) and isinstance(now, int) and now < before:
        return "candidates may have played more games; batch_size can only be raised"
    return ""


class State(CandidateState, kw_only=True):
    """The state of the tuner.

    samples     candidates of a generation
    means, variances  of the present generation's distribution
    generation  from 0; at the end the number of generations
    points, games  of the present generation's candidates
    issued      issued games by candidate
    """

    samples: int
    means: list[float]
    variances: list[float]
    generation: int = 0
    points: list[float] = msgspec.field(default_factory=list)
    games: list[int] = msgspec.field(default_factory=list)
    issued: list[int] = msgspec.field(default_factory=list)
    completed: int = 0


class CeTuner(CandidateTuner):
    """The `ce_tuner` competition type."""

    type_name: ClassVar[str] = "ce_tuner"
    _state: State
    parameters: tuple[CeParameter, ...]
    table: ClassVar[tuple[Setting, ...]] = (
        *CANDIDATE_SETTINGS,
        Setting("parameters", ListOf(PARAMETER, minimum=1), "The parameters.", change="refused"),
        Setting(
            "number_of_generations", Integer(minimum=1, maximum=10**9), "Number of generations."
        ),
        Setting(
            "samples_per_generation",
            Integer(minimum=1, maximum=MOST_SAMPLES),
            "Candidates of each generation.",
            change="refused",
        ),
        Setting(
            "batch_size",
            Integer(minimum=1, maximum=10**9),
            "Games of each candidate; may be raised between runs.",
            rule=_only_more,
            limits="It may be raised, not lowered.",
        ),
        Setting(
            "elite_proportion",
            Float(above=0, maximum=1),
            "Share of a generation in the elite; 0.01 to 0.1 is recommended.",
        ),
        Setting(
            "step_size",
            Float(above=0, maximum=1),
            "Step of the distribution towards the elite, as a share of the distance.",
        ),
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        #: The players of the present generation.
        self._players: dict[str, Player] = {}
        self._state = State(
            codes=[p.code for p in self.parameters],
            samples=values["samples_per_generation"],
            means=[p.initial_mean for p in self.parameters],
            variances=[p.initial_variance for p in self.parameters],
        )
        self._samples: list[tuple[float, ...]] = []
        self._begin_generation()
        means = self.engine_values(self._distribution.means)
        self._specimen = self.candidate("candidate", means)

    def _sample(self, index: int) -> float:
        return self.parameters[index].initial_mean

    def _probes(self, index: int) -> list[float]:
        mean, variance = self._state.means[index], self._state.variances[index]
        end = PROBED_DEVIATIONS * PROBED_STEPS
        steps = (step / PROBED_STEPS for step in range(-end, end + 1))
        probes = {mean + step * math.sqrt(variance) for step in steps}
        probes |= {sample[index] for sample in self._samples[:PROBED_CANDIDATES]}
        return sorted(probes)

    def _point(self, ticket: Ticket) -> Sequence[float]:
        return cast(Sequence[float], ticket["p"])

    @property
    def _distribution(self) -> Distribution:
        return Distribution(tuple(self._state.means), tuple(self._state.variances))

    def _begin_generation(self) -> None:
        count = self._state.samples
        self._state.points = [0.0] * count
        self._state.games = [0] * count
        self._state.issued = [0] * count
        self._draw()

    def _draw(self) -> None:
        """Draw the generation's samples; transforms are called only when they play."""
        distribution, generation = self._distribution, self._state.generation
        self._samples = [
            distribution.sample(self.values["seed"], generation, i)
            for i in range(self._state.samples)
        ]
        self._players.clear()

    def _code(self, generation: int, candidate: int) -> str:
        return f"g{generation}#{candidate}"

    def _warnings(self) -> list[str]:
        lines = super()._warnings()
        elite = elite_size(self.values["elite_proportion"], self._state.samples)
        if elite == self._state.samples > 1:
            lines.append("every candidate is elite: the distribution will not move")
        return lines

    @property
    def _most_games_of_candidate(self) -> int | None:
        games: int = self.values["batch_size"]
        return games

    def _check_jobs(self) -> list[CheckJob]:
        first = self.engine_values(self._samples[0])
        return self.candidate_checks([self.engine_values(self._distribution.means), first])

    def _tuned_options(self) -> TunedOptions | None:
        # two standard deviations to either side
        now = self._distribution
        spreads = [2 * math.sqrt(variance) for variance in now.variances]
        means = list(zip(now.means, spreads, strict=True))
        try:
            ends = [self.engine_values([m + sign * s for m, s in means]) for sign in (1, -1)]
        except SettingError:
            # a function may fail so far from the mean
            return None
        return self.options_between(self.engine_values(now.means), *ends)

    # issuing

    def next_job(self) -> GameJob | None:
        state = self._state
        if state.generation >= self.values["number_of_generations"]:
            return None
        # the candidate with the fewest issued games
        candidate = min(range(state.samples), key=state.issued.__getitem__)
        round_number = state.issued[candidate]
        if round_number >= self.values["batch_size"]:
            return None
        ticket: Ticket = {
            "g": state.generation,
            "c": candidate,
            "r": round_number,
            "p": list(self._samples[candidate]),
            "s": candidate_seat(
                self.values, self._number(state.generation, candidate, round_number)
            ),
        }
        job = self.make_job(f"{self._code(state.generation, candidate)}r{round_number}", 0, ticket)
        state.issued[candidate] += 1
        return job

    def _number(self, generation: int, candidate: int, round_number: int) -> int:
        """Return a game's number, which determines opening and colour.

        It is the same for all candidates of a generation in a round.
        """
        return generation * MOST_SAMPLES + round_number

    def resume(self, ticket: Ticket) -> bool:
        state = self._state
        if ticket["g"] != state.generation:
            return False
        candidate = ticket["c"]
        state.issued[candidate] = max(state.issued[candidate], ticket["r"] + 1)
        return state.generation < int(self.values["number_of_generations"])

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        generation, candidate, round_number = ticket["g"], ticket["c"], ticket["r"]
        values = self.engine_values(ticket["p"])
        code = self._code(generation, candidate)
        player = self._players.get(code)
        if player is None:
            player = self._players[code] = self.candidate(code, values)
        number = self._number(generation, candidate, round_number)
        return self.candidate_job(game_id, attempt, ticket, number, (player, values))

    def describe(self, ticket: Ticket) -> Played:
        code = self._code(ticket["g"], ticket["c"])
        return self.played(ticket, code, self.values_to_show(ticket["p"]))

    # results

    def record_result(self, ticket: Ticket, result: GameResult) -> Reaction:
        state = self._state
        candidate, seat = ticket["c"], ticket["s"]
        present = ticket["g"] == state.generation
        if present:
            state.issued[candidate] = max(state.issued[candidate], ticket["r"] + 1)
        code = self._code(ticket["g"], candidate)
        void_line, halt = self.count_game(result, seat, code)
        if result.outcome == "void":
            return Reaction(void_line, replay=True, halt=halt)
        state.completed += 1
        shown = f"{self._code(ticket['g'], candidate)} {self._shown(ticket['p'])}"
        line = self.outcome_line(result, seat, shown)
        if not present:
            return Reaction(line, halt=halt)
        state.points[candidate] += result.points(seat)
        state.games[candidate] += 1
        if any(games < self.values["batch_size"] for games in state.games):
            return Reaction(line, halt=halt)
        return Reaction(line, halt=halt, notes=tuple(self._finish_generation()), save=True)

    def _shown(self, sample: Any) -> str:
        return self.formatted(self.values_to_show(sample))

    def _finish_generation(self) -> list[str]:
        """Move the distribution.  Return the generation's report for the history."""
        state = self._state
        order = ranked(state.points)
        elite = order[: elite_size(self.values["elite_proportion"], state.samples)]
        notes = [f"generation {state.generation}", *self._distribution_lines()]
        chosen = set(elite)
        for candidate in order:
            mark = "*" if candidate in chosen else " "
            notes.append(
                f"{self._code(state.generation, candidate)}{mark} "
                f"{self._shown(self._samples[candidate])} {state.points[candidate]:g}"
            )
        distribution = self._distribution.update(
            [self._samples[candidate] for candidate in elite], self.values["step_size"]
        )
        state.means, state.variances = list(distribution.means), list(distribution.variances)
        state.generation += 1
        self._begin_generation()
        return notes

    def finished(self) -> bool:
        return self._state.generation >= int(self.values["number_of_generations"])

    # state

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        present = self._state
        check_unchanged(restored.codes, present.codes)
        if restored.samples != present.samples:
            raise StateRefused(
                f"generations have {restored.samples} candidates, not {present.samples}; "
                "put samples_per_generation back, or use reset",
                ("samples_per_generation",),
            )
        self._state = restored
        self._draw()

    # reports

    @property
    def _games(self) -> int:
        return self._state.completed

    def _progress(self) -> Progress:
        state = self._state
        size = self.values["batch_size"] * state.samples
        left = max(0, self.values["number_of_generations"] - state.generation)
        total = state.completed - sum(state.games) + left * size
        # the number of generations may have been lowered
        return Progress(state.completed, max(total, state.completed))

    def _verdict(self) -> str:
        state, wanted = self._state, self.values["number_of_generations"]
        games = counted(state.completed, "game")
        mean = self.brief(self.values_to_show(self._distribution.means))
        if self.finished():
            done = counted(state.generation, "generation")
            return f"Tuned: {mean}, mean after {done}, {games}; strength not measured"
        if not state.completed:
            return f"no result yet: generation 1 of {wanted:,}"
        place = f"generation {state.generation + 1:,} of {wanted:,}"
        return f"Tuning: {place}, {games}; mean so far: {mean}"

    def _full_report(self) -> Report:
        return Report((*self._blocks(None), self.conditions()))

    def _live_report(self) -> Report:
        return Report(tuple(self._blocks(SHOWN_LIVE)))

    def _distribution_lines(self) -> list[str]:
        means = self._distribution.means
        optimiser = " ".join(
            f"{p.code} {mean:.2f}~{variance:.2f}"
            for p, mean, variance in zip(
                self.parameters, self._state.means, self._state.variances, strict=True
            )
        )
        return [f"  {self._shown(means)}", f"  mean~variance: {optimiser}"]

    def _blocks(self, limit: int | None) -> list[Table | Text]:
        state = self._state
        wanted = self.values["number_of_generations"]
        if self.finished():
            heading = f"final distribution, after {state.generation} generations:"
            return [Text((heading, *self._distribution_lines()))]
        heading = f"distribution for generation {state.generation} (of {wanted}, from 0):"
        blocks: list[Table | Text] = [Text((heading, *self._distribution_lines()))]
        order = ranked(state.points)
        played = [c for c in order if state.games[c]]
        rows: list[tuple[Cell, ...]] = [
            (
                self._code(state.generation, c),
                self._shown(self._samples[c]),
                f"{state.points[c]:g}",
                f"{state.games[c]}/{self.values['batch_size']}",
            )
            for c in played[:limit]
        ]
        more = len(played) - len(rows)
        if rows:
            blocks.append(
                Table(
                    headers=("candidate", "parameters", "wins", "games"),
                    rows=tuple(rows),
                    title=f"candidates of generation {state.generation}",
                    notes=(f"and {more} more",) if more else (),
                    align=("left", "left", RIGHT, RIGHT),
                )
            )
        return blocks

    def _json_data(self) -> dict[str, Any]:
        state = self._state
        return {
            "generation": state.generation,
            "repeats": sum(t.repeats for t in state.tallies.values()),
            "parameters": [
                {"code": p.code, "mean": mean, "variance": variance}
                for p, mean, variance in zip(
                    self.parameters, state.means, state.variances, strict=True
                )
            ],
            "candidates": [
                {
                    "candidate": self._code(state.generation, c),
                    "parameters": self.named(self.values_to_show(self._samples[c])),
                    "games": state.games[c],
                    "points": state.points[c],
                }
                for c in range(state.samples)
                if state.games[c]
            ],
        }

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        from ringmaster.competitions.tuning.ce_charts import CeCharts

        charts = CeCharts(
            self._state.codes,
            self.values["seed"],
            elite_size(self.values["elite_proportion"], self._state.samples),
            (self._state.generation, self._distribution),
            [p.transform is not None for p in self.parameters],
            self.values_to_show(self._state.means),
        )
        for ticket, result in history:
            charts.record_result(ticket, result)
        return charts.charts()
