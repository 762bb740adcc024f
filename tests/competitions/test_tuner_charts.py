"""Numbers in charts of tuners against opponents, for scripted results."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.tuning.chart_parts import rate_text, results_charts, value_groups
from ringmaster.model.jobs import GameJob
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    HeatMap,
    Interval,
    Series,
    Tree,
    TreeNode,
    Whiskers,
)
from ringmaster.stats.elo import wilson
from tests.competitions.settings_of import AGAINST_OPPONENT, call, make, uci, void
from tests.competitions.settings_of import candidate_result as result

Wins = Callable[[GameJob], bool]
History = list[tuple[Any, Any]]


def play(tune: Any, games: int, wins: Wins) -> History:
    """Play games; `wins` returns whether the candidate wins a job."""
    history: History = []
    while len(history) < games and (job := tune.next_job()) is not None:
        one = result(job, wins(job))
        tune.record_result(job.ticket, one)
        history.append((job.ticket, one))
    return history


def own(job: GameJob) -> dict[str, Any]:
    """Return the candidate's values."""
    values: dict[str, Any] = job.parameters[job.ticket["s"]]
    return values


def group(groups: list[ChartGroup], key: str) -> Any:
    (selected,) = [group for group in groups if group.key == key]
    return selected


def piece(chart: Any, kind: type) -> Any:
    (selected,) = [piece for piece in chart.pieces if isinstance(piece, kind)]
    return selected


def by_name(chart: Any, name: str) -> Any:
    (selected,) = [piece for piece in chart.pieces if piece.name == name]
    return selected


# parts


def test_results_are_shown_in_groups_with_their_intervals() -> None:
    points = [float(i >= 99) for i in range(198)]
    (chart,) = results_charts(points, "candidates", "rival").charts
    assert isinstance(chart, Chart)
    marks = piece(chart, Whiskers).points
    assert len(marks) == 12
    first, last = marks[0], marks[-1]
    low, high = wilson(0, 16)
    assert first == (8.5, 0.0, 100 * low, 100 * high)
    # the last six games belong to the group before
    assert last == pytest.approx((187.5, 100.0, 100 * wilson(22, 22)[0], 100.0))
    assert chart.note == f"50.0 % of 198 games (95 %: {100 * wilson(99, 198)[0]:.1f} to 56.9 %)"


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0.01, 10)), min_size=1), st.integers(1, 12))
def test_neighbouring_values_are_grouped_until_each_group_has_its_share(
    points: list[tuple[int, float]], most: int
) -> None:
    values, weights = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    groups = value_groups(values, weights, most)
    sums = np.bincount(groups, weights)
    assert 1 <= len(sums) <= most
    assert sums.min() >= weights.sum() / most * (1 - 1e-6)
    order = np.argsort(values, kind="stable")
    assert (np.diff(groups[order]) >= 0).all()
    assert len({(value, group) for value, group in zip(values, groups, strict=True)}) == len(
        set(values.tolist())
    )


# mc_tuner


def mc(*parameters: Any, **changed: Any) -> Any:
    usual = {
        **AGAINST_OPPONENT,
        "parameters": list(parameters),
        "exploration_coefficient": 0.45,
        "initial_visits": 10,
        "initial_wins": 5,
    }
    return make("mc_tuner", **{**usual, **changed})


X = call("Parameter", "x", scale=call("LINEAR", 0.0, 8.0), split=4)
STYLE = call("Parameter", "style", scale=call("EXPLICIT", ["wild", "calm"]), split=2)


def wild(job: GameJob) -> bool:
    return bool(own(job)["style"] == "wild" and own(job)["x"] == 5.0)


@pytest.mark.parametrize("kind", ["mc_tuner", "ce_tuner", "clop_tuner"])
def test_tune_without_a_counted_game_has_nothing_to_draw(kind: str) -> None:
    tune = {"mc_tuner": lambda: mc(X), "ce_tuner": ce, "clop_tuner": clop}[kind]()
    assert tune.charts([]) == []
    job = tune.next_job()
    tune.record_result(job.ticket, void(job))
    assert tune.charts([(job.ticket, void(job))]) == []


def test_heat_maps_have_the_games_and_rates_of_the_tree() -> None:
    tune = mc(X, STYLE)
    history = play(tune, 300, wild)
    groups = tune.charts(iter(history))
    assert [g.key for g in groups] == ["best", "rates", "visits", "trajectory", "tree", "results"]
    (visits,), (rates,) = group(groups, "visits").charts, group(groups, "rates").charts
    assert isinstance(visits, HeatMap)
    assert (visits.x_names, visits.y_names) == (("1", "3", "5", "7"), ("wild", "calm"))
    assert (visits.x_label, visits.y_label, visits.value_label) == ("x", "style", "games")
    for x, place in enumerate((1.0, 3.0, 5.0, 7.0)):
        for y, style in enumerate(("wild", "calm")):
            played = [
                (t, r)
                for t, r in history
                if tune.describe(t).parameters[t["s"]] == {"x": place, "style": style}
            ]
            assert visits.values[y][x] == len(played)
            won = sum(r.points(t["s"]) for t, r in played)
            rate = 100 * won / len(played) if len(played) >= 4 else None
            assert rates.values[y][x] == rate
            assert rates.texts[y][x] == rate_text(won, len(played))
    assert sum(map(sum, visits.values)) == 300
    assert max(map(max, visits.values)) == visits.values[0][2]


def test_best_candidate_over_time_ends_with_the_tuners_own() -> None:
    tune = mc(X, STYLE)
    groups = tune.charts(play(tune, 300, wild))
    rate, x, style = group(groups, "best").charts
    best = tune.summary().data()["best"]
    assert by_name(rate, "win rate").points[-1] == (300.0, 100 * best["estimated_rate"])
    low, high = best["interval"]
    assert piece(rate, Band).points[-1] == (300.0, 100 * low, 100 * high)
    assert piece(x, Series).points[-1] == (300.0, 5.0)
    assert style.y_names == ("wild", "calm")
    assert piece(style, Series).points[-1] == (300.0, 0.0)
    assert style.note == "now wild"


def test_shares_of_the_values_fill_each_group_of_games() -> None:
    tune = mc(X, STYLE)
    x, style = group(tune.charts(play(tune, 320, wild)), "trajectory").charts
    assert x.x_names == tuple(f"to {16 * k}" for k in range(1, 21))
    assert style.y_names == ("wild", "calm")
    for chart in (x, style):
        for column in zip(*chart.values, strict=True):
            assert 95 < sum(column) < 105
            assert all(share == round(share) for share in column)
    # the winning value comes to be played most
    assert style.values[0][-1] > 80


def test_deep_tree_is_bounded_and_its_replay_agrees_with_the_tuner() -> None:
    tune = mc(X, STYLE, max_depth=3, initial_visits=2, initial_wins=1)
    random_ = random.Random(1)
    history = play(tune, 600, lambda job: random_.random() < 0.9 - abs(own(job)["x"] - 5) / 8)
    charts = tune.charts(history)
    tree = group(charts, "tree").charts[0]
    assert isinstance(tree, Tree)
    assert tree.root.text == rate_text(tune.tree.points, 600)

    def nodes(node: TreeNode) -> int:
        assert sum(child.share for child in node.children) <= 1 + 1e-9
        return 1 + sum(map(nodes, node.children))

    assert nodes(tree.root) <= 1 + 10 + 50 + 150
    assert any(child.children for child in tree.root.children)
    half = mc(X, STYLE, max_depth=3, initial_visits=2, initial_wins=1)
    for ticket, one in history[:320]:
        half.record_result(ticket, one)
    rates = by_name(group(charts, "best").charts[0], "win rate").points
    best = half.summary().data()["best"]
    assert dict(rates)[320.0] == pytest.approx(100 * best["estimated_rate"])


# ce_tuner


def ce(**changed: Any) -> Any:
    usual = {
        **AGAINST_OPPONENT,
        "parameters": [
            call("Parameter", "x", initial_mean=2.0, initial_variance=4.0),
            call("Parameter", "n", initial_mean=2.0, initial_variance=4.0, transform=round),
        ],
        "number_of_generations": 5,
        "samples_per_generation": 12,
        "batch_size": 4,
        "elite_proportion": 0.25,
        "step_size": 0.7,
    }
    return make("ce_tuner", **{**usual, **changed})


def test_distribution_of_each_generation_is_recovered_from_its_candidates() -> None:
    tune = ce()
    true = {0: tune.distribution}
    history = []
    random_ = random.Random(1)
    while not tune.finished():
        history += play(tune, 1, lambda job: random_.random() < own(job)["x"] / 8)
        true[tune._state.generation] = tune.distribution
    x, n = group(tune.charts(history), "distribution").charts
    assert [g for g, _ in by_name(x, "mean").points] == [0, 1, 2, 3, 4, 5]
    for i, chart in enumerate((x, n)):
        for (g, mean), (_, low, high) in zip(
            by_name(chart, "mean").points, piece(chart, Band).points, strict=True
        ):
            assert mean == pytest.approx(true[int(g)].means[i])
            spread = 1.959964 * true[int(g)].variances[i] ** 0.5
            assert (low, high) == pytest.approx((mean - spread, mean + spread), rel=1e-5)
    assert x.y_label == "value"
    assert n.y_label == "value before its transform"
    assert n.note.endswith(f", played as {round(true[5].means[1])}")


def test_elite_is_of_the_candidates_with_most_points() -> None:
    tune = ce(number_of_generations=1)
    history = play(tune, 1000, lambda job: job.ticket["c"] in (3, 7, 8))
    groups = tune.charts(history)
    elite = by_name(group(groups, "distribution").charts[0], "elite").points
    samples = {t["c"]: t["p"][0] for t, _ in history}
    assert sorted(elite) == sorted((0.0, samples[c]) for c in (3, 7, 8))
    scores = group(groups, "generations").charts[0]
    assert by_name(scores, "elite").points == ((0.0, 100.0),)
    low, high = wilson(12, 48)
    assert piece(scores, Whiskers).points == ((0.0, 25.0, 100 * low, 100 * high),)


# clop_tuner


def clop(*parameters: Any, **changed: Any) -> Any:
    number = call("Parameter", "x", min=0, max=100)
    usual = {
        "players": {"e": uci(), "o": uci("other")},
        "game": "chess",
        "player": "e",
        "opponent": "o",
        "parameters": list(parameters) or [number],
        "number_of_games": 10_000,
    }
    return make("clop_tuner", **{**usual, **changed})


def hill(*widths: float) -> Wins:
    """Return results about an optimum at 60 of parameters with these widths."""
    random_ = random.Random(5)

    def wins(job: GameJob) -> bool:
        values = own(job).values()
        loss = sum(((v - 60) / w) ** 2 for v, w in zip(values, widths, strict=True))
        return random_.random() < 0.9 / (1 + loss)

    return wins


def test_few_games_of_a_sample_are_grouped_by_value() -> None:
    switch = call("Parameter", "n", integer=True, min=0, max=3)
    tune = clop(switch)
    history = play(tune, 200, lambda job: own(job)["n"] == 2)
    groups = tune.charts(history)
    (chart,) = group(groups, "samples").charts
    counts = {n: sum(own_n(tune, t) == n for t, _ in history) for n in range(4)}
    for x, rate, low, high in by_name(chart, "points (95 %)").points:
        assert rate == (100 if round(x) == 2 else 0)
        won = counts[round(x)] * (round(x) == 2)
        assert (low, high) == tuple(100 * end for end in wilson(won, counts[round(x)]))
    assert by_name(chart, "fitted model").points
    assert piece(chart, Interval).value == tune.summary().data()["parameters"][0]["estimate"]


def own_n(tune: Any, ticket: Any) -> int:
    return int(tune.describe(ticket).parameters[ticket["s"]]["n"])


def test_surface_is_of_the_two_parameters_of_most_effect() -> None:
    names = ("x", "y", "z")
    tune = clop(*(call("Parameter", n, min=0, max=100) for n in names))
    groups = tune.charts(play(tune, 600, hill(20, 1e9, 30)))
    (surface,) = group(groups, "surface").charts
    assert surface.title == "x and z"
    best = max((v or 0, x, y) for y, row in enumerate(surface.values) for x, v in enumerate(row))
    assert abs(float(surface.x_names[best[1]]) - 60) < 20
    assert any(value is None for row in surface.values for value in row)
    (bars,) = group(groups, "importance").charts
    signals = {p["code"]: p["signal"] for p in tune.summary().data()["parameters"]}
    assert set(bars.names[:2]) == {"x", "z"}
    shown = dict(zip(bars.names, bars.series[0].values, strict=True))
    assert {code: value is not None for code, value in shown.items()} == signals


def test_every_group_of_a_tune_has_a_key_charts_and_json() -> None:
    tunes = [(mc(X, STYLE), 200), (ce(), 200), (clop(), 200)]
    for tune, games in tunes:
        groups = tune.charts(
            play(tune, games, lambda job: own(job) != {} and job.id[-1] in "02468")
        )
        assert groups
        for each in groups:
            assert each.key
            assert each.text
            for chart in each.charts:
                assert not isinstance(chart, Chart) or chart.pieces
                assert "…" not in chart.title + chart.note
        assert msgspec.json.decode(msgspec.json.encode(groups))
