"""ce_tuner: tune parameters by the cross-entropy method.

Each generation of candidates is drawn from a Gaussian distribution, which then moves
towards the most successful candidates.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.competition import Reaction
from ringmaster.competitions.result_lines import is_number
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tournaments.matchup_charts import thinned
from ringmaster.competitions.tuning.candidates import (
    CANDIDATE_COLUMNS,
    CANDIDATE_SETTINGS,
    PARAMETER_ARGUMENTS,
    GomillTune,
    candidate_seat,
)
from ringmaster.competitions.tuning.chart_parts import FEWEST_OF_RATE, measured, number, rate_text
from ringmaster.competitions.tuning.parameter_binding import CandidateParameter
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, check_unchanged
from ringmaster.competitions.tuning.player_tune import GameTuneState
from ringmaster.errors import StateRefused, counted
from ringmaster.model.jobs import Task, Ticket
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    Column,
    Level,
    Listing,
    Progress,
    Series,
    Table,
    Text,
    Whiskers,
)
from ringmaster.model.results import GameResult
from ringmaster.model.settings import CallOf, Context, Float, Function, Integer, ListOf, Setting
from ringmaster.stats.elo import Z95
from ringmaster.tuners.cross_entropy import MOST_SAMPLES, Distribution, elite_size, ranked

#: Distance of values that test the effect of options from the mean, in standard deviations.
CHANGED_DEVIATIONS = 2
#: Number of candidates on the live display.
SHOWN_LIVE = 10
#: Probes of transforms: range in standard deviations, steps a deviation, and number of
#: candidates of the present generation.
PROBED_DEVIATIONS, PROBED_STEPS, PROBED_CANDIDATES = 4, 8, 1000


class CeParameter(CandidateParameter, frozen=True, kw_only=True):
    initial_variance: float

    def canonical(self) -> dict[str, Any]:
        names = ("code", "format", "option", "initial_variance", "transform")
        return {**{name: getattr(self, name) for name in names}, "initial_mean": self.start}


def _build_parameter(values: dict[str, Any], context: Context) -> CeParameter:
    mean = values.pop("initial_mean")
    spread = CHANGED_DEVIATIONS * math.sqrt(values["initial_variance"])
    return CeParameter(start=mean, minimum=mean - spread, maximum=mean + spread, **values)


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
    _build_parameter,
    positional=("code",),
)


class State(GameTuneState, kw_only=True):
    """The state of the tuner; its lists are of the present generation's candidates.

    samples     number of candidates of a generation
    generation  from 0; at the end the number of generations
    """

    codes: list[str]
    samples: int
    distribution: Distribution
    generation: int = 0
    points: list[float] = msgspec.field(default_factory=list)
    games: list[int] = msgspec.field(default_factory=list)
    issued: list[int] = msgspec.field(default_factory=list)


class CeTuner(GomillTune):
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
        self._set_player(counted="games")
        self._state = State(
            codes=[p.code for p in self.parameters],
            samples=values["samples_per_generation"],
            distribution=Distribution(
                tuple(p.start for p in self.parameters),
                tuple(p.initial_variance for p in self.parameters),
            ),
        )
        self._begin_generation()

    def _probes(self, index: int) -> list[float]:
        mean, variance = self.distribution.means[index], self.distribution.variances[index]
        end = PROBED_DEVIATIONS * PROBED_STEPS
        steps = (step / PROBED_STEPS for step in range(-end, end + 1))
        probes = {mean + step * math.sqrt(variance) for step in steps}
        probes |= {sample[index] for sample in self._samples[:PROBED_CANDIDATES]}
        return sorted(probes)

    def estimated(self) -> ValuesByCode:
        return self._by_code(self.distribution.means)

    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self._by_code(ticket["p"])

    def _suffix(self, ticket: Ticket) -> str:
        return f":{self._code(ticket['g'], ticket['c'])}"

    def _game_number(self, ticket: Ticket) -> int:
        # the same for all candidates of a generation in a round
        return int(ticket["g"]) * MOST_SAMPLES + int(ticket["n"])

    @property
    def distribution(self) -> Distribution:
        return self._state.distribution

    @property
    def elite(self) -> int:
        return elite_size(self.values["elite_proportion"], self._state.samples)

    def _begin_generation(self) -> None:
        count = self._state.samples
        self._state.points = [0.0] * count
        self._state.games = [0] * count
        self._state.issued = [0] * count
        self._draw()

    def _draw(self) -> None:
        """Draw the generation's samples; transforms are called only when they play."""
        distribution, generation = self.distribution, self._state.generation
        self._samples = [
            distribution.sample(self.values["seed"], generation, i)
            for i in range(self._state.samples)
        ]

    def _code(self, generation: int, candidate: int) -> str:
        return f"g{generation}#{candidate}"

    def _warnings(self) -> list[str]:
        lines = super()._warnings()
        if self.elite == self._state.samples > 1:
            lines.append("every candidate is elite: the distribution will not move")
        return lines

    def _samples_to_check(self) -> Mapping[str, ValuesByCode]:
        present = {"mean": self.estimated()} if self._state.generation else {}
        first = self._by_code(self._samples[0])
        return {"start": self.start_values, **present, "first sample": first}

    # issuing

    def next_job(self) -> Task | None:
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
            "n": round_number,
            "p": list(self._samples[candidate]),
        }
        ticket["s"] = candidate_seat(self.values, self._game_number(ticket))
        return self._issue(f"{self._code(state.generation, candidate)}r{round_number}", ticket)

    def _register_of_tune(self, ticket: Ticket) -> bool:
        state = self._state
        if ticket["g"] != state.generation:
            return False
        candidate = ticket["c"]
        state.issued[candidate] = max(state.issued[candidate], ticket["n"] + 1)
        return state.generation < int(self.values["number_of_generations"])

    # results

    def _name(self, ticket: Ticket) -> str:
        return f"{self._code(ticket['g'], ticket['c'])} {self._shown(ticket['p'])}"

    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        state, candidate = self._state, ticket["c"]
        if ticket["g"] != state.generation:
            return Reaction(line)
        state.points[candidate] += result.points(ticket["s"])
        state.games[candidate] += 1
        if any(games < self.values["batch_size"] for games in state.games):
            return Reaction(line)
        return Reaction(line, notes=tuple(self._finish_generation()), save=True)

    def _engine_of(self, point: Sequence[float]) -> dict[str, Any]:
        return self.engine_values(self._by_code(point))

    def _shown(self, point: Sequence[float]) -> str:
        return self.formatted(self._engine_of(point))

    def _finish_generation(self) -> list[str]:
        """Move the distribution.  Return the generation's report for the history."""
        state = self._state
        order = ranked(state.points)
        notes = [f"generation {state.generation}", *self._distribution_lines()]
        for place, candidate in enumerate(order):
            mark = "*" if place < self.elite else " "
            notes.append(
                f"{self._code(state.generation, candidate)}{mark} "
                f"{self._shown(self._samples[candidate])} {state.points[candidate]:g}"
            )
        state.distribution = self.distribution.update(
            [self._samples[candidate] for candidate in order[: self.elite]],
            self.values["step_size"],
        )
        state.generation += 1
        self._begin_generation()
        return notes

    @property
    def is_tuned(self) -> bool:
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
        most = max(restored.issued, default=0)
        size = self.values["batch_size"]
        # a generation ends with the result of its last game
        if most > size or min(restored.games, default=0) >= size:
            raise StateRefused(
                f"a candidate of this generation has {counted(most, 'game')}; "
                "lower batch_size at the beginning of a generation, or use reset",
                ("batch_size",),
            )
        self._state = restored
        self._draw()

    # reports

    def _progress(self) -> Progress:
        state = self._state
        size = self.values["batch_size"] * state.samples
        left = max(0, self.values["number_of_generations"] - state.generation)
        total = self._games - sum(state.games) + left * size
        # the number of generations may have been lowered
        return Progress(self._games, max(total, self._games))

    def _work_done(self) -> str:
        generation, games = self._state.generation, counted(self._games, "game")
        if self.is_tuned:
            return f"{counted(generation, 'generation')}, {games}"
        return f"generation {generation + 1:,} of {self.values['number_of_generations']:,}, {games}"

    def _verdict(self) -> str:
        mean = self.brief(self.engine_values(self.estimated()))
        if self.is_tuned:
            return f"Tuned: {mean}, mean after {self._work_done()}; strength not measured"
        if not self._games:
            return f"no result yet: generation 1 of {self.values['number_of_generations']:,}"
        return f"Tuning: {self._work_done()}; mean so far: {mean}"

    def _gaussians(self) -> Iterator[tuple[str, float, float]]:
        """Yield each parameter's code with its mean and variance."""
        distribution = self.distribution
        return zip(self._state.codes, distribution.means, distribution.variances, strict=True)

    def _distribution_lines(self) -> list[str]:
        optimiser = " ".join(
            f"{code} {mean:.2f}~{var:.2f}" for code, mean, var in self._gaussians()
        )
        return [f"  {self._shown(self.distribution.means)}", f"  mean~variance: {optimiser}"]

    def _blocks(self, *, live: bool) -> list[Table | Text]:
        state = self._state
        wanted = self.values["number_of_generations"]
        if self.is_tuned:
            heading = f"final distribution, after {state.generation} generations:"
            return [Text((heading, *self._distribution_lines()))]
        heading = f"distribution for generation {state.generation} (of {wanted}, from 0):"
        blocks: list[Table | Text] = [Text((heading, *self._distribution_lines()))]
        listing = self._listing(SHOWN_LIVE if live else None)
        if listing.rows:
            more = sum(map(bool, state.games)) - len(listing.rows)
            title = f"candidates of generation {state.generation}"
            blocks.append(listing.table(title, [f"and {more} more"] if more else []))
        return blocks

    def _listing(self, limit: int | None = None) -> Listing:
        """Return the best candidates of the present generation that have played."""
        state, batch = self._state, self.values["batch_size"]
        columns = (
            *CANDIDATE_COLUMNS,
            Column("points", "wins", "{:g}".format),
            Column("games", "games", lambda games: f"{games}/{batch}"),
        )
        rows = []
        for c in [c for c in ranked(state.points) if state.games[c]][:limit]:
            code, engine = self._code(state.generation, c), self._engine_of(self._samples[c])
            rows.append(
                {**self.row(code, engine), "points": state.points[c], "games": state.games[c]}
            )
        return Listing(columns, tuple(rows))

    def _summary_of_tune(self) -> dict[str, Any]:
        state = self._state
        return {
            "generation": state.generation,
            "repeats": self.tally.repeats,
            "parameters": [
                {"code": code, "mean": mean, "variance": variance}
                for code, mean, variance in self._gaussians()
            ],
            "candidates": self._listing().data(),
        }

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        played = ((ticket, result) for ticket, result in history if result.outcome != "void")
        distributions: list[tuple[float, Distribution]] = []
        dots: list[tuple[float, Sequence[float]]] = []
        rates: list[tuple[float, float, int]] = []
        elite_rates: list[tuple[float, float]] = []
        for generation, results in groupby(played, key=lambda game: game[0]["g"]):
            samples: dict[int, Sequence[float]] = {}
            games: Counter[int] = Counter()
            points: defaultdict[int, float] = defaultdict(float)
            for ticket, result in results:
                candidate = ticket["c"]
                samples[candidate] = ticket["p"]
                games[candidate] += 1
                points[candidate] += result.points(ticket["s"])
            x, is_rated = float(generation), games.total() >= FEWEST_OF_RATE
            if is_rated:
                rates.append((x, sum(points.values()), games.total()))
            if generation == self._state.generation:
                # the elite of a generation in progress is not known
                continue
            known = sorted(samples)
            distribution = self._drawn_from(generation, {c: samples[c] for c in known[:_USED]})
            if distribution is not None:
                distributions.append((x, distribution))
            elite = [known[i] for i in ranked([points[c] for c in known])[: self.elite]]
            dots += [(x, samples[c]) for c in elite[:MOST_DOTS]]
            if is_rated:
                won, number_of_games = sum(points[c] for c in elite), sum(games[c] for c in elite)
                elite_rates.append((x, 100 * won / number_of_games))
        groups = []
        if distributions:
            distributions = thinned(distributions, MOST_GENERATIONS)
            distributions.append((float(self._state.generation), self.distribution))
            dots = thinned(dots, MOST_DOTS * MOST_GENERATIONS)
            charts = tuple(
                self._parameter_chart(i, distributions, dots) for i in range(len(self.parameters))
            )
            text = (
                "The distribution that each generation's candidates are drawn from: its mean, and "
                "the band that has 95 % of them. Dots are the best of the elite."
            )
            groups.append(ChartGroup("Distribution by generation", charts, text, "distribution"))
        if rates:
            text = (
                "Points of all candidates with 95 % intervals. Those of the elite are too high: "
                "these games chose it."
            )
            chart = _scores_chart(
                thinned(rates, MOST_GENERATIONS), thinned(elite_rates, MOST_GENERATIONS)
            )
            groups.append(ChartGroup("Score by generation", (chart,), text, "generations"))
        return groups

    def _drawn_from(
        self, generation: int, samples: Mapping[int, Sequence[float]]
    ) -> Distribution | None:
        """Return the distribution that candidates were drawn from: mean + deviation·z.

        z is known, so two samples give mean and deviation, whatever settings were edited since.
        """
        n = len(self.parameters)
        standard = Distribution((0.0,) * n, (1.0,) * n)
        z = {c: standard.sample(self.values["seed"], generation, c) for c in samples}
        means, variances = [], []
        for i in range(n):
            low, high = (end(z, key=lambda c: z[c][i]) for end in (min, max))
            distance = z[high][i] - z[low][i]
            if distance <= 0:
                return None
            deviation = (samples[high][i] - samples[low][i]) / distance
            means.append(samples[low][i] - deviation * z[low][i])
            variances.append(deviation * deviation)
        return Distribution(tuple(means), tuple(variances))

    def _parameter_chart(
        self,
        i: int,
        distributions: Sequence[tuple[float, Distribution]],
        elite: Sequence[tuple[float, Sequence[float]]],
    ) -> Chart:
        centres, band = [], []
        for generation, distribution in distributions:
            mean, spread = distribution.means[i], Z95 * math.sqrt(distribution.variances[i])
            centres.append((generation, mean))
            band.append((generation, mean - spread, mean + spread))
        pieces = (
            Band("95 % of the candidates", tuple(band)),
            Series("elite", tuple((x, sample[i]) for x, sample in elite), "good", joined=False),
            Series("mean", tuple(centres)),
        )
        parameter = self.parameters[i]
        _, low, high = band[-1]
        note = f"now {number(centres[-1][1])} (95 %: {number(low)} to {number(high)})"
        label = "value"
        if parameter.transform is not None:
            label = "value before its transform"
            played = self.engine_values(self.estimated())[parameter.code]
            if is_number(played):
                note += f", played as {number(played)}"
        return Chart(parameter.code, pieces, "generation", label, note)


# charts

#: Most generations in a chart, and most dots of one generation's elite.
MOST_GENERATIONS, MOST_DOTS = 100, 4
#: Candidates that a distribution is computed from.
_USED = 20


def _scores_chart(
    rates: Sequence[tuple[float, float, int]], elite: Sequence[tuple[float, float]]
) -> Chart:
    """Return a chart of points and games by generation, and of the elite's points in percent."""
    generation, points, games = rates[-1]
    note = f"generation {generation:.0f}: {rate_text(points, games)}"
    pieces = (
        Level("even", 50.0),
        Series("elite", tuple(elite), "good", joined=False),
        Whiskers("all candidates (95 %)", tuple(measured(*rate) for rate in rates)),
    )
    return Chart("Points", pieces, "generation", "points, %", note, (0.0, 100.0))
