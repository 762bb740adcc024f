"""Charts of an mc_tuner: the best candidate in the course of the games, win rates and visits by
value, and the tree."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from ringmaster.competitions.result_lines import is_number
from ringmaster.competitions.tuning.chart_parts import (
    FEWEST_OF_RATE,
    cells_of,
    game_groups,
    measured,
    name_of,
    rate_text,
    results_charts,
    window_size,
)
from ringmaster.competitions.tuning.mc_tuner import McTuner, initial_of, points_of, share_of_best
from ringmaster.model.jobs import Ticket
from ringmaster.model.report import (
    AnyChart,
    Band,
    Bars,
    BarSeries,
    Chart,
    ChartGroup,
    HeatMap,
    Level,
    Series,
    Tree,
    TreeNode,
    Whiskers,
)
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import share_ends, share_interval
from ringmaster.tuners.space import Array
from ringmaster.tuners.ucb import Family, Path, Ucb

#: Most parameters whose pairs have heat maps.
MOST_PAIRED = 4
#: Shown children of a node, by depth.
BREADTHS = (10, 5, 3)


class McCharts:
    """The games of a tune as arrays, for charts.

    games  recorded tickets and results, in order
    """

    def __init__(self, tune: McTuner, games: Iterable[tuple[Ticket, GameResult]]) -> None:
        self._tune = tune
        tree = self._tree = tune.tree
        self._codes = [p.code for p in tune.parameters]
        self._numeric = [all(map(is_number, row)) for row in tune.samples]
        self._names = [list(dict.fromkeys(map(name_of, row))) for row in tune.samples]
        #: Number of games, the best path then, and points and games with its estimated rate.
        self._course: list[tuple[int, Path, tuple[float, float]]] = []
        replay = Ucb(
            tree.splits,
            exploration_coefficient=tree.exploration_coefficient,
            initial_visits=tree.initial_visits,
            initial_wins=tree.initial_wins,
            max_depth=tree.max_depth,
        )
        points, candidates = array("d"), array("q")
        window = window_size(tree.games)
        for ticket, result in games:
            path = tuple(ticket["p"])
            # a void game only expands the tree
            replay.grow(path, initial_of(ticket))
            if result.outcome != "void":
                points.append(points_of(ticket, result))
                candidates.append(path[0])
                replay.tell(path, points[-1], flying=False)
                if len(points) % window == 0:
                    self._course.append(_best(replay))
        self._points = np.array(points)
        places = np.unravel_index(np.array(candidates), tree.splits)
        groups = [cells_of(row) for row in tune.samples]
        #: By parameter: the names of its cells.
        self._cell_names = [names for names, _ in groups]
        #: By parameter: the cell of each game.
        self._cells = [
            np.array(cells)[place] for (_, cells), place in zip(groups, places, strict=True)
        ]

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first result."""
        if not len(self._points):
            return []
        before = [item for item in self._course if item[0] < self._tree.games]
        self._course = [*before, _best(self._tree)]
        several = 1 < len(self._codes) <= MOST_PAIRED
        rates, visits = self._pairs() if several else self._singles()
        intervals = "with 95 % intervals" + (" at the pointer" if several else "")
        groups = [
            self._over_time(),
            ChartGroup(
                "Win rate by value",
                rates,
                f"Points of the candidates, {intervals}; values with fewer than {FEWEST_OF_RATE} "
                "games are left out.",
                "rates",
            ),
            ChartGroup(
                "Games by value", visits, "The tuner plays most games where it wins most.", "visits"
            ),
            ChartGroup(
                "Values in the course of the games",
                self._shares(),
                "The share of the games with each value, by groups of games.",
                "trajectory",
            ),
            self._most_visited(),
            results_charts(self._points.tolist(), "all candidates", self._tune.opponent.code),
        ]
        return [group for group in groups if group.charts]

    # the best candidate

    def _over_time(self) -> ChartGroup:
        points = []
        for played, _, share in self._course:
            if share[1]:
                low, high = share_ends(*share)
                points.append((played, 100 * share[0] / share[1], 100 * low, 100 * high))
        charts: list[AnyChart] = []
        _, best, share = self._course[-1]
        if len(points) > 1:
            note = f"{share_interval(*share)}; {self._tune.text(best)}" if share[1] else ""
            pieces = (
                Band("95 % interval", tuple((x, low, high) for x, _, low, high in points)),
                Level("even", 50.0),
                Series("win rate", tuple((x, rate) for x, rate, _, _ in points)),
            )
            title = "Win rate of the best candidate"
            charts.append(Chart(title, pieces, "games", "points, %", note, (0.0, 100.0)))
            charts += [self._value_over_time(i) for i in range(len(self._codes))]
        return ChartGroup(
            "Best candidate so far",
            tuple(charts),
            "The candidate with most wins after each number of games.  Its games chose it, so its "
            "rate is estimated by the results of all candidates until then.",
            "best",
        )

    def _value_over_time(self, i: int) -> Chart:
        code, names = self._codes[i], self._names[i]
        points: list[tuple[float, float]] = []
        before: float | None = None
        for played, path, _ in self._course:
            value = self._tune.engine(path)[code]
            if not self._numeric[i]:
                if name_of(value) not in names:
                    names.append(name_of(value))
                value = names.index(name_of(value))
            elif not is_number(value):
                continue
            if before is not None and before != value:
                # a step, not a slope
                points.append((float(played), before))
            points.append((float(played), float(value)))
            before = float(value)
        shown = () if self._numeric[i] else tuple(names)
        now = name_of(self._tune.engine(self._course[-1][1])[code])
        series = Series("best so far", tuple(points), "estimate")
        return Chart(code, (series,), "games", "value", f"now {now}", y_names=shown)

    # by value

    def _sums(self, *axes: int) -> tuple[Array, Array]:
        """Return games and points by the cells of one or two parameters."""
        shape = tuple(len(self._cell_names[i]) for i in axes)
        cell = np.ravel_multi_index([self._cells[i] for i in axes], shape)
        sums = (np.bincount(cell, row, math.prod(shape)) for row in (None, self._points))
        games, points = (row.astype(np.float64).reshape(shape) for row in sums)
        return games, points

    def _pairs(self) -> tuple[tuple[AnyChart, ...], tuple[AnyChart, ...]]:
        """Return heat maps of win rates and of games for each pair of parameters."""
        rates, visits = [], []
        for i, j in combinations(range(len(self._codes)), 2):
            # rows are of y
            games, points = (sums.T.tolist() for sums in self._sums(i, j))
            cells = [list(zip(n, p, strict=True)) for n, p in zip(games, points, strict=True)]
            names = self._cell_names[i], self._cell_names[j]
            labels = self._codes[i], self._codes[j]
            title = f"{labels[0]} and {labels[1]}"
            rate = tuple(
                tuple(100 * p / n if n >= FEWEST_OF_RATE else None for n, p in row) for row in cells
            )
            texts = tuple(
                tuple(rate_text(p, int(n)) if n else "no games" for n, p in row) for row in cells
            )
            if any(value is not None for row in rate for value in row):
                rates.append(HeatMap(title, *names, rate, "% of the points", *labels, "", texts))
            visits.append(HeatMap(title, *names, tuple(map(tuple, games)), "games", *labels))
        return tuple(rates), tuple(visits)

    def _singles(self) -> tuple[tuple[AnyChart, ...], tuple[AnyChart, ...]]:
        """Return win rates and games by the values of each parameter."""
        rates, visits = [], []
        for i, code in enumerate(self._codes):
            games, points = (sums.tolist() for sums in self._sums(i))
            names = self._cell_names[i]
            marks = tuple(
                measured(float(x), p, n)
                for x, (n, p) in enumerate(zip(games, points, strict=True))
                if n >= FEWEST_OF_RATE
            )
            pieces = (Level("even", 50.0), Whiskers("points (95 %)", marks))
            if marks:
                rates.append(
                    Chart(code, pieces, "value", "points, %", "", (0.0, 100.0), x_names=names)
                )
            series = BarSeries("games", tuple(games))
            visits.append(Bars(code, names, (series,), "value", "games"))
        return tuple(rates), tuple(visits)

    def _shares(self) -> tuple[AnyChart, ...]:
        """Return heat maps of the played values by groups of games."""
        groups = game_groups(len(self._points))
        if len(groups) < 2:
            return ()
        names = tuple(f"to {end}" for _, end in groups)
        charts = []
        for code, values, cells in zip(self._codes, self._cell_names, self._cells, strict=True):
            shares = [
                100 * np.bincount(cells[first:end], minlength=len(values)) / (end - first)
                for first, end in groups
            ]
            rows = tuple(map(tuple, np.round(shares).T.tolist()))
            charts.append(HeatMap(code, names, values, rows, "% of the games", "games", "value"))
        return tuple(charts)

    # the tree

    def _most_visited(self) -> ChartGroup:
        tree = self._tree
        children = self._nodes(tree.root, (), tree.games)
        root = TreeNode("all candidates", rate_text(tree.points, tree.games), 1.0, children)
        tried = sum(1 for games in tree.root.games if games)
        note = f"{tried} of {tree.size} candidates tried"
        if tried > BREADTHS[0]:
            note += f", the first {BREADTHS[0]} are shown"
        chart = Tree("Most visited candidates", root, note)
        return ChartGroup("Tree", (chart,), "Shares are of the games of the node above.", "tree")

    def _nodes(self, family: Family, above: Path, games: int) -> tuple[TreeNode, ...]:
        """Return a family's most visited nodes with those below; the one above has `games`."""
        if len(above) == len(BREADTHS) or not games:
            return ()
        visited = [child for child, visits in enumerate(family.games) if visits]
        visited.sort(key=lambda child: (-family.games[child], child))
        nodes = []
        for child in visited[: BREADTHS[len(above)]]:
            path, visits = (*above, child), family.games[child]
            below = family.children.get(child)
            children = () if below is None else self._nodes(below, path, visits)
            text = rate_text(family.wins[child], visits)
            # with an edited max_depth a node may have more games than the one above has below it
            nodes.append(TreeNode(self._tune.text(path), text, min(1.0, visits / games), children))
        return tuple(nodes)


def _best(tree: Ucb) -> tuple[int, Path, tuple[float, float]]:
    node = tree.node(tree.best())
    share = share_of_best(tree, node) if node.games else (0.0, 0.0)
    return tree.games, node.path, share
