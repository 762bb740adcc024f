"""Charts of all games of a tournament: colours, openings, lengths, endings, resources, faults."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ringmaster.competitions.result_lines import sum_void_kinds
from ringmaster.competitions.tournaments.matchup import Tally
from ringmaster.errors import counted
from ringmaster.model.players import GameName
from ringmaster.model.report import Bars, BarSeries, ChartGroup, Compared, Comparison, Role
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import wilson

#: Most openings that are counted, and that are shown; the fewest games of a shown one.
MOST_OPENINGS, SHOWN_OPENINGS, FEWEST_GAMES = 5000, 20, 4
#: Most players with a score by colour, most bars of lengths and endings, most kinds of faults.
_COLOURED, _BINS, _ENDINGS, _KINDS = 15, 24, 14, 5

#: Numbers of players, draws and games without a result in counts of a game's outcome.
_FIRST, _SECOND, _DRAWN, _UNKNOWN = range(4)


class _Used:
    """Resources of one player: moves, seconds and bytes."""

    __slots__ = ("memory", "moves", "slowest", "thinking")

    def __init__(self) -> None:
        self.moves = 0.0
        self.thinking = 0.0
        self.slowest = 0.0
        self.memory = 0


class GameCharts:
    """Counts of all games, of a size that does not grow with their number.

    players  codes, as in tallies
    """

    def __init__(self, game: GameName, players: Sequence[str]) -> None:
        self._colours = ("White", "Black") if game == "chess" else ("Black", "White")
        self._players = tuple(players)
        #: By players in move order, outcome and ending.
        self._results: defaultdict[tuple[tuple[str, str], int, str], int] = defaultdict(int)
        #: By outcome, then by moves.
        self._lengths: list[Counter[int]] = [Counter() for _ in range(4)]
        #: By opening: the outcomes where the first player moved second, and where it moved first.
        self._openings: dict[str, list[int]] = {}
        self._used: defaultdict[str, _Used] = defaultdict(_Used)

    def record_result(self, codes: tuple[str, str], opening: str, result: GameResult) -> None:
        """Count a game that is not void.

        codes    players in move order
        opening  source of its start position, "" for the usual one
        """
        # this runs for every game
        outcome = result.outcome
        column = result.winner if outcome == "win" else _DRAWN if outcome == "draw" else _UNKNOWN
        assert column is not None
        plies = result.plies
        self._results[codes, column, result.reason] += 1
        self._lengths[column][plies] += 1
        if opening:
            counts = self._openings.get(opening)
            if counts is None and len(self._openings) < MOST_OPENINGS:
                counts = self._openings[opening] = [0] * 8
            if counts is not None:
                counts[column + 4 * (codes[0] == self._players[0])] += 1
        for code, usage in zip(codes, result.usage, strict=True):
            used = self._used[code]
            used.moves += plies / 2
            used.thinking += usage.thinking
            if usage.slowest > used.slowest:
                used.slowest = usage.slowest
            if usage.peak_memory is not None and usage.peak_memory > used.memory:
                used.memory = usage.peak_memory

    def charts(self, tallies: Iterable[Tally]) -> list[ChartGroup]:
        """Return the charts; `tallies` have the counts that need no history."""
        if not self._results:
            return []
        tallies = list(tallies)
        groups = (
            self._by_colour(),
            self._by_opening(),
            self._by_length(),
            self._by_ending(tallies),
            self._resources(tallies),
            _faults(self._players, tallies),
        )
        return [group for group in groups if group.charts]

    def _by_colour(self) -> ChartGroup:
        first, second = self._colours
        outcomes: dict[tuple[str, int], list[int]] = {}
        total = [0, 0, 0, 0]
        for (codes, column, _), count in self._results.items():
            total[column] += count
            for seat in (0, 1):
                outcomes.setdefault((codes[seat], seat), [0, 0, 0, 0])[column] += count
        rows = [_score(f"{first}, all games", total, _FIRST)]
        players = [p for p in self._players if (p, 0) in outcomes or (p, 1) in outcomes]
        for code in players if len(players) <= _COLOURED else ():
            for seat, colour in enumerate((first, second)):
                if (code, seat) in outcomes:
                    rows.append(_score(f"{code} as {colour}", outcomes[code, seat], seat))
        chart = Comparison("", _present(rows), "score, %", mark=50.0)
        return ChartGroup("Score by colour", (chart,) if chart.rows else (), _ERROR_BARS, "colours")

    def _by_opening(self) -> ChartGroup:
        enough = {
            opening: counts
            for opening, counts in self._openings.items()
            if sum(counts) >= FEWEST_GAMES
        }
        if len(enough) < 2:
            return ChartGroup("", ())
        note = f"openings with {FEWEST_GAMES} games or more"
        if len(enough) > SHOWN_OPENINGS:
            half = SHOWN_OPENINGS // 2
            note = f"the {half} highest and the {half} lowest scores of {len(enough):,} {note}"
        if len(self._openings) == MOST_OPENINGS:
            note += f", among the first {MOST_OPENINGS:,} played"
        both = {o: [c[i] + c[i + 4] for i in range(4)] for o, c in enough.items()}
        charts = [self._openings_chart(f"{self._colours[0]}'s score", both, note)]
        if len(self._players) == 2:
            # from the first player's view: its wins are the first mover's or the second's
            own = {
                o: [c[1] + c[4], c[0] + c[5], c[2] + c[6], c[3] + c[7]] for o, c in enough.items()
            }
            charts.append(self._openings_chart(f"{self._players[0]}'s score", own, note))
        text = f"{_ERROR_BARS}  The extremes of many openings are partly chance."
        return ChartGroup("Score by opening", tuple(charts), text, "openings")

    def _openings_chart(self, title: str, counts: Mapping[str, list[int]], note: str) -> Comparison:
        rows = _present([_score(opening, each, _FIRST) for opening, each in counts.items()])
        rows = tuple(sorted(rows, key=lambda row: -row.value))
        if len(rows) > SHOWN_OPENINGS:
            half = SHOWN_OPENINGS // 2
            rows = (*rows[:half], *rows[-half:])
        return Comparison(title, rows, "score, %", note, 50.0)

    def _by_length(self) -> ChartGroup:
        total = sum(self._lengths, Counter[int]())
        games, end = total.total(), 0
        # few long games need no bars of their own
        for plies in sorted(total):
            end = plies
            games -= total[plies]
            if games <= 0.005 * total.total():
                break
        width = next(
            w * 10**power for power in range(6) for w in (1, 2, 5) if end < _BINS * w * 10**power
        )
        bins = end // width + 1
        names = [
            str(i * width) if width == 1 else f"{i * width}-{(i + 1) * width - 1}"
            for i in range(bins)
        ]
        if max(total) >= bins * width:
            names[-1] = f"{(bins - 1) * width}+"
        series = []
        for name, role, column in self._outcomes():
            values = [0.0] * bins
            for plies, count in self._lengths[column].items():
                values[min(plies // width, bins - 1)] += count
            if any(values):
                series.append(BarSeries(name, tuple(values), role))
        bars = Bars("", tuple(names), tuple(series), "moves of both players", "games", stacked=True)
        return ChartGroup("Lengths of games", (bars,), key="lengths")

    def _outcomes(self) -> list[tuple[str, Role, int]]:
        first, second = self._colours
        return [
            (f"{first} won", "main", _FIRST),
            ("drawn", "neutral", _DRAWN),
            (f"{second} won", "average", _SECOND),
            ("no result", "aside", _UNKNOWN),
        ]

    def _by_ending(self, tallies: Sequence[Tally]) -> ChartGroup:
        counts: dict[str, list[int]] = {}
        two = len(self._players) == 2
        for (codes, column, reason), count in self._results.items():
            # by player where there are two, else by colour
            swapped = two and column < _DRAWN and codes[0] != self._players[0]
            name = reason or "other"
            counts.setdefault(name, [0, 0, 0, 0])[1 - column if swapped else column] += count
        names = sorted(counts, key=lambda name: (-sum(counts[name]), name))
        if len(names) > _ENDINGS:
            rest = [counts.pop(name) for name in names[_ENDINGS - 1 :]]
            names = [*names[: _ENDINGS - 1], "others"]
            counts["others"] = [sum(column) for column in zip(*rest, strict=True)]
        outcomes = self._outcomes()
        if two:
            first, second = (f"{code} won" for code in self._players)
            outcomes[0], outcomes[2] = (first, "main", _FIRST), (second, "average", _SECOND)
        endings = Bars(
            "Endings",
            tuple(names),
            tuple(
                BarSeries(title, tuple(float(counts[name][column]) for name in names), role)
                for title, role, column in outcomes
                if any(counts[name][column] for name in names)
            ),
            y_label="games",
            stacked=True,
        )
        return ChartGroup("Endings", (endings, self._by_player(tallies)), key="endings")

    def _by_player(self, tallies: Sequence[Tally]) -> Bars:
        """Return each player's wins, draws and losses, those by faults apart."""
        kinds = ("won", "won by a fault", "drawn", "no result", "lost by a fault", "lost")
        roles: tuple[Role, ...] = ("good", "main", "neutral", "aside", "average", "bad")
        totals = {code: dict.fromkeys(kinds, 0) for code in self._players}
        for tally in tallies:
            for player, code in enumerate(tally.players):
                total = totals[code]
                lost, won = tally.forfeits[player], tally.forfeits[1 - player]
                total["won"] += tally.total(player) - won
                total["won by a fault"] += won
                total["drawn"] += tally.total(2)
                total["no result"] += tally.total(3)
                total["lost by a fault"] += lost
                total["lost"] += tally.total(1 - player) - lost
        names = tuple(code for code in self._players if any(totals[code].values()))
        series = (
            BarSeries(kind, tuple(float(totals[code][kind]) for code in names), role)
            for kind, role in zip(kinds, roles, strict=True)
        )
        bars = tuple(s for s in series if any(s.values))
        return Bars("By player", names, bars, y_label="games", stacked=True)

    def _resources(self, tallies: Sequence[Tally]) -> ChartGroup:
        cpu: defaultdict[str, float] = defaultdict(float)
        timed: Counter[str] = Counter()
        for tally in tallies:
            for code, seconds, games in zip(tally.players, tally.cpu, tally.timed, strict=True):
                cpu[code] += seconds
                timed[code] += games
        codes = [code for code in self._players if code in self._used]
        used = [self._used[code] for code in codes]
        charts = [
            _seconds(
                "Thinking per move",
                codes,
                [u.thinking / u.moves if u.moves else None for u in used],
            ),
            _seconds("Slowest move", codes, [u.slowest or None for u in used]),
            _seconds(
                "CPU per game", codes, [cpu[c] / timed[c] if timed[c] else None for c in codes]
            ),
            _bars("Peak memory", codes, [u.memory / 1e6 or None for u in used], "MB"),
        ]
        known = tuple(chart for chart in charts if any(chart.series[0].values))
        return ChartGroup("Time and memory by player", known, key="time")


_ERROR_BARS = "Error bars are 95 % intervals (Wilson)."


def _score(name: str, outcomes: Sequence[int], player: int) -> Compared | None:
    """Return the score of a player (0, 1); None without a result."""
    known = sum(outcomes[:3])
    if not known:
        return None
    points = outcomes[player] + outcomes[_DRAWN] / 2
    low, high = wilson(points, known)
    rate = 100 * points / known
    return Compared(name, rate, 100 * low, 100 * high, f"{rate:.1f} % of {counted(known, 'game')}")


def _present(rows: Iterable[Compared | None]) -> tuple[Compared, ...]:
    return tuple(row for row in rows if row is not None)


def _bars(title: str, names: Sequence[str], values: Sequence[float | None], unit: str) -> Bars:
    return Bars(title, tuple(names), (BarSeries(title, tuple(values)),), y_label=unit)


def _seconds(title: str, names: Sequence[str], seconds: Sequence[float | None]) -> Bars:
    """Return bars in seconds, or in milliseconds if all are below one second."""
    if max((value or 0.0 for value in seconds), default=0.0) >= 1:
        return _bars(title, names, seconds, "s")
    return _bars(title, names, [None if s is None else 1000 * s for s in seconds], "ms")


def _faults(players: Sequence[str], tallies: Sequence[Tally]) -> ChartGroup:
    """Return lost and void games by the player at fault and the kind of the fault."""
    void = sum_void_kinds([tally.void_kinds for tally in tallies])
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tally in tallies:
        for code, kinds in zip(tally.players, tally.forfeit_kinds, strict=True):
            for kind, count in kinds.items():
                counts[f"lost: {kind}"][code] += count
    for code, kinds in void.items():
        for kind, count in kinds.items():
            counts[f"void: {kind}"][code or "no player at fault"] += count
    order = sorted(counts, key=lambda kind: (-counts[kind].total(), kind))
    if len(order) > _KINDS:
        rest = sum((counts.pop(kind) for kind in order[_KINDS - 1 :]), Counter[str]())
        order = [*order[: _KINDS - 1], "others"]
        counts["others"] = rest
    faulty = {code for kinds in counts.values() for code in kinds}
    names = [code for code in (*players, "no player at fault") if code in faulty]
    roles: tuple[Role, ...] = ("bad", "average", "main", "estimate", "neutral")
    series = tuple(
        BarSeries(kind, tuple(float(counts[kind][code]) for code in names), role)
        for kind, role in zip(order, roles, strict=False)
    )
    bars = Bars("", tuple(names), series, y_label="games", stacked=True)
    text = "Lost and void games by the player at fault."
    return ChartGroup("Faults", (bars,) if names else (), text, "faults")
