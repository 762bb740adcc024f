"""Several runs on one cluster: the part of its games at a time that each may play.

There is no referee.  Each run leaves a `Presence` at the scheduler every second and reads those
of the others, and all compute their parts in the same way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import msgspec

#: Seconds after which a run that gives no sign does not count.
LAPSE = 5.0


class Presence(msgspec.Struct, frozen=True):
    """A run as the others on its cluster see it.

    run, name  of the run and of its competition
    share, priority  as in `model.cluster.Cluster`
    wants      jobs at a time that it could use
    jobs       at a time on each host, by address
    beat       another number each second
    """

    run: str = ""
    name: str = ""
    share: float = 1.0
    priority: int = 0
    wants: int = 0
    jobs: dict[str, int] = {}
    beat: int = 0


class Neighbours:
    """The other runs on a cluster, beside `own`."""

    def __init__(self, own: Presence) -> None:
        self.own = own
        self._alive: list[Presence] = []
        #: The last beat of each run, and when it was new (monotonic).
        self._beats: dict[str, tuple[int, float]] = {}

    def take(self, found: Mapping[str, Presence]) -> bool:
        """Take the presences of all runs; return whether other runs have come or gone."""
        before, now = self.text(), time.monotonic()
        self._alive = []
        for run, each in found.items():
            if self._beats.get(run, (None, now))[0] != each.beat:
                self._beats[run] = each.beat, now
            if run != self.own.run and now - self._beats[run][1] < LAPSE:
                self._alive.append(each)
        return self.text() != before

    def part(self, slots: int) -> float:
        """Return how many of some games at a time this run may play, infinity if it is alone.

        Runs of higher priority take what they want first.  What a run does not want of its share
        is shared by the others.
        """
        if not self._alive:
            return math.inf
        own = self.own
        left = slots - sum(each.wants for each in self._alive if each.priority > own.priority)
        equals = [each for each in self._alive if each.priority == own.priority]
        shares = own.share + sum(each.share for each in equals)
        for each in sorted(equals, key=lambda each: each.wants / each.share):
            if each.wants * shares >= left * each.share:
                break
            left -= each.wants
            shares -= each.share
        # rounded up: none stays without a game, and no slot without one
        return max(0, math.ceil(left * own.share / shares - 1e-9))

    def on(self, address: str) -> int:
        """Return how many jobs of other runs a host has."""
        return sum(each.jobs.get(address, 0) for each in self._alive)

    def text(self) -> str:
        """Return with whom and how the run shares the cluster, "" if it is alone."""
        others = ", ".join(sorted(f"{each.name} ({_terms(each)})" for each in self._alive))
        own = f"this run has {_terms(self.own)}"
        return f"the cluster is shared with {others}; {own}" if others else ""


def _terms(presence: Presence) -> str:
    return f"share {presence.share:g}, priority {presence.priority}"
