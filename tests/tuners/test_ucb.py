"""UCB choices against a plain restatement, and results on candidates of known strength."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.mc_tuner_bandit import simulate
from ringmaster.tuners.ucb import Path, Ucb


class Restatement:
    """The tuner's documentation, computed from the list of all games each time."""

    def __init__(self, splits: list[int], c: float, visits: int, wins: int, depth: int) -> None:
        self.children = math.prod(splits)
        self.c, self.visits0, self.wins0, self.depth = c, visits, wins, depth
        self.played: list[tuple[Path, float]] = []
        self.flying: list[Path] = []
        self.expanded: set[Path] = {()}

    def count(self, node: Path) -> int:
        return sum(path[: len(node)] == node for path, _ in self.played)

    def wins(self, node: Path) -> float:
        return sum(points for path, points in self.played if path[: len(node)] == node)

    def virtual(self, node: Path, on: bool) -> int:
        return sum(path[: len(node)] == node for path in self.flying) if on else 0

    def urgencies(self, parent: Path, virtual: bool) -> list[float]:
        n = self.visits0 + self.count(parent) + self.virtual(parent, virtual)
        found = []
        for child in range(self.children):
            node = (*parent, child)
            visits = self.visits0 + self.count(node) + self.virtual(node, virtual)
            value = (self.wins0 + self.wins(node)) / visits
            found.append(value + self.c * math.sqrt(math.log(n)) / math.sqrt(visits))
        return found

    def check(self, path: Path, virtual: bool) -> None:
        """Fail unless each step of a choice has the greatest urgency, and the
        path ends where it should."""
        grown = False
        for i, child in enumerate(path):
            parent = path[:i]
            if parent not in self.expanded:
                assert not grown, "one expansion a game"
                assert self.count(parent) > 0, "expanded when chosen for the second time"
                assert i < self.depth
                self.expanded.add(parent)
                grown = True
            urgencies = self.urgencies(parent, virtual)
            assert math.isclose(urgencies[child], max(urgencies), rel_tol=1e-12)
        if not grown:
            assert path not in self.expanded
            ripe = len(path) < self.depth and self.count(path) > 0
            assert not ripe, "a candidate that has played is expanded"
        self.flying.append(path)

    def finish(self, path: Path, points: float) -> None:
        self.flying.remove(path)
        self.played.append((path, points))


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.floats(0, 3),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(1, 3),
    st.booleans(),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_choices_have_the_greatest_urgency_of_a_plain_restatement(
    splits: list[int],
    c: float,
    visits: int,
    wins: int,
    depth: int,
    virtual: bool,
    parallel: int,
    rng: random.Random,
) -> None:
    tree = Ucb(
        splits,
        exploration_coefficient=c,
        initial_visits=visits,
        initial_wins=wins,
        max_depth=depth,
        virtual=virtual,
        seed=rng.randrange(1000),
    )
    plain = Restatement(splits, c, visits, wins, depth)
    flying: list[Path] = []
    for number in range(40):
        path, _ = tree.choose(number)
        plain.check(path, virtual)
        flying.append(path)
        while flying and (len(flying) >= parallel or rng.random() < 0.2):
            done = flying.pop(rng.randrange(len(flying)))
            points = rng.choice([0.0, 0.5, 1.0])
            tree.tell(done, points)
            plain.finish(done, points)
    for node in tree.nodes():
        assert node.games == plain.count(node.path)
        assert node.points == plain.wins(node.path)
    best = tree.best()
    for i, child in enumerate(best):
        level = [plain.wins((*best[:i], other)) for other in range(plain.children)]
        assert level.index(max(level)) == child, "most wins, the first of equals"


def bandit(splits: list[int], **settings: object) -> Ucb:
    usual = {"exploration_coefficient": 0.45, "initial_visits": 10, "initial_wins": 5}
    return Ucb(splits, **{**usual, **settings})  # type: ignore[arg-type]


def test_each_of_equal_candidates_is_as_likely_as_another() -> None:
    firsts = Counter(bandit([3, 2], seed=seed).choose(0)[0] for seed in range(3000))
    assert set(firsts) == {(i,) for i in range(6)}
    # chi-square with 5 degrees of freedom: 20.5 is the 0.1 % point
    assert sum((n - 500) ** 2 / 500 for n in firsts.values()) < 20.5


def test_partly_equal_candidates_share_evenly() -> None:
    """A random rotation followed by the first maximum would favour whoever
    stands behind a run of losers."""
    chosen: Counter[int] = Counter()
    for seed in range(2000):
        tree = bandit([6], seed=seed)
        for loser in (0, 1, 2, 4):
            tree.tell((loser,), 0.0, flying=False)
        chosen[tree.choose(0)[0][0]] += 1
    assert set(chosen) == {3, 5}
    assert abs(chosen[3] - 1000) < 110


def test_choice_is_a_function_of_the_seed_and_the_number() -> None:
    one, other = (bandit([4, 4], seed=7) for _ in range(2))
    assert [one.choose(n) for n in range(30)] == [other.choose(n) for n in range(30)]
    assert [bandit([64], seed=7).choose(n)[0] for n in range(5)] != [
        bandit([64], seed=8).choose(n)[0] for n in range(5)
    ]


@pytest.mark.parametrize(
    ("splits", "path", "centre"),
    [
        ([3], (0,), (1 / 6,)),
        ([2, 3], (1,), (0.25, 0.5)),
        ([2, 3], (3,), (0.75, 1 / 6)),
        ([2, 2], (3, 0), (0.625, 0.625)),
        ([4], (1, 2), (0.25 + 0.25 * 0.625,)),
    ],
)
def test_candidates_are_the_centres_of_tiles_the_first_parameter_slowest(
    splits: list[int], path: Path, centre: tuple[float, ...]
) -> None:
    assert bandit(splits).centre(path) == pytest.approx(centre)


def test_virtual_visits_spread_games_that_are_in_flight() -> None:
    with_them, without = bandit([8], virtual=True), bandit([8], virtual=False)
    for tree in (with_them, without):
        tree.tell((5,), 1.0, flying=False)
    assert len({with_them.choose(n)[0] for n in range(8)}) > 4
    assert {without.choose(n)[0] for n in range(8)} == {(5,)}


def test_virtual_visits_change_nothing_when_one_game_is_played_at_a_time() -> None:
    trees = [bandit([5], virtual=virtual, max_depth=2) for virtual in (True, False)]
    rng = random.Random(3)
    for number in range(200):
        first, second = (tree.choose(number) for tree in trees)
        assert first == second
        points = rng.choice([0.0, 1.0])
        for tree in trees:
            tree.tell(first[0], points)


def test_withdrawn_game_leaves_no_trace() -> None:
    tree = bandit([4])
    before = json.dumps(tree.state())
    urgencies = list(tree.root.values), list(tree.root.terms)
    path, _ = tree.choose(0)
    tree.withdraw(path)
    assert json.dumps(tree.state()) == before
    assert (tree.root.values, tree.root.terms) == urgencies
    assert tree.flying == 0


def test_lower_max_depth_keeps_expanded_generations() -> None:
    tree = bandit([2], max_depth=2, exploration_coefficient=0.0)
    for number in range(20):
        path, _ = tree.choose(number)
        tree.tell(path, 1.0)
    deep = next(iter(tree.root.children))
    tree.max_depth = 1
    for number in range(20, 40):
        path, expanded = tree.choose(number)
        assert not expanded
        assert len(path) == (2 if path[0] == deep else 1)
        tree.tell(path, 1.0)


@given(st.integers(1, 3), st.integers(0, 60), st.randoms(use_true_random=False))
def test_stored_tree_is_restored(depth: int, games: int, rng: random.Random) -> None:
    tree = bandit([3], max_depth=depth)
    for number in range(games):
        path, _ = tree.choose(number)
        tree.tell(path, rng.choice([0.0, 0.5, 1.0]))
    fresh = bandit([3], max_depth=depth)
    fresh.restore(json.loads(json.dumps(tree.state())))
    assert list(fresh.nodes()) == list(tree.nodes())
    assert (fresh.games, fresh.points, fresh.best()) == (tree.games, tree.points, tree.best())
    assert fresh.choose(games) == tree.choose(games)


def test_tree_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="3 candidates, not 4"):
        bandit([4]).restore(bandit([3]).state())


# the bandit of 8x8 candidates with known win rates


@pytest.mark.slow
def test_chosen_candidate_is_within_two_percent_of_the_best_nine_times_in_ten() -> None:
    worse = [simulate(seed, 1, virtual=True)[0] for seed in range(100)]
    assert sum(w <= 0.02 for w in worse) >= 90


@pytest.mark.slow
def test_virtual_visits_recover_the_loss_by_games_in_progress() -> None:
    seeds = range(6)
    sequential = sum(simulate(seed, 1, virtual=True)[1] for seed in seeds)
    without = sum(simulate(seed, 16, virtual=False)[1] for seed in seeds)
    with_them = sum(simulate(seed, 16, virtual=True)[1] for seed in seeds)
    assert without > 1.08 * sequential
    assert with_them < 1.05 * sequential
