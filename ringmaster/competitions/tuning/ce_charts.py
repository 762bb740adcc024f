"""Charts of a ce_tuner: the distribution of each parameter and the scores, by generation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from ringmaster.competitions.result_lines import is_number
from ringmaster.competitions.tournaments.matchup_charts import thinned
from ringmaster.competitions.tuning.ce_tuner import CeTuner
from ringmaster.competitions.tuning.chart_parts import (
    FEWEST_OF_RATE,
    measured,
    number,
    rate_text,
)
from ringmaster.model.jobs import Ticket
from ringmaster.model.report import Band, Chart, ChartGroup, Level, Series, Whiskers
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import Z95
from ringmaster.tuners.cross_entropy import Distribution, ranked

#: Most generations in a chart, and most dots of one generation's elite.
MOST_GENERATIONS, MOST_ELITE = 100, 4
#: Candidates that a distribution is computed from.
_USED = 20


class _Candidate(msgspec.Struct):
    sample: list[float]
    games: int = 0
    points: float = 0.0


class Generation(msgspec.Struct):
    """A generation: results of all candidates and of the elite, and values of the elite.

    distribution  None if it is not known
    """

    number: int
    games: int
    points: float
    elite_games: int
    elite_points: float
    elite: list[list[float]]
    distribution: Distribution | None


class CeCharts:
    """Sums the games of a tune by generation.

    games  recorded tickets and results, in order
    """

    def __init__(self, tune: CeTuner, games: Iterable[tuple[Ticket, GameResult]]) -> None:
        self._tune = tune
        self._codes = [p.code for p in tune.parameters]
        #: The number of the present generation.
        self._present = tune.generation
        self._open = 0
        self._candidates: dict[int, _Candidate] = {}
        self._generations: list[Generation] = []
        for ticket, result in games:
            self._add(ticket, result)
        self._close()

    def _add(self, ticket: Ticket, result: GameResult) -> None:
        """Add a game unless it is void."""
        generation = ticket["g"]
        if result.outcome == "void" or generation < self._open:
            return
        if generation > self._open:
            self._close()
            self._open = generation
        one = self._candidates.setdefault(ticket["c"], _Candidate(ticket["p"]))
        one.games += 1
        one.points += result.points(ticket["s"])

    def _close(self) -> None:
        """End a generation."""
        known = sorted(self._candidates.items())
        self._candidates = {}
        if not known:
            return
        ones = [one for _, one in known]
        # the elite of a generation in progress is not known
        complete = self._open < self._present
        best = [ones[i] for i in ranked([one.points for one in ones])[: self._tune.elite]]
        elite = best if complete else []
        self._generations.append(
            Generation(
                self._open,
                sum(one.games for one in ones),
                sum(one.points for one in ones),
                sum(one.games for one in elite),
                sum(one.points for one in elite),
                [one.sample for one in elite[:MOST_ELITE]],
                self._drawn_from([(c, one.sample) for c, one in known[:_USED]]),
            )
        )

    def _drawn_from(self, samples: Sequence[tuple[int, Sequence[float]]]) -> Distribution | None:
        """Return the distribution that candidates were drawn from: mean + deviation·z.

        z is known, so two samples give mean and deviation, whatever settings were edited since.
        """
        n = len(self._codes)
        standard = Distribution((0.0,) * n, (1.0,) * n)
        z = [standard.sample(self._tune.values["seed"], self._open, c) for c, _ in samples]
        means, variances = [], []
        for i in range(n):
            low = min(range(len(z)), key=lambda k: z[k][i])
            high = max(range(len(z)), key=lambda k: z[k][i])
            distance = z[high][i] - z[low][i]
            if distance <= 0:
                return None
            deviation = (samples[high][1][i] - samples[low][1][i]) / distance
            means.append(samples[low][1][i] - deviation * z[low][i])
            variances.append(deviation * deviation)
        return Distribution(tuple(means), tuple(variances))

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first result."""
        if not self._generations:
            return []
        self._generations = thinned(self._generations, MOST_GENERATIONS)
        distributions = [
            (g.number, g.distribution)
            for g in self._generations
            if g.distribution is not None and g.number < self._present
        ]
        distributions.append((self._present, self._tune.distribution))
        groups = []
        if len(distributions) > 1:
            charts = tuple(self._parameter(i, distributions) for i in range(len(self._codes)))
            text = (
                "The distribution that each generation's candidates are drawn from: its mean, and "
                "the band that has 95 % of them. Dots are the best of the elite."
            )
            groups.append(ChartGroup("Distribution by generation", charts, text, "distribution"))
        text = (
            "Points of all candidates with 95 % intervals. Those of the elite are too high: these "
            "games chose it."
        )
        generations = [g for g in self._generations if g.games >= FEWEST_OF_RATE]
        if generations:
            charts = (self._scores(generations),)
            groups.append(ChartGroup("Score by generation", charts, text, "generations"))
        return groups

    def _parameter(self, i: int, distributions: Sequence[tuple[int, Distribution]]) -> Chart:
        centres, band = [], []
        for generation, distribution in distributions:
            mean, spread = distribution.means[i], Z95 * math.sqrt(distribution.variances[i])
            centres.append((float(generation), mean))
            band.append((float(generation), mean - spread, mean + spread))
        elite = tuple((float(g.number), s[i]) for g in self._generations for s in g.elite)
        pieces = (
            Band("95 % of the candidates", tuple(band)),
            Series("elite", elite, "good", joined=False),
            Series("mean", tuple(centres)),
        )
        _, low, high = band[-1]
        note = f"now {number(centres[-1][1])} (95 %: {number(low)} to {number(high)})"
        label = "value"
        if self._tune.parameters[i].transform is not None:
            label = "value before its transform"
            played = self._tune.engine_values(self._tune.estimated())[self._codes[i]]
            if is_number(played):
                note += f", played as {number(played)}"
        return Chart(self._codes[i], pieces, "generation", label, note)

    def _scores(self, generations: Sequence[Generation]) -> Chart:
        marks, elite = [], []
        for g in generations:
            marks.append(measured(float(g.number), g.points, g.games))
            if g.elite_games:
                elite.append((float(g.number), 100 * g.elite_points / g.elite_games))
        last = generations[-1]
        note = f"generation {last.number}: {rate_text(last.points, last.games)}"
        pieces = (
            Level("even", 50.0),
            Series("elite", tuple(elite), "good", joined=False),
            Whiskers("all candidates (95 %)", tuple(marks)),
        )
        return Chart("Points", pieces, "generation", "points, %", note, (0.0, 100.0))
