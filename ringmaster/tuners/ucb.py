"""The algorithm of the Monte Carlo tuner: UCB over candidates, and UCT over ever smaller
tiles of the parameter space.

    urgency(child) = wins/visits + C·√(ln N)·1/√visits,   N = visits of the parent

(Auer et al., "Finite-time analysis of the multiarmed bandit problem", 2002; Kocsis and
Szepesvári, "Bandit based Monte-Carlo planning", 2006.)  The counts of the root and of
every new child start at `initial_visits` and `initial_wins`.

A game in progress may count as a virtual visit without a win, in both terms and in N
(Chaslot et al., "Parallel Monte-Carlo tree search", 2008).  Simultaneous games then
spread over the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ringmaster.model.randomness import UCB_STREAM, words

#: Indices of children from the root down.
Path = tuple[int, ...]


class Family:
    """The children of one node, as lists by child.

    games     completed games, without the initial visits
    wins      points in these games
    flying    games in progress
    children  families of expanded children
    values, terms  wins/visits and 1/√visits, including initial and virtual visits
    """

    __slots__ = (
        "children",
        "flying",
        "games",
        "initial_visits",
        "initial_wins",
        "terms",
        "values",
        "wins",
    )

    def __init__(self, size: int, initial_visits: int, initial_wins: float) -> None:
        self.initial_visits = initial_visits
        self.initial_wins = initial_wins
        self.games = [0] * size
        self.wins = [0.0] * size
        self.flying = [0] * size
        self.children: dict[int, Family] = {}
        self.values = [initial_wins / initial_visits] * size
        self.terms = [1 / math.sqrt(initial_visits)] * size

    def visits(self, child: int) -> int:
        """Return the visits of a child, including initial ones."""
        return self.initial_visits + self.games[child]

    def refresh(self, child: int, virtual: bool) -> None:
        """Update `values` and `terms` of a child."""
        visits = self.initial_visits + self.games[child]
        if virtual:
            visits += self.flying[child]
        self.values[child] = (self.initial_wins + self.wins[child]) / visits
        self.terms[child] = 1 / math.sqrt(visits)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree.

    visits, wins        including the initial ones
    value, exploration  the terms of the formula, without virtual visits
    """

    path: Path
    games: int
    points: float
    visits: int
    wins: float
    value: float
    exploration: float


class Ucb:
    """The tree of candidates.

    splits       samples of each parameter's range; each combination is a candidate
    max_depth    generations of candidates
    virtual      whether games in progress count as virtual visits

    `choose` issues a game; `tell` or `withdraw` ends it.  The state is a function of the
    calls so far.  Random choices between equals are a function of (seed, game number).
    """

    def __init__(
        self,
        splits: Sequence[int],
        *,
        exploration_coefficient: float,
        initial_visits: int,
        initial_wins: float,
        max_depth: int = 1,
        virtual: bool = True,
        seed: int = 0,
    ) -> None:
        self.splits = tuple(splits)
        self.size = math.prod(self.splits)
        self.exploration_coefficient = exploration_coefficient
        self.initial_visits = initial_visits
        self.initial_wins = initial_wins
        self.max_depth = max_depth
        self.virtual = virtual
        self.seed = seed
        self.root = Family(self.size, initial_visits, initial_wins)
        self.games = 0
        self.points = 0.0
        self.flying = 0

    # the space

    def coordinates(self, child: int) -> tuple[int, ...]:
        """Return a child's index along each parameter, the first parameter slowest."""
        places = []
        for split in reversed(self.splits):
            child, place = divmod(child, split)
            places.append(place)
        return tuple(reversed(places))

    def centre(self, path: Path) -> tuple[float, ...]:
        """Return the optimiser parameters (0 to 1) of a node, the centre of its tile."""
        # in integers: a rounding error could push a value over a half before rounding
        places = [0] * len(self.splits)
        for child in path:
            for d, place in enumerate(self.coordinates(child)):
                places[d] = places[d] * self.splits[d] + place
        return tuple(
            (2 * place + 1) / (2 * split ** len(path))
            for place, split in zip(places, self.splits, strict=True)
        )

    # games

    def choose(self, number: int) -> tuple[Path, bool]:
        """Choose the candidate for game `number`, which is then in progress.

        Returns its path, and whether its parent was expanded.
        """
        path: list[int] = []
        expanded = False
        family = self.root
        visits = self.root_visits + (self.flying if self.virtual else 0)
        while True:
            child = self._most_urgent(family, visits, number, len(path))
            path.append(child)
            below = family.children.get(child)
            if below is None:
                # expand a candidate at its second choice, then choose once more
                if expanded or len(path) >= self.max_depth or not family.games[child]:
                    break
                below = self._expand(family, child, self.initial_visits, self.initial_wins)
                expanded = True
            visits = family.visits(child) + (family.flying[child] if self.virtual else 0)
            family = below
        self._count(tuple(path), 1)
        return tuple(path), expanded

    def _most_urgent(self, family: Family, visits: int, number: int, level: int) -> int:
        width = self.exploration_coefficient * math.sqrt(math.log(visits))
        urgencies = [v + width * t for v, t in zip(family.values, family.terms, strict=True)]
        most = max(urgencies)
        equals = urgencies.count(most)
        if equals == 1:
            return urgencies.index(most)
        drawn = words(self.seed, UCB_STREAM, number, level + 1)[level] % equals
        child = urgencies.index(most)
        for _ in range(drawn):
            child = urgencies.index(most, child + 1)
        return child

    def _expand(self, family: Family, child: int, visits: int, wins: float) -> Family:
        below = family.children[child] = Family(self.size, visits, wins)
        return below

    def resume(self, path: Path, initial: tuple[int, float] | None = None) -> None:
        """Count a game issued in an earlier run as in progress.

        initial  visits and wins of the last generation if this game expanded it; by
                 default the settings
        """
        self.grow(path, initial)
        self._count(path, 1)

    def withdraw(self, path: Path) -> None:
        """End a game without a result."""
        self._count(path, -1)

    def tell(
        self,
        path: Path,
        points: float,
        *,
        flying: bool = True,
        initial: tuple[int, float] | None = None,
    ) -> None:
        """Learn the result of a game: 1, ½ or 0 for the candidate.

        flying   whether the game is counted as in progress
        initial  see `resume`
        """
        self.grow(path, initial)
        if flying:
            self._count(path, -1)
        self.games += 1
        self.points += points
        for family, child in self._families(path):
            family.games[child] += 1
            family.wins[child] += points
            family.refresh(child, self.virtual)

    def grow(self, path: Path, initial: tuple[int, float] | None = None) -> None:
        """Create missing families along a path; initial: see `resume`."""
        visits, wins = initial or (self.initial_visits, self.initial_wins)
        family = self.root
        for child in path[:-1]:
            below = family.children.get(child)
            family = self._expand(family, child, visits, wins) if below is None else below

    def _count(self, path: Path, change: int) -> None:
        self.flying += change
        for family, child in self._families(path):
            family.flying[child] += change
            family.refresh(child, self.virtual)

    def _families(self, path: Path) -> Iterator[tuple[Family, int]]:
        family = self.root
        for child in path[:-1]:
            yield family, child
            family = family.children[child]
        yield family, path[-1]

    # the present tree

    @property
    def root_visits(self) -> int:
        """N of the first generation: completed games and initial visits of the root."""
        return self.root.initial_visits + self.games

    def best(self) -> Path:
        """Return the path along the children with most wins, the first of equals."""
        path: list[int] = []
        family: Family | None = self.root
        while family is not None:
            initial = family.initial_wins
            wins = [initial + w for w in family.wins]
            child = wins.index(max(wins))
            path.append(child)
            family = family.children.get(child)
        return tuple(path)

    def node(self, path: Path) -> Node:
        """Return one node."""
        parent_visits = self.root_visits
        family, child = self.root, path[0]
        for below in path[1:]:
            parent_visits = family.visits(child)
            family, child = family.children[child], below
        return self._node(path, family, child, parent_visits)

    def nodes(self, depth: int | None = None) -> Iterator[Node]:
        """Yield every node down to `depth` generations, each before its children."""
        yield from self._nodes((), self.root, self.root_visits, depth)

    def _nodes(
        self, above: Path, family: Family, parent_visits: int, depth: int | None
    ) -> Iterator[Node]:
        for child in range(self.size):
            path = (*above, child)
            yield self._node(path, family, child, parent_visits)
            below = family.children.get(child)
            if below is not None and (depth is None or len(path) < depth):
                yield from self._nodes(path, below, family.visits(child), depth)

    def _node(self, path: Path, family: Family, child: int, parent_visits: int) -> Node:
        visits = family.visits(child)
        wins = family.initial_wins + family.wins[child]
        width = self.exploration_coefficient * math.sqrt(math.log(parent_visits))
        return Node(
            path=path,
            games=family.games[child],
            points=family.wins[child],
            visits=visits,
            wins=wins,
            value=wins / visits,
            exploration=width / math.sqrt(visits),
        )

    def results(self, depth: int) -> list[tuple[float, int]]:
        """Return points and games of every candidate of a generation, counted from 1."""
        families = [self.root]
        for _ in range(depth - 1):
            families = [below for family in families for below in family.children.values()]
        return [result for f in families for result in zip(f.wins, f.games, strict=True)]

    def node_count(self) -> int:
        """Return the number of nodes, including the root."""
        return 1 + self.size * sum(1 for _ in self._all_families(self.root))

    def _all_families(self, family: Family) -> Iterator[Family]:
        yield family
        for below in family.children.values():
            yield from self._all_families(below)

    # state

    def state(self) -> dict[str, Any]:
        """Return completed games as JSON data, without games in progress."""
        return _family_state(self.root)

    def restore(self, state: dict[str, Any]) -> None:
        """Replace the state, without games in progress.

        Raises ValueError if the number of candidates differs.
        """
        self.root = _family_from(state, self.size)
        self.games = sum(self.root.games)
        self.points = sum(self.root.wins)
        self.flying = 0


def _family_state(family: Family) -> dict[str, Any]:
    state: dict[str, Any] = {
        "visits": family.initial_visits,
        "initial_wins": family.initial_wins,
        "games": family.games,
        "wins": family.wins,
    }
    if family.children:
        state["children"] = {
            str(child): _family_state(below) for child, below in family.children.items()
        }
    return state


def _family_from(state: dict[str, Any], size: int) -> Family:
    if len(state["games"]) != size or len(state["wins"]) != size:
        raise ValueError(f"{len(state['games'])} candidates, not {size}")
    family = Family(size, state["visits"], state["initial_wins"])
    family.games = list(state["games"])
    family.wins = [float(w) for w in state["wins"]]
    for child in range(size):
        family.refresh(child, virtual=False)
    for child, below in state.get("children", {}).items():
        family.children[int(child)] = _family_from(below, size)
    return family
