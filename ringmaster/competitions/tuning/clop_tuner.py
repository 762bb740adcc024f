"""clop_tuner: tune parameters by confident local optimisation (`tuners/clop.py`).

Samples of the parameters play opponents.  A quadratic model of the results gives less weight
to regions that are confidently below average, and new samples come from the rest.  A draw is
half a win.  There is no self-play: strength is measured against fixed players, one of which
may be the tuned player itself with its own values.  A closing match may follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from ringmaster.competitions.competition import Reaction
from ringmaster.competitions.setting_types import changed, ending_setting, one_of, optional
from ringmaster.competitions.tuning.candidates import (
    CANDIDATE_SETTINGS,
    CandidateTune,
    candidate_seat,
)
from ringmaster.competitions.tuning.chart_parts import (
    FEWEST,
    FEWEST_OF_RATE,
    VALUE_LABEL,
    importance_chart,
    measured,
    number,
    on_axis,
    parameter_chart,
    results_charts,
    value_groups,
)
from ringmaster.competitions.tuning.closing_match import Standing
from ringmaster.competitions.tuning.closing_match_settings import VERIFY, VerifySettings
from ringmaster.competitions.tuning.opponents import (
    Opponents,
    opponents_data,
    results_text,
    uninformative,
)
from ringmaster.competitions.tuning.parameter_settings import (
    BOUNDS,
    ON_SCALE,
    PLAYED_BINDING,
    ValuesByCode,
    check_unchanged,
    checked_parameter,
    value_text,
)
from ringmaster.competitions.tuning.player_tune import GameTuneState
from ringmaster.competitions.verdicts import games_of
from ringmaster.errors import counted
from ringmaster.model.jobs import Task, Ticket
from ringmaster.model.parameters import TunedParameter, middle
from ringmaster.model.report import (
    LEFT,
    Band,
    Chart,
    ChartGroup,
    Column,
    HeatMap,
    Interval,
    Level,
    Listing,
    Piece,
    Progress,
    Series,
    Table,
    Text,
    Whiskers,
)
from ringmaster.model.results import GameResult
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    Float,
    Integer,
    ListOf,
    Maybe,
    Setting,
)
from ringmaster.tuners.clop import Axis, Clop, Finding
from ringmaster.tuners.space import Array


def _build_parameter(values: dict[str, Any], context: Context) -> TunedParameter:
    if values["start"] is None:
        low, high = values["min"], values["max"]
        values["start"] = middle(low, high, values["integer"], values["scale"] == "log")
    return checked_parameter(TunedParameter, values)


PARAMETER = CallOf(
    "Parameter",
    (
        *changed(
            BOUNDS,
            "start",
            type=Maybe(Float()),
            help="Value of the closing match's other side with ``against='start'``, and of a "
            "frozen parameter; by default the middle of the range.",
            default=None,
        ),
        ON_SCALE,
        *PLAYED_BINDING,
    ),
    _build_parameter,
    positional=("code", "min", "max"),
)

CLOP_SETTINGS: tuple[Setting, ...] = (
    *changed(
        changed(CANDIDATE_SETTINGS, "candidate_colour", default="alternating"),
        "opponent",
        type=Opponents(),
        help="Code of the candidates' opponent; or several codes, as a list or as a dictionary "
        "of code to weight, a factor of `replications`.",
    ),
    Setting(
        "parameters", ListOf(PARAMETER, minimum=1), "The parameters to tune.", change="refused"
    ),
    Setting(
        "replications",
        Integer(minimum=1, maximum=1000),
        "Games of each sample against each opponent; with an even number both colours play each "
        "opening.",
        1,
        change="refused",
    ),
    ending_setting("number_of_games", Integer(minimum=1, maximum=10**9), "Games of the tune"),
    Setting(
        "clop_H",
        Float(minimum=0.1, maximum=100),
        "H: a lower number concentrates the samples sooner, and may miss the optimum.",
        3.0,
    ),
    one_of(
        "correlations",
        ("all", "none"),
        "Whether the model has products of two parameters; none for many parameters that do not "
        "depend on each other.",
    ),
    optional("verify", VERIFY, "The closing match."),
    optional(
        "stop_on_error",
        Boolean(),
        "Gomill's, without effect: void games are played again.",
        change="report",
    ),
)


_PARAMETERS = (
    Column("code", "parameter", align=LEFT, live=True),
    Column("range", "range", live=True, in_data=False),
    Column("start", "start", "{:.6g}".format),
    Column("estimate_or_frozen", "estimate", live=True, in_data=False),
    Column("engine_value", "engine", value_text),
    Column("region", "region", in_data=False),
    Column("signal", "signal", lambda signal: "yes" if signal else "not yet", LEFT),
    *map(Column, ("estimate", "low", "high", "frozen")),
)


class State(GameTuneState, kw_only=True):
    codes: list[str]
    tuner: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Number of the next game.
    next: int = 0
    #: Number of the last sample issued, and its places.
    sample: tuple[int, list[int]] = (-1, [])


class ClopTuner(CandidateTune):
    """The `clop_tuner` competition type.

    tuned   the parameters that are not frozen, in the order of the tuner's axes
    tuner   learns from results
    """

    type_name: ClassVar[str] = "clop_tuner"
    _state: State
    table: ClassVar[tuple[Setting, ...]] = CLOP_SETTINGS

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        #: Games of each sample against each opponent.
        self._each = {code: n * values["replications"] for code, n in self._weights.items()}
        #: Opponent of each game of a sample, and the game's number against this opponent.
        self._plan = [(code, i) for code, games in self._each.items() for i in range(games)]
        self.tuned = tuple(p for p in self.parameters if not p.frozen)
        axes = [Axis(p.minimum, p.maximum, p.integer, p.scale == "log") for p in self.tuned]
        self.tuner = Clop(
            axes, seed=values["seed"], H=values["clop_H"], all_pairs=values["correlations"] == "all"
        )
        self._state = State(codes=[p.code for p in self.tuned])
        default_match = VerifySettings(1000, against=next(iter(self.opponents)))
        self._set_player("samples", default_match)

    # values and players

    def _by_code(self, values: Iterable[int | float]) -> ValuesByCode:
        """Return values of tuned parameters, and start values of frozen ones, by code."""
        return {**self.start_values, **{p.code: v for p, v in zip(self.tuned, values, strict=True)}}

    def estimated(self) -> ValuesByCode:
        estimate = self.tuner.estimate()
        if estimate is None:
            return self.start_values
        axes = self.tuner.axes
        return self._by_code(axis.round(v) for axis, v in zip(axes, estimate, strict=True))

    # the closing match

    @property
    def _samples(self) -> int:
        """Number of samples with all their games."""
        return len(self.tuner) // len(self._plan)

    @property
    def is_tuned(self) -> bool:
        return not self._wants(len(self.tuner))

    def _standing(self) -> Standing:
        openings = 0
        if self.values["verify"] is not None or self._verifying:
            games = max(self._state.next, self._limit or 0)
            openings = self._opening_of((games // len(self._plan) + 1) * max(self._each.values()))
        return Standing(self._samples, self.estimated() if self._due else {}, openings, self._due)

    # before the games

    def _notices(self) -> list[str]:
        lines = []
        if self.values["stop_on_error"] is not None:
            lines.append(
                "stop_on_error has no effect: a void game is played again, and a game without a "
                "result counts half a win"
            )
        return lines + super()._notices()

    def _samples_to_check(self) -> Mapping[str, ValuesByCode]:
        return {
            "start": self.start_values,
            "minimum": self._by_code(axis.round(axis.minimum) for axis in self.tuner.axes),
            "maximum": self._by_code(axis.round(axis.maximum) for axis in self.tuner.axes),
            "first sample": self._by_code(self.tuner.played(self.tuner.ask(0))),
        }

    # issuing games

    def next_job(self) -> Task | None:
        number = self._state.next
        if self._verifying or not self._wants(number):
            return self._match_game()
        sample = number // len(self._plan)
        places = self._state.sample[1]
        if self._state.sample[0] != sample:
            places = self.tuner.ask(sample)
        opponent, against = self._place(number)
        seat = candidate_seat(self.values, against)
        ticket: Ticket = {"n": number, "p": places, "s": seat, "r": opponent}
        return self._issue(str(number), ticket)

    def _place(self, number: int) -> tuple[str, int]:
        """Return the opponent of a game, and the game's number in all games against it."""
        sample, place = divmod(number, len(self._plan))
        opponent, against = self._plan[place]
        return opponent, sample * self._each[opponent] + against

    def _game_number(self, ticket: Ticket) -> int:
        return self._place(ticket["n"])[1]

    def _suffix(self, ticket: Ticket) -> str:
        return self._candidate.removeprefix(self._tuned_code)

    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self._by_code(self.tuner.played(ticket["p"]))

    def _register_of_tune(self, ticket: Ticket) -> bool:
        state, number = self._state, ticket["n"]
        state.next = max(state.next, number + 1)
        sample = number // len(self._plan)
        if sample > state.sample[0]:
            state.sample = sample, list(ticket["p"])
        return self._wants(number)

    # learning

    def _line(self, ticket: Ticket, result: GameResult) -> str:
        values = ", ".join(
            f"{p.code}={v}" for p, v in zip(self.tuned, self.tuner.played(ticket["p"]), strict=True)
        )
        return f"{super()._line(ticket, result)}; {values}"

    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        self.tuner.tell(ticket["p"], result.points(ticket["s"]))
        # a closing match that begins now is of these values
        return Reaction(line, save=self.is_tuned)

    # state

    def state(self) -> dict[str, Any]:
        self._state.tuner = self.tuner.state()
        return super().state()

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        check_unchanged(restored.codes, self._state.codes)
        self.tuner.restore(restored.tuner)
        self._state = restored
        self.closing.restore(restored.matches)

    # reports

    def _progress(self) -> Progress:
        limit = self._limit
        return self._progress_to(None if limit is None else max(limit, len(self.tuner)))

    def _work_done(self) -> str:
        games = games_of(len(self.tuner), self._limit)
        return f"{games}, {counted(self._samples, 'sample')}"

    def _blocks(self, *, live: bool) -> Sequence[Table | Text]:
        tallies = self._own_tallies()
        notes = [f"{results_text(tallies, code)} against {code}" for code in self.opponents]
        if live:
            tuned = tuple(row for row in self._rows() if not row["frozen"])
            return [Listing(_PARAMETERS, tuned).table(self._work_done(), notes, live=True)]
        if len(self.tuner):
            weight, share = self.tuner.local()
            notes.append(
                f"region: holds 95 % of the samples' weight; the candidates there got {share:.1%} "
                f"of about {counted(round(weight), 'game')},"
            )
            notes.append(
                "  a figure that is too high, since the region is where they won: see `verify`"
            )
        rows = self._rows()
        if any(row["signal"] is False for row in rows):
            notes.append("signal not yet: the results show no effect of the parameter so far")
        lines = tuple(uninformative(tallies))
        table = Listing(_PARAMETERS, rows).table(self._work_done(), notes)
        return [table, *([Text(lines)] if lines else [])]

    def _rows(self) -> tuple[dict[str, Any], ...]:
        findings = dict(zip(self._state.codes, self.tuner.findings(), strict=False))
        rows = []
        for index, p in enumerate(self.parameters):
            finding = findings.get(p.code)
            value = p.played_value(p.start) if finding is None else finding.estimate
            row: dict[str, Any] = {
                "code": p.code,
                "range": _interval(p.minimum, p.maximum),
                "start": p.start,
                "estimate": value,
                "estimate_or_frozen": "frozen" if p.frozen else None,
                "engine_value": self._delivered_value(index, value),
                "signal": None if p.frozen else finding is not None and finding.signal,
                "frozen": p.frozen,
            }
            if finding is not None:
                row["estimate_or_frozen"] = _estimate(value)
                row["low"], row["high"] = finding.low, finding.high
                row["region"] = _interval(finding.low, finding.high)
            rows.append(row)
        return tuple(rows)

    def _summary_of_tune(self) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "samples": self._samples,
            "repeats": sum(t.repeats for t in self._own_tallies()),
            "parameters": Listing(_PARAMETERS, self._rows()).data(),
            "opponents": opponents_data(self._state.tallies.values(), self._weights),
        }
        if len(self.tuner):
            weight, share = self.tuner.local()
            summary["local"] = {"games": weight, "share": share}
        return summary

    def _charts_of_tune(self) -> list[ChartGroup]:
        return _charts(self._state.codes, self.tuner, " and ".join(self.opponents))


def _estimate(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _interval(low: float, high: float) -> str:
    return f"{low:.6g} to {high:.6g}"


# charts

#: Groups of games in their course, and by value.
_WINDOWS, _GROUPS = 48, 12
#: Cells of a surface along an axis, and the least weight of a sample in a shown cell.
_CELLS, _LEAST_WEIGHT = 20, 0.05
#: Earlier estimates, and most work for them: games times squared coefficients (half a second).
_EARLIER, _WORK = 12, 1e7


def _charts(codes: Sequence[str], tuner: Clop, opponents: str) -> list[ChartGroup]:
    """Return the charts of the tuned parameters; none for a few games."""
    if len(tuner) < FEWEST_OF_RATE:
        return []
    findings = tuner.findings()
    x, y = tuner.games()
    estimates = _estimates(tuner, findings)
    courses = tuple(_course(i, code, tuner, x, estimates) for i, code in enumerate(codes))
    groups = [
        ChartGroup(
            "Values in the course of the games",
            courses,
            "The band has 95 % of the samples at that time. At the right: the estimate with the "
            "region that holds 95 % of the weight of all samples.",
            "trajectory",
        ),
        _samples(codes, tuner, findings, x, y),
    ]
    at = np.array(
        [axis.coordinate(f.estimate) for axis, f in zip(tuner.axes, findings, strict=True)]
    )
    if len(codes) > 1 and any(finding.signal for finding in findings):
        effects = tuner.effects(at)
        groups.append(_surface(codes, tuner, at, effects))
        order = np.argsort(-effects, kind="stable").tolist()
        groups.append(
            importance_chart(
                "Effect",
                {codes[i]: 100 * float(effects[i]) if findings[i].signal else None for i in order},
                "win rate, percentage points",
                "no signal yet",
                "How much the win rate changes over a parameter's range, the others at their "
                "estimates, by a fit to all games.",
            )
        )
    groups.append(results_charts(y.tolist(), "the samples", opponents))
    return [group for group in groups if group.charts]


def _estimates(tuner: Clop, findings: Sequence[Finding]) -> list[tuple[int, Sequence[float]]]:
    """Return (games, estimates) after some numbers of games, the present one last."""
    games, n = len(tuner), len(tuner.axes)
    work = games * ((n + 1) * (n + 2) / 2) ** 2
    earlier = min(_EARLIER, int(2 * _WORK / work))
    counts = sorted({games * k // earlier for k in range(1, earlier)})
    course: list[tuple[int, Sequence[float]]] = []
    for count in counts:
        if count >= FEWEST and (estimate := tuner.first(count).estimate()) is not None:
            course.append((count, estimate))
    return [*course, (games, [finding.estimate for finding in findings])]


def _course(
    i: int, code: str, tuner: Clop, x: Array, estimates: Sequence[tuple[int, Sequence[float]]]
) -> Chart:
    axis, finding, games = tuner.axes[i], tuner.findings()[i], len(x)
    band, middles = [], []
    first = 0
    for part in np.array_split(x[:, i], max(1, min(_WINDOWS, games // FEWEST))):
        middle = first + (len(part) + 1) / 2
        low, median, high = map(axis.exact, np.quantile(part, [0.025, 0.5, 0.975]).tolist())
        band.append((middle, low, high))
        middles.append((middle, median))
        first += len(part)
    line = tuple((float(count), values[i]) for count, values in estimates)
    pieces: list[Piece] = []
    if len(band) > 1:
        pieces.append(Band("95 % of the samples", tuple(band)))
        pieces.append(Series("median of the samples", tuple(middles), "aside"))
    pieces.append(Series("estimate so far", line, "estimate"))
    pieces.append(Interval("estimate and region", finding.estimate, finding.low, finding.high))
    note = (
        f"estimate {number(finding.estimate)}, region {number(finding.low)} to "
        f"{number(finding.high)}"
    )
    bounds = (axis.minimum, axis.maximum)
    return parameter_chart(code, pieces, note, bounds, signal=finding.signal)


def _samples(
    codes: Sequence[str], tuner: Clop, findings: Sequence[Finding], x: Array, y: Array
) -> ChartGroup:
    charts = []
    most = max(1, min(_GROUPS, len(y) // FEWEST))
    for i, (code, axis, finding) in enumerate(zip(codes, tuner.axes, findings, strict=True)):
        distinct, group = np.unique(x[:, i], return_inverse=True)
        if len(distinct) > 2 * _GROUPS:
            group = value_groups(x[:, i], np.ones(len(y)), most)
        games, points = np.bincount(group), np.bincount(group, y)
        middles = map(axis.exact, (np.bincount(group, x[:, i]) / games).tolist())
        marks = tuple(
            measured(on_axis(middle, log=axis.logarithmic), won, played)
            for middle, won, played in zip(middles, points.tolist(), games.tolist(), strict=True)
            if played >= FEWEST_OF_RATE
        )
        if len(marks) < 2:
            continue
        pieces: list[Piece] = [Level("even", 50.0), Whiskers("points (95 %)", marks)]
        if len(codes) == 1:
            grid = np.linspace(*axis.ends, 81)
            rates, weights = tuner.win_rates(grid[:, np.newaxis])
            shown = weights >= _LEAST_WEIGHT
            line = zip(grid[shown].tolist(), rates[shown].tolist(), strict=True)
            curve = tuple(
                (on_axis(axis.exact(p), log=axis.logarithmic), 100 * rate) for p, rate in line
            )
            pieces.append(Series("fitted model", curve, "average"))
        estimate = on_axis(finding.estimate, log=axis.logarithmic)
        pieces.append(Interval("estimate", estimate, along="x"))
        label = VALUE_LABEL[axis.logarithmic]
        charts.append(Chart(code, tuple(pieces), label, "points, %", "", (0.0, 100.0)))
    text = "Points of the samples by groups of values, with 95 % intervals."
    if len(codes) > 1:
        text += " The other parameters vary, so an effect looks smaller than it is."
    return ChartGroup("Results by value", tuple(charts), text, "samples")


def _cells(axis: Axis) -> tuple[Array, tuple[str, ...]]:
    """Return coordinates along an axis, and the names of their values."""
    if axis.integer and axis.maximum - axis.minimum < _CELLS:
        values = np.arange(axis.minimum, axis.maximum + 1).tolist()
        return np.array([axis.coordinate(value) for value in values]), tuple(map(number, values))
    low, high = axis.ends
    points = low + (np.arange(_CELLS) + 0.5) / _CELLS * (high - low)
    return points, tuple(number(axis.round(axis.exact(p))) for p in points.tolist())


def _surface(codes: Sequence[str], tuner: Clop, at: Array, effects: Array) -> ChartGroup:
    """Return the fitted win rate over the two parameters of most effect."""
    i, j = sorted(np.argsort(-effects, kind="stable")[:2].tolist())
    (columns, x_names), (rows, y_names) = _cells(tuner.axes[i]), _cells(tuner.axes[j])
    points = np.tile(at, (len(rows) * len(columns), 1))
    points[:, i] = np.tile(columns, len(rows))
    points[:, j] = np.repeat(rows, len(columns))
    rates, weights = tuner.win_rates(points)
    known = np.where(weights >= _LEAST_WEIGHT, 100 * rates, np.nan).reshape(len(rows), -1)
    cells = tuple(
        tuple(None if math.isnan(value) else value for value in row) for row in known.tolist()
    )
    note = "the other parameters at their estimates" if len(codes) > 2 else ""
    title = f"{codes[i]} and {codes[j]}"
    chart = HeatMap(title, x_names, y_names, cells, "% of the points", codes[i], codes[j], note)
    text = (
        "The win rate by the fitted model. Open cells are confidently below average and hardly "
        "played."
    )
    return ChartGroup("Fitted model", (chart,), text, "surface")
