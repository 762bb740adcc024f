"""Pairing everybody at the least cost: minimum-weight perfect matching of a
complete graph, exact in integers of any size.

Edmonds' blossom algorithm ("Maximum matching and a polyhedron with 0,1-vertices",
1965) in its primal-dual form with O(n³) steps (Galil, "Efficient algorithms for
finding maximum matching in graphs", 1986, section 4): trees grow from the
unmatched vertices along tight edges; an odd cycle becomes one vertex, a
*blossom*; where no edge is tight, the dual variables are moved until one is.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Labels of a top vertex in the search for a path: at an even or an odd distance
#: from the root of its tree, or in no tree yet.
_EVEN, _ODD, _OUTSIDE = 0, 1, 2
_NONE = -1

Edge = tuple[int, int]


def cheapest_pairs(cost: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return pairs of all vertices, the lower number of each first, such that
    their costs have the least sum.

    cost  symmetric; what stands on the diagonal means nothing
    Raises ValueError for an odd number of vertices.
    """
    if len(cost) % 2:
        raise ValueError(f"{len(cost)} vertices cannot be paired")
    search = _Search(cost)
    for _ in range(len(cost) // 2):
        search.augment_once()
    return [(u, search.mate[u]) for u in range(len(cost)) if u < search.mate[u]]


class _Search:
    """The state of the algorithm.

    Numbers below `count` are vertices, those above are blossoms, of which there
    are never more than half as many.  A *top* is a vertex or blossom that is
    part of no other.

    mate   by top: the vertex, outside it, that it is matched with, or _NONE
    edge   by two vertices or blossoms: the tightest edge from the one to the
           other.  It stays the tightest, since all vertices of a blossom have
           their duals moved alike
    dual   of a vertex its price, of a blossom its weight, both doubled; in any
           case the slack of an edge is dual + dual + 2 cost, never negative
    top    of any vertex or blossom that exists; _NONE of the others
    parts  of a blossom: the cycle, its base first
    part   of a blossom: by vertex, the part that holds it
    """

    def __init__(self, cost: Sequence[Sequence[int]]) -> None:
        self.cost = cost
        count = self.count = len(cost)
        room = count + count // 2
        least = min((c for i, row in enumerate(cost) for c in row[:i]), default=0)
        self.dual = [-least] * count + [0] * (count // 2)
        self.mate = [_NONE] * room
        self.top = [*range(count), *[_NONE] * (count // 2)]
        self.parts: list[list[int]] = [[] for _ in range(room)]
        self.part: list[list[int]] = [[_NONE] * count for _ in range(room)]
        self.edge: list[list[Edge | None]] = [[None] * room for _ in range(room)]
        for u in range(count):
            self.part[u][u] = u
            for v in range(count):
                self.edge[u][v] = (u, v) if u != v else None
        # of one search only
        self.label = [_OUTSIDE] * room
        #: By top: the vertex of its tree that it hangs on.
        self.parent = [_NONE] * room
        #: By top: the even vertex outside it with the tightest edge to it.
        self.near = [_NONE] * room
        self.queue: list[int] = []

    # what is asked again and again

    def _tops(self) -> list[int]:
        return [x for x, top in enumerate(self.top) if x == top]

    def _slack(self, x: int, y: int) -> int:
        edge = self.edge[x][y]
        assert edge is not None
        u, v = edge
        return self.dual[u] + self.dual[v] + 2 * self.cost[u][v]

    def _vertices(self, x: int) -> list[int]:
        if x < self.count:
            return [x]
        return [v for part in self.parts[x] for v in self._vertices(part)]

    def _settle(self, x: int, top: int) -> None:
        """Say which top a vertex or blossom and all its parts belong to."""
        self.top[x] = top
        for part in self.parts[x]:
            self._settle(part, top)

    # one search

    def augment_once(self) -> None:
        """Match two more vertices, at the least cost for so many."""
        room = len(self.top)
        self.label = [_OUTSIDE] * room
        self.parent = [_NONE] * room
        self.near = [_NONE] * room
        self.queue = []
        for x in self._tops():
            if self.mate[x] == _NONE:
                self._make_even(x)
        while not (self._grow() or self._move_duals()):
            pass

    def _make_even(self, x: int) -> None:
        self.label[x] = _EVEN
        self.queue += self._vertices(x)

    def _grow(self) -> bool:
        """Follow the tight edges of new even vertices; returns whether that led
        to another tree."""
        count, top, label, dual = self.count, self.top, self.label, self.dual
        while self.queue:
            u = self.queue.pop()
            price, costs = dual[u], self.cost[u]
            for v in range(count):
                other = top[v]
                if other == top[u] or label[other] == _ODD:
                    continue
                if price + dual[v] + 2 * costs[v] == 0:
                    if self._use(u, v):
                        return True
                else:
                    self._note(u, other)
        return False

    def _note(self, u: int, x: int) -> None:
        """Remember an even vertex that may have the tightest edge to a top."""
        near = self.near[x]
        if near == _NONE or self._slack(u, x) < self._slack(near, x):
            self.near[x] = u

    def _look_around(self, x: int) -> None:
        """Find the tightest edge from an even vertex to a top anew."""
        self.near[x] = _NONE
        for u in range(self.count):
            if self.top[u] != x and self.label[self.top[u]] == _EVEN:
                self._note(u, x)

    def _move_duals(self) -> bool:
        """Make another edge tight, or a blossom weightless, and go on with it;
        returns whether that led to another tree."""
        tops = self._tops()
        steps = []
        for x in tops:
            if self.label[x] == _ODD:
                if x >= self.count:
                    steps.append(self.dual[x] // 2)
            elif self.near[x] != _NONE:
                slack = self._slack(self.near[x], x)
                # both ends of an edge between even tops move
                steps.append(slack // 2 if self.label[x] == _EVEN else slack)
        step = min(steps)
        for x in tops:
            if self.label[x] == _OUTSIDE:
                continue
            sign = 1 if self.label[x] == _ODD else -1
            for v in self._vertices(x):
                self.dual[v] += sign * step
            if x >= self.count:
                self.dual[x] -= sign * 2 * step
        for x in tops:
            near = self.near[x]
            # an edge that was followed may have swallowed the next ones
            if self.top[x] != x or near == _NONE or self.label[x] == _ODD:
                continue
            if self.top[near] != x and self._slack(near, x) == 0:
                edge = self.edge[near][x]
                assert edge is not None
                if self._use(*edge):
                    return True
        for x in tops:
            weightless = x >= self.count and self.top[x] == x and self.dual[x] == 0
            if weightless and self.label[x] == _ODD:
                self._expand(x)
        return False

    def _use(self, u: int, v: int) -> bool:
        """Follow a tight edge from an even vertex; returns whether it led to
        another tree."""
        x, y = self.top[u], self.top[v]
        if self.label[y] == _OUTSIDE:
            self.parent[y] = u
            self.label[y] = _ODD
            after = self.top[self.mate[y]]
            self.near[y] = self.near[after] = _NONE
            self._make_even(after)
        elif self.label[y] == _EVEN and x != y:
            base = self._meeting(x, y)
            if base == _NONE:
                self._augment(x, y)
                self._augment(y, x)
                return True
            self._shrink(x, base, y)
        return False

    def _way_up(self, x: int) -> list[int]:
        """Return the even tops from x to the root of its tree."""
        way = [x]
        while self.mate[x] != _NONE:
            x = self.top[self.parent[self.top[self.mate[x]]]]
            way.append(x)
        return way

    def _meeting(self, x: int, y: int) -> int:
        """Return where the ways from x and y to the root meet, _NONE for two trees."""
        above = set(self._way_up(x))
        return next((z for z in self._way_up(y) if z in above), _NONE)

    # the matching

    def _augment(self, x: int, y: int) -> None:
        """Match x with y, and what was matched with x with what it hangs on, and
        so on up to the root."""
        while True:
            after = self.mate[x]
            self._match(x, y)
            if after == _NONE:
                return
            odd = self.top[after]
            even = self.top[self.parent[odd]]
            self._match(odd, even)
            x, y = even, odd

    def _match(self, x: int, y: int) -> None:
        """Match x with y; in a blossom, the part at the edge's end becomes the base."""
        edge = self.edge[x][y]
        assert edge is not None
        u, self.mate[x] = edge
        if x < self.count:
            return
        part = self.part[x][u]
        place = self._even_way(x, part)
        parts = self.parts[x]
        for i in range(0, place, 2):
            self._match(parts[i], parts[i + 1])
            self._match(parts[i + 1], parts[i])
        self._match(part, y)
        self.parts[x] = parts[place:] + parts[:place]

    def _even_way(self, x: int, part: int) -> int:
        """Turn a blossom's cycle, if need be, so that the way from its base to
        the part has an even length, and return that."""
        parts = self.parts[x]
        place = parts.index(part)
        if place % 2:
            parts[1:] = parts[:0:-1]
            return len(parts) - place
        return place

    # blossoms

    def _shrink(self, x: int, base: int, y: int) -> None:
        """Make one even top of the cycle that a tight edge between x and y closes."""
        up, down = self._branch(x, base), self._branch(y, base)
        blossom = self.top.index(_NONE, self.count)
        self.parts[blossom] = parts = [base, *reversed(up), *down]
        for part in parts:
            if self.label[part] == _ODD:
                self.queue += self._vertices(part)
        self.dual[blossom] = 0
        self.label[blossom] = _EVEN
        self.mate[blossom] = self.mate[base]
        self.parent[blossom] = self.parent[base]
        self._settle(blossom, blossom)
        self._tighten(blossom)
        self._look_around(blossom)

    def _branch(self, x: int, base: int) -> list[int]:
        """Return the tops on the way from x up to the base, without the base."""
        found = []
        while x != base:
            odd = self.top[self.mate[x]]
            found += [x, odd]
            x = self.top[self.parent[odd]]
        return found

    def _tighten(self, blossom: int) -> None:
        """Find the tightest edges of a new blossom among those of its parts."""
        for y, top in enumerate(self.top):
            if top in (_NONE, blossom):
                continue
            best = min(self.parts[blossom], key=lambda part: self._slack(part, y))
            self.edge[blossom][y] = self.edge[best][y]
            self.edge[y][blossom] = self.edge[y][best]
        owner = self.part[blossom]
        for v in range(self.count):
            owner[v] = _NONE
        for part in self.parts[blossom]:
            for v in self._vertices(part):
                owner[v] = part

    def _expand(self, blossom: int) -> None:
        """Take an odd blossom without weight apart; the parts on the even way from
        the one that its tree holds it by to its base stay in the tree."""
        parent = self.parent[blossom]
        edge = self.edge[blossom][parent]
        assert edge is not None
        held = self.part[blossom][edge[0]]
        place = self._even_way(blossom, held)
        parts = self.parts[blossom]
        for part in parts:
            self._settle(part, part)
        self.top[blossom] = _NONE
        self.parts[blossom] = []
        for part in parts:
            self.label[part] = _OUTSIDE
        for i in range(0, place, 2):
            odd, even = parts[i], parts[i + 1]
            hangs = self.edge[even][odd]
            assert hangs is not None
            self.parent[odd] = hangs[0]
            self.label[odd] = _ODD
            self.label[even] = _EVEN
        self.label[held] = _ODD
        self.parent[held] = parent
        for part in parts:
            self.near[part] = _NONE
            if self.label[part] != _ODD:
                self._look_around(part)
        for part in parts[1:place:2]:
            self._make_even(part)
