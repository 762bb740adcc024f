"""The trials of an optuna_tuner: their stored state, values, reports and charts.

The order of events is stored by two numbers of each trial: `after`, the number of trials that
had ended when it was proposed, and `place` among the ended ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.optuna_tuner.settings import SearchedParameter
from ringmaster.competitions.tally import Pairs
from ringmaster.competitions.tournaments.matchup_charts import thinned
from ringmaster.competitions.tuning.chart_parts import (
    VALUE_LABEL,
    cells_of,
    importance_chart,
    name_of,
    on_axis,
    rate_text,
)
from ringmaster.competitions.tuning.opponents import results_text, uninformative
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, value_text
from ringmaster.competitions.tuning.player_tune import GameTune, GameTuneState
from ringmaster.errors import counted
from ringmaster.model.report import (
    LEFT,
    Band,
    Chart,
    ChartGroup,
    Column,
    HeatMap,
    Interval,
    Listing,
    Piece,
    Series,
    Table,
    Text,
    Whiskers,
)
from ringmaster.stats.elo import Z95, elo_of_score, wilson
from ringmaster.tuners.search.optuna_study import Asked, SamplerName, Told
from ringmaster.tuners.search.space import Dimension, Space, Values
from ringmaster.tuners.search.surrogate import Surrogate


class Trial(msgspec.Struct, omit_defaults=True):
    """A candidate with its results.

    values    in the order of the parameters; None for one that does not exist
    after     trials that had ended when it was proposed
    sampler   None for the start values
    refused   candidates that the constraint refused before it
    reference score that the best trial was estimated to have when it was proposed, None without
              one
    issued    issued games
    pair      number of its latest pair in the tune
    pairs     its results by pairs
    place     its place in the order of ended trials, None before its end
    hopeless  whether it was ended early
    """

    values: list[int | float | None]
    after: int = 0
    sampler: SamplerName | None = None
    refused: int = 0
    reference: float | None = None
    issued: int = 0
    pair: int = 0
    pairs: Pairs = msgspec.field(default_factory=Pairs)
    place: int | None = None
    hopeless: bool = False

    @property
    def games(self) -> int:
        return self.pairs.games

    @property
    def score(self) -> float:
        """The mean score of complete pairs, ½ without one."""
        pairs = sum(self.pairs.counts)
        return sum(i * n for i, n in enumerate(self.pairs.counts)) / (4 * pairs) if pairs else 0.5

    def wants_game(self, games: int) -> bool:
        """Return whether to issue another game; a trial not ended early has `games`."""
        if self.hopeless or self.issued >= games:
            return self.issued % 2 == 1
        return self.place is None


class OptunaState(GameTuneState):
    """The state of a tune.

    codes    of the parameters
    trials   by number
    ended    number of ended trials
    pairs    number of pairs with an issued game
    """

    codes: list[str]
    trials: dict[int, Trial]
    ended: int = 0
    pairs: int = 0

    def in_order_of_end(self) -> list[tuple[int, Trial]]:
        ended = [(n, t) for n, t in self.trials.items() if t.place is not None]
        return sorted(ended, key=lambda item: item[1].place or 0)

    def surrogate(self, space: Space, count: int) -> Surrogate:
        """Return the estimates by the first ended trials.  Raises RingmasterError."""
        trials = [trial for _, trial in self.in_order_of_end()[:count]]
        return Surrogate(space, [t.values for t in trials], [t.pairs.counts for t in trials])

    def estimated(self, surrogate: Surrogate) -> list[tuple[int, Trial]]:
        """Return the trials that a surrogate estimates, in its order, with their numbers."""
        ended = self.in_order_of_end()
        return [ended[row] for row in surrogate.rows]

    def events(self) -> Iterable[Asked | Told]:
        ends = self.in_order_of_end()
        told = 0
        for number, trial in sorted(self.trials.items()):
            for ended, other in ends[told : trial.after]:
                yield Told(ended, other.score)
            told = max(told, trial.after)
            yield Asked(number, trial.values, trial.sampler, trial.refused)
        for ended, other in ends[told:]:
            yield Told(ended, other.score)


def reference_size(ended: int) -> int:
    """Return the number of first ended trials that references are based on.

    It keeps four binary digits: each trial up to 16 has an estimate of its own.
    """
    low_bits = max(ended.bit_length() - 4, 0)
    return ended >> low_bits << low_bits


# reports

#: Candidates in a report, and on the live display.
SHOWN, SHOWN_LIVE = 10, 5
#: Candidates whose values are shown.
SHOWN_VALUES = 3
#: Distance from 0 and 1 within which a score has no useful Elo.
_EXTREME = 0.05


def _name(number: int) -> str:
    return f"trial {number}" if number else "start"


_CANDIDATES = (
    Column("trial", "best candidates", _name, LEFT),
    Column("games", "games"),
    Column("score", "score", "{:.3f}".format),
    Column("estimate_with_error", "estimate (95 %)", in_data=False),
    *map(Column, ("parameters", "estimate", "error", "ended_early")),
)


class ReportedTrials(GameTune):
    """Values and reports of a tune; the base of OptunaTuner."""

    _state: OptunaState
    #: Estimates by the first ended trials.
    _by_first: Callable[[int], Surrogate]
    parameters: tuple[SearchedParameter, ...]
    space: Space

    @property
    def start_values(self) -> ValuesByCode:
        return self._by_code(self.space.start())

    def _by_code(self, values: Values) -> ValuesByCode:
        """Return played values by code, without parameters that do not exist."""
        return {
            p.code: p.played_value(value)
            for p, value in zip(self.parameters, values, strict=True)
            if value is not None
        }

    def shown_values(self, values: ValuesByCode) -> dict[str, Any]:
        return {p.code: p.shown(values[p.code]) for p in self.parameters if p.code in values}

    def _surrogate(self, *, latest: bool = True) -> Surrogate | None:
        """Return the estimates, None without an ended trial.

        latest  whether of all trials, or of the number that references are based on: an
                estimate of 1,000 trials takes half a second
        """
        ended = self._state.ended
        return self._by_first(ended if latest else reference_size(ended)) if ended else None

    # reports

    def _blocks(self, *, live: bool) -> list[Table | Text]:
        title = f"{self._work_done()}, sampler {self.values['sampler']}"
        notes = self._results()
        surrogate = self._surrogate(latest=not live)
        if surrogate is None:
            return [Text((title, *notes))]
        candidates = self._candidates(surrogate)
        shown = candidates[: SHOWN_LIVE if live else SHOWN]
        if len(candidates) > len(shown):
            notes.insert(0, f"and {len(candidates) - len(shown)} more")
        notes.append("estimate: score by all trials together; similar candidates support it")
        notes += self._gain_lines(surrogate, candidates)
        blocks: list[Table | Text] = [Listing(_CANDIDATES, shown).table(title, notes)]
        if not live:
            blocks.append(self._best_values(surrogate, candidates))
        return [*blocks, *(Text((line,)) for line in uninformative(self._own_tallies()))]

    def _summary_of_tune(self) -> dict[str, Any]:
        surrogate = self._surrogate()
        candidates = self._candidates(surrogate)
        return {
            "sampler": self.values["sampler"],
            "trials": {
                "ended": self._state.ended,
                **self._lost(),
                "planned": self.values["number_of_trials"],
            },
            "best": candidates[0]["trial"] if candidates else None,
            "gain": self._gain(surrogate, candidates),
            "parameters": self._parameter_rows(surrogate, candidates).data(),
            "candidates": Listing(_CANDIDATES, candidates).data(),
            "repeats": sum(tally.repeats for tally in self._own_tallies()),
        }

    def _charts_of_tune(self) -> list[ChartGroup]:
        state, surrogate = self._state, self._surrogate()
        ended = state.in_order_of_end()
        if surrogate is None or len(ended) < 2:
            return []
        number_of_best, best = state.estimated(surrogate)[surrogate.best]
        played = [trial for _, trial in ended if sum(trial.pairs.counts)]
        groups = [_best(self.space, state, surrogate, number_of_best)]
        charts = []
        for i, p in enumerate(self.parameters):
            if not p.frozen and (chart := _by_value(i, p, self.space.dimensions[i], played, best)):
                charts.append(chart)
        text = (
            "Score of the trials by groups of values. The 95 % intervals are of the games; the "
            "other parameters vary too."
        )
        groups.append(ChartGroup("Results by value", tuple(charts), text, "samples"))
        importance = surrogate.importance()
        if importance:
            order = sorted(importance, key=lambda code: -importance[code])
            if len(order) > 1:
                groups.append(_surface(self.parameters, played, order[:2]))
            unknown = [p.code for p in self.parameters if not p.frozen and p.code not in importance]
            groups.append(
                importance_chart(
                    "Importance",
                    {**{code: 100 * importance[code] for code in order}, **dict.fromkeys(unknown)},
                    "share of the variance, %",
                    "too few different values yet",
                    "The share of the estimated scores' variance that needs a parameter, alone or "
                    "with others, over the whole range.",
                )
            )
        return [group for group in groups if group.charts]

    def _candidates(self, surrogate: Surrogate | None) -> tuple[dict[str, Any], ...]:
        """Return the values of all columns for each estimated trial, the best first."""
        if surrogate is None:
            return ()
        rows, trials = [], self._state.estimated(surrogate)
        for row in surrogate.ranking:
            (number, trial), estimate = trials[row], surrogate.estimates[row]
            error = Z95 * estimate.deviation
            rows.append(
                {
                    "trial": number,
                    "games": trial.games,
                    "score": trial.score,
                    "estimate": estimate.score,
                    "error": error,
                    "estimate_with_error": f"{estimate.score:.3f} ± {error:.3f}",
                    "parameters": self.shown_values(self._by_code(trial.values)),
                    "ended_early": trial.hopeless,
                }
            )
        return tuple(rows)

    def _parameter_rows(
        self, surrogate: Surrogate | None, candidates: Sequence[dict[str, Any]]
    ) -> Listing:
        start = self.shown_values(self.start_values)
        best = candidates[0]["parameters"] if candidates else start
        shown = [row for row in candidates if row["trial"]][:SHOWN_VALUES]
        importance = {} if surrogate is None else surrogate.importance()
        rows = []
        for p in self.parameters:
            share, value = importance.get(p.code), best.get(p.code)
            scale = " log" if p.scale == "log" else ""
            bounds = f"{value_text(p.minimum)} to {value_text(p.maximum)}{scale}"
            known = "unknown" if importance else None
            rows.append(
                {
                    "code": p.code,
                    "start": start.get(p.code),
                    # on the tuner's scale, a choice is its index
                    "value": value if p.choices is None else p.choices.index(value),
                    "engine_value": value,
                    "exists": value is not None,
                    "importance": share,
                    "frozen": p.frozen,
                    "range": ", ".join(map(str, p.choices.choices)) if p.choices else bounds,
                    "share": "frozen" if p.frozen else known if share is None else f"{share:.0%}",
                    **{_name(row["trial"]): row["parameters"].get(p.code) for row in shown},
                }
            )
        columns = (
            Column("code", "parameter", align=LEFT),
            Column("start", "start", value_text),
            *(Column(n, n, value_text, in_data=False) for n in (_name(r["trial"]) for r in shown)),
            Column("range", "range", align=LEFT, in_data=False),
            Column("share", "importance", in_data=False),
            *map(Column, ("value", "engine_value", "exists", "importance", "frozen")),
        )
        return Listing(columns, tuple(rows))

    def _best_values(self, surrogate: Surrogate, candidates: Sequence[dict[str, Any]]) -> Table:
        listing = self._parameter_rows(surrogate, candidates)
        notes = []
        if any(p.only_if for p in self.parameters):
            notes.append("without a value: the candidate does not have the parameter")
        if any(row["importance"] is not None for row in listing.rows):
            notes.append("importance: share of the estimates' variance that needs the parameter")
        else:
            notes.append("importance: not known yet; the candidates may be equal")
        return listing.table("values of the best candidates", notes)

    def _gain(
        self, surrogate: Surrogate | None, candidates: Sequence[dict[str, Any]]
    ) -> dict[str, float] | None:
        """Return the best candidate's gain over the start values, None before those have ended."""
        if surrogate is None or all(row["trial"] for row in candidates):
            return None
        numbers = [number for number, _ in self._state.estimated(surrogate)]
        gain = surrogate.gain(surrogate.best, numbers.index(0))
        return {"score": gain.score, "error": Z95 * gain.deviation}

    def _gain_lines(self, surrogate: Surrogate, candidates: Sequence[dict[str, Any]]) -> list[str]:
        """Return a line on the best candidate's gain, with Elo where scores are not extreme."""
        best, gain = candidates[0]["trial"], self._gain(surrogate, candidates)
        if gain is None or best == 0:
            return []
        score, error = gain["score"], gain["error"]
        line = (
            f"gain of trial {best} over the start values: {score:+.3f} ± {error:.3f} a game (95 %)"
        )
        start = next(row["estimate"] for row in candidates if row["trial"] == 0)
        scores = [start + score + part * error for part in (0, -1, 1)]
        if all(_EXTREME < score < 1 - _EXTREME for score in (start, *scores)):
            elo, low, high = (elo_of_score(score) - elo_of_score(start) for score in scores)
            line += f", {elo:+.0f} Elo (95 %: {low:z.0f} to {high:z.0f})"
        return [line]

    def _lost(self) -> dict[str, int]:
        """Return the numbers of trials that ended early, and of refused candidates."""
        trials = self._state.trials.values()
        return {
            "ended_early": sum(t.hopeless for t in trials if t.place is not None),
            "refused": sum(t.refused for t in trials),
        }

    def _results(self) -> list[str]:
        against = " and ".join(self.opponents) or "the start values"
        tallies = self._state.tallies.values()
        lines = [f"{results_text(tallies)} of candidates against {against}"]
        if len(self.opponents) > 1:
            lines += [f"{results_text(tallies, code)} against {code}" for code in self.opponents]
        lost = self._lost()
        if lost["ended_early"]:
            lines.append(f"ended early as hopeless: {counted(lost['ended_early'], 'trial')}")
        if lost["refused"]:
            lines.append(f"refused by the constraint: {counted(lost['refused'], 'candidate')}")
        return lines


# charts

#: Points of the course of the best estimate; fewer of many trials, which take long.
_POINTS, _FEW_POINTS, _MANY_TRIALS = 16, 8, 400
#: Groups of values, and cells of a surface along an axis.
_GROUPS, _CELLS = 10, 8


def _best(space: Space, state: OptunaState, surrogate: Surrogate, best: int) -> ChartGroup:
    ended = state.in_order_of_end()
    trials = [(float(n), trial.score) for n, trial in ended if trial.games and not trial.hopeless]
    early = [(float(n), trial.score) for n, trial in ended if trial.hopeless]
    course = _course(space, state)
    band = tuple((x, low, high) for x, _, low, high in course)
    line = tuple((x, score) for x, score, _, _ in course)
    pieces: list[Piece] = [
        Band("95 % of the estimate", band, "estimate"),
        Series("best estimate so far", line, "estimate"),
    ]
    for name, points, role in (("trial", trials, "main"), ("ended early", early, "aside")):
        if points:
            shown = tuple(thinned(sorted(points)))
            pieces.append(Series(name, shown, role, joined=False))  # type: ignore[arg-type]
    estimate = surrogate.estimates[surrogate.best]
    name = "the start values" if best == 0 else f"trial {best}"
    note = f"best: {name}, {estimate.score:.3f} ± {Z95 * estimate.deviation:.3f} (95 %)"
    chart = Chart("Scores", tuple(pieces), "trial", "score, points a game", note)
    text = (
        "Dots are the trials' own scores. An estimate uses all trials together, and draws lucky "
        "ones back to trials with similar values."
    )
    return ChartGroup("Best candidate so far", (chart,), text, "best")


def _course(space: Space, state: OptunaState) -> list[tuple[float, float, float, float]]:
    """Return the best estimate with its 95 % interval after some numbers of trials."""
    course = []
    points = _POINTS if state.ended <= _MANY_TRIALS else _FEW_POINTS
    step = max(1, math.ceil(state.ended / points))
    for count in range(state.ended, 0, -step):
        surrogate = state.surrogate(space, count)
        estimate = surrogate.estimates[surrogate.best]
        error = Z95 * estimate.deviation
        score = estimate.score
        course.append((float(count - 1), score, max(score - error, 0.0), min(score + error, 1.0)))
    return course[::-1]


def _totals(trials: Sequence[Trial]) -> tuple[float, int]:
    """Return points and games in complete pairs."""
    counts = [sum(column) for column in zip(*(t.pairs.counts for t in trials), strict=True)]
    return sum(i * n for i, n in enumerate(counts)) / 2, 2 * sum(counts)


def _by_value(
    i: int, p: SearchedParameter, d: Dimension, trials: Sequence[Trial], best: Trial
) -> Chart | None:
    """Return the scores of groups of neighbouring values, None without two of them."""
    names, cells = _cells(i, p, trials, _GROUPS)
    marks = []
    for cell in range(len(names)):
        part = [(v, t) for t in trials if (v := t.values[i]) is not None and cells[v] == cell]
        points, games = _totals([trial for _, trial in part])
        low, high = wilson(points, games)
        middle = sum(on_axis(value, log=d.log) for value, _ in part) / len(part)
        marks.append((middle, points / games, low, high))
    if len(marks) < 2:
        return None
    pieces: list[Piece] = [Whiskers("trials (95 %)", tuple(marks))]
    value = best.values[i]
    note = "the best candidate does not have it"
    if value is not None:
        pieces.append(Interval("best candidate", on_axis(value, log=d.log), along="x"))
        note = f"best candidate: {name_of(p.shown(p.played_value(value)))}"
    names = () if p.choices is None else tuple(map(str, p.choices.choices))
    bounds = (0.0, 1.0)
    return Chart(
        p.code, tuple(pieces), VALUE_LABEL[d.log], "score, points a game", note, bounds, names
    )


def _cells(
    i: int, p: SearchedParameter, trials: Sequence[Trial], most: int
) -> tuple[tuple[str, ...], dict[int | float | None, int]]:
    """Return the names of groups of a parameter's values, and the group of each value."""
    values = sorted({value for t in trials if (value := t.values[i]) is not None})
    shown = [p.shown(p.played_value(value)) for value in values]
    names, cells = cells_of(shown, most if p.choices is None else len(values))
    return names, dict(zip(values, cells, strict=True))


def _surface(
    parameters: Sequence[SearchedParameter], trials: Sequence[Trial], codes: Sequence[str]
) -> ChartGroup:
    axes = sorted(i for i, p in enumerate(parameters) if p.code in codes)
    (columns, column_of), (rows, row_of) = (_cells(i, parameters[i], trials, _CELLS) for i in axes)
    members: dict[tuple[int | None, int | None], list[Trial]] = {}
    for trial in trials:
        x, y = (trial.values[i] for i in axes)
        members.setdefault((column_of.get(x), row_of.get(y)), []).append(trial)
    totals = [
        [_totals(members[x, y]) if (x, y) in members else None for x in range(len(columns))]
        for y in range(len(rows))
    ]
    values = tuple(tuple(total and total[0] / total[1] for total in row) for row in totals)
    texts = tuple(
        tuple(rate_text(*total) if total else "no trial" for total in row) for row in totals
    )
    labels = [parameters[i].code for i in axes]
    title = f"{labels[0]} and {labels[1]}"
    label = "score, points a game"
    chart = HeatMap(title, columns, rows, values, label, labels[0], labels[1], "", texts)
    text = "Mean score of the trials over the two most important parameters; open: no trial."
    return ChartGroup("Scores over two parameters", (chart,), text, "surface")
