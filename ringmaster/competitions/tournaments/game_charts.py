"""Charts of a tournament, from one pass over its games.

This module counts colours, openings, lengths, endings, resources and faults; `matchup_charts` and
`standings` have charts of matchups and players.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from ringmaster.competitions.tally import Tally, lost_of, void_of
from ringmaster.errors import counted
from ringmaster.model.players import GameName
from ringmaster.model.report import Bars, BarSeries, ChartGroup, Compared, Comparison, Role
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.stats.elo import wilson

T = TypeVar("T")

#: Most openings that are counted, and that are shown; the fewest games of a shown one.
MOST_OPENINGS, SHOWN_OPENINGS, FEWEST_GAMES = 5000, 20, 4
#: Most players with a score by colour, most bars of lengths and endings, most kinds of faults.
_COLOURED, _BINS, _ENDINGS, _KINDS = 15, 24, 14, 5

#: Numbers of players, draws and games without a result in counts of a game's outcome.
_FIRST, _SECOND, _DRAWN, _UNKNOWN = range(4)


class _Used(msgspec.Struct):
    """Resources of one player: seconds and bytes, and the moves of its games."""

    plies: int = 0
    thinking: float = 0.0
    slowest: float = 0.0
    memory: int = 0

    def add(self, usage: EngineUsage, plies: int) -> None:
        self.plies += plies
        self.thinking += usage.thinking
        self.slowest = max(self.slowest, usage.slowest)
        self.memory = max(self.memory, usage.peak_memory or 0)


class GameCharts:
    """Counts of all games, of a size that does not grow with their number."""

    def __init__(self, game: GameName, players: Sequence[str]) -> None:
        self._colours = ("White", "Black") if game == "chess" else ("Black", "White")
        self.players = tuple(players)
        #: By players in move order, outcome and reason.
        self._endings: Counter[tuple[tuple[str, str], int, str]] = Counter()
        #: By outcome, then by moves.
        self.lengths: list[Counter[int]] = [Counter() for _ in range(4)]
        #: By opening: the outcomes where the first player moved second, and where it moved first.
        self.openings: dict[str, list[int]] = {}
        self.used: defaultdict[str, _Used] = defaultdict(_Used)

    def record_result(self, codes: tuple[str, str], opening: str, result: GameResult) -> None:
        """Count a game that is not void; the first of `codes` moved first."""
        # this runs for every game
        outcome = result.outcome
        column = result.winner if outcome == "win" else _DRAWN if outcome == "draw" else _UNKNOWN
        assert column is not None
        plies = result.plies
        self._endings[codes, column, result.reason] += 1
        self.lengths[column][plies] += 1
        counts = self.openings.get(opening)
        if counts is None and opening and len(self.openings) < MOST_OPENINGS:
            counts = self.openings[opening] = [0] * 8
        if counts is not None:
            counts[column + 4 * (codes[0] == self.players[0])] += 1
        first, second = result.usage
        self.used[codes[0]].add(first, plies)
        self.used[codes[1]].add(second, plies)

    def charts(self, tallies: Iterable[Tally]) -> list[ChartGroup]:
        """Return the charts; `tallies` have the counts that need no history."""
        if not any(self.lengths):
            return []
        tallies = list(tallies)
        groups = (
            self._by_colour(),
            self._by_opening(),
            self._by_length(),
            self._by_ending(),
            self._by_player(tallies),
            self._resources(tallies),
            _faults(self.players, tallies),
        )
        return [group for group in groups if group.charts]

    def _by_colour(self) -> ChartGroup:
        first, second = self._colours
        outcomes: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        total = [0, 0, 0, 0]
        for (codes, column, _), count in self._endings.items():
            total[column] += count
            for seat in (0, 1):
                outcomes[codes[seat], seat][column] += count
        named = [(f"{first}, all games", total, _FIRST)]
        players = {code for code, _ in outcomes}
        for code in self.players if len(players) <= _COLOURED else ():
            for seat, colour in enumerate((first, second)):
                named.append((f"{code} as {colour}", outcomes[code, seat], seat))
        chart = Comparison("", tuple(_scores(named)), "score, %", mark=50.0)
        return ChartGroup("Score by colour", (chart,) if chart.rows else (), _ERROR_BARS, "colours")

    def _by_opening(self) -> ChartGroup:
        played = self.openings.items()
        enough = {opening: counts for opening, counts in played if sum(counts) >= FEWEST_GAMES}
        if len(enough) < 2:
            return ChartGroup("", ())
        note = f"openings with {FEWEST_GAMES} games or more"
        if len(enough) > SHOWN_OPENINGS:
            half = SHOWN_OPENINGS // 2
            note = f"the {half} highest and the {half} lowest scores of {len(enough):,} {note}"
        if len(self.openings) == MOST_OPENINGS:
            note += f", among the first {MOST_OPENINGS:,} played"
        both = {o: [c[i] + c[i + 4] for i in range(4)] for o, c in enough.items()}
        charts = [self._openings_chart(f"{self._colours[0]}'s score", both, note)]
        if len(self.players) == 2:
            # from the first player's view: its wins are the first mover's or the second's
            own = {
                o: [c[1] + c[4], c[0] + c[5], c[2] + c[6], c[3] + c[7]] for o, c in enough.items()
            }
            charts.append(self._openings_chart(f"{self.players[0]}'s score", own, note))
        text = f"{_ERROR_BARS}  The extremes of many openings are partly chance."
        return ChartGroup("Score by opening", tuple(charts), text, "openings")

    def _openings_chart(self, title: str, counts: Mapping[str, list[int]], note: str) -> Comparison:
        scores = _scores((opening, each, _FIRST) for opening, each in counts.items())
        rows = sorted(scores, key=lambda row: -row.value)
        if len(rows) > SHOWN_OPENINGS:
            half = SHOWN_OPENINGS // 2
            rows = [*rows[:half], *rows[-half:]]
        return Comparison(title, tuple(rows), "score, %", note, 50.0)

    def _by_length(self) -> ChartGroup:
        total = sum(self.lengths, Counter[int]())
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
        games_by_outcome: dict[str, Counter[str]] = {}
        for column, title in _outcomes(*self._colours).items():
            by_bin = games_by_outcome[title] = Counter()
            for plies, count in self.lengths[column].items():
                by_bin[names[min(plies // width, bins - 1)]] += count
        bars = _stacked(names, games_by_outcome, _OUTCOME_ROLES, "moves of both players")
        return ChartGroup("Lengths of games", (bars,), key="lengths")

    def _by_ending(self) -> ChartGroup:
        counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
        # by player where there are two, else by colour
        two = len(self.players) == 2
        for (codes, column, reason), count in self._endings.items():
            swapped = two and column < _DRAWN and codes[0] != self.players[0]
            counts[reason or "other"][1 - column if swapped else column] += count
        frequent = _most_frequent(counts, _ENDINGS)
        first, second = self.players if two else self._colours
        series = {
            title: {reason: by_outcome[column] for reason, by_outcome in frequent.items()}
            for column, title in _outcomes(first, second).items()
        }
        bars = _stacked(tuple(frequent), series, _OUTCOME_ROLES)
        return ChartGroup("Endings", (bars,), key="endings")

    def _by_player(self, tallies: Sequence[Tally]) -> ChartGroup:
        """Return each player's wins, draws and losses, those by faults apart."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for tally in tallies:
            for player, code in enumerate(tally.players):
                lost, won = tally.forfeits[player], tally.forfeits[1 - player]
                counts["won"][code] += tally.total(player) - won
                counts["won by a fault"][code] += won
                counts["drawn"][code] += tally.total(2)
                counts["no result"][code] += tally.total(3)
                counts["lost by a fault"][code] += lost
                counts["lost"][code] += tally.total(1 - player) - lost
        roles: tuple[Role, ...] = ("good", "main", "neutral", "aside", "average", "bad")
        names = [c for c in self.players if any(by_player[c] for by_player in counts.values())]
        bars = _stacked(names, counts, roles)
        return ChartGroup("Results by player", (bars,) if names else (), key="players")

    def _resources(self, tallies: Sequence[Tally]) -> ChartGroup:
        cpu: defaultdict[str, float] = defaultdict(float)
        timed: Counter[str] = Counter()
        for tally in tallies:
            for code, seconds, games in zip(tally.players, tally.cpu, tally.timed, strict=True):
                cpu[code] += seconds
                timed[code] += games
        codes = [c for c in self.players if c in self.used and self.used[c].plies]
        used = [self.used[code] for code in codes]
        charts = [
            # half of a game's moves are a player's own
            _seconds("Thinking per move", codes, [2 * u.thinking / u.plies for u in used]),
            _seconds("Slowest move", codes, [u.slowest or None for u in used]),
            _seconds(
                "CPU per game", codes, [cpu[c] / timed[c] if timed[c] else None for c in codes]
            ),
            _bars("Peak memory", codes, [u.memory / 1e6 or None for u in used], "MB"),
        ]
        known = tuple(chart for chart in charts if any(chart.series[0].values))
        return ChartGroup("Time and memory by player", known, key="time")


_ERROR_BARS = "Error bars are 95 % intervals (Wilson)."


def _scores(named: Iterable[tuple[str, Sequence[int], int]]) -> Iterator[Compared]:
    """Yield scores, where there is a result.

    named  names, numbers of games by outcome, and the players (0, 1) whose scores they are
    """
    for name, outcomes, player in named:
        known = sum(outcomes[:3])
        if known:
            points = outcomes[player] + outcomes[_DRAWN] / 2
            low, high = wilson(points, known)
            rate = 100 * points / known
            text = f"{rate:.1f} % of {counted(known, 'game')}"
            yield Compared(name, rate, 100 * low, 100 * high, text)


def _bars(title: str, names: Sequence[str], values: Sequence[float | None], unit: str) -> Bars:
    return Bars(title, tuple(names), (BarSeries(title, tuple(values)),), y_label=unit)


def _seconds(title: str, names: Sequence[str], seconds: Sequence[float | None]) -> Bars:
    """Return bars in seconds, or in milliseconds if all are below one second."""
    if max((value or 0.0 for value in seconds), default=0.0) >= 1:
        return _bars(title, names, seconds, "s")
    return _bars(title, names, [None if s is None else 1000 * s for s in seconds], "ms")


def _faults(players: Sequence[str], tallies: Sequence[Tally]) -> ChartGroup:
    """Return lost and void games by the player at fault and the kind of the fault."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for fate, faults in (("lost", lost_of(tallies)), ("void", void_of(tallies))):
        for code, kinds in faults.items():
            for kind, count in kinds.items():
                counts[f"{fate}: {kind}"][code or "no player at fault"] += count
    frequent = _most_frequent(counts, _KINDS)
    faulty = {code for kinds in frequent.values() for code in kinds}
    names = [code for code in (*players, "no player at fault") if code in faulty]
    roles: tuple[Role, ...] = ("bad", "average", "main", "estimate", "neutral")
    bars = _stacked(names, frequent, roles)
    text = "Lost and void games by the player at fault."
    return ChartGroup("Faults", (bars,) if names else (), text, "faults")


#: Roles of the series of `_outcomes`.
_OUTCOME_ROLES: tuple[Role, ...] = ("main", "neutral", "average", "aside")


def _outcomes(first: str, second: str) -> dict[int, str]:
    """Return the titles of outcomes in the order of a chart's series."""
    won, lost = f"{first} won", f"{second} won"
    return {_FIRST: won, _DRAWN: "drawn", _SECOND: lost, _UNKNOWN: "no result"}


def _most_frequent(counts: Mapping[str, Counter[T]], most: int) -> dict[str, Counter[T]]:
    """Return counts by name, the largest sum first; the last of too many are "others"."""
    order = sorted(counts, key=lambda name: (-counts[name].total(), name))
    if len(order) <= most:
        return {name: counts[name] for name in order}
    rest = sum((counts[name] for name in order[most - 1 :]), Counter[T]())
    return {**{name: counts[name] for name in order[: most - 1]}, "others": rest}


def _stacked(
    names: Sequence[str],
    series: Mapping[str, Mapping[str, int]],
    roles: Iterable[Role],
    x_label: str = "",
) -> Bars:
    """Return numbers of games by name, those of several series with games above each other."""
    bars = tuple(
        BarSeries(title, tuple(float(games.get(name, 0)) for name in names), role)
        for (title, games), role in zip(series.items(), roles, strict=False)
        if any(games.values())
    )
    return Bars("", tuple(names), bars, x_label, "games", stacked=True)
