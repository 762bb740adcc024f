"""Whose turn it is among the matchups of a tournament: found without looking at all of
them for every game."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Those that want more games, the one with the fewest given out first (Gomill); ties
    in the order given.

    given  games that have been given out; never fewer than before
    wants  whether one wants more; who wants no more never will again
    """

    def __init__(
        self, all: Iterable[T], given: Callable[[T], int], wants: Callable[[T], bool]
    ) -> None:
        self._given = given
        self._wants = wants
        # the numbers are brought up to date when they come to the top
        self._heap = [(given(each), place, each) for place, each in enumerate(all)]
        heapq.heapify(self._heap)

    def first(self) -> T | None:
        """Return whose turn it is, None when nobody wants more."""
        while self._heap:
            known, place, each = self._heap[0]
            given = self._given(each)
            if not self._wants(each):
                heapq.heappop(self._heap)
            elif given != known:
                heapq.heapreplace(self._heap, (given, place, each))
            else:
                return each
        return None
