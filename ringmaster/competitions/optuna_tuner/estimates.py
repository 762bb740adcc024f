"""Estimates of trials, computed once for each number of ended trials."""

from __future__ import annotations

import math

from ringmaster.competitions.optuna_tuner.state import OptunaState
from ringmaster.tuners.search.space import Space
from ringmaster.tuners.search.surrogate import Surrogate

#: Ended trials up to which each new one has an estimate of its own as its reference; later
#: estimates follow whenever there are `_GROWTH` times as many.
_EACH, _GROWTH = 20, 1.1


class Estimates:
    """The estimates by the ended trials of a state."""

    def __init__(self, space: Space, state: OptunaState) -> None:
        self._space = space
        self._state = state
        #: The last estimates with their numbers of trials, by `latest`.
        self._known: dict[bool, tuple[int, Surrogate]] = {}

    def surrogate(self, *, latest: bool = True) -> Surrogate | None:
        """Return the estimates, None without an ended trial.

        latest  whether of all trials, or of the number that references are based on: an
                estimate of 1,000 trials takes half a second
        """
        ended = self._state.ended
        count = ended if latest else reference_size(ended)
        if not count:
            return None
        known = self._known.get(latest)
        if known is None or known[0] != count:
            observations = [t.observation() for _, t in self._state.in_order_of_end()[:count]]
            earlier = None if known is None or known[0] > count else known[1]
            known = self._known[latest] = count, Surrogate(self._space, observations, earlier)
        return known[1]

    def best(self) -> int | None:
        """Return the number of the best trial, None without an ended one."""
        surrogate = self.surrogate()
        if surrogate is None:
            return None
        return self._state.in_order_of_end()[surrogate.rows[surrogate.best]][0]

    def reference(self) -> float | None:
        """Return the best estimate for a new trial, None without an ended trial."""
        surrogate = self.surrogate(latest=False)
        return None if surrogate is None else surrogate.estimates[surrogate.best].score


def reference_size(ended: int) -> int:
    """Return the number of first ended trials that references are based on."""
    if ended <= _EACH:
        return ended
    times = math.floor(math.log(ended / _EACH) / math.log(_GROWTH) + 1e-9)
    return math.ceil(_EACH * _GROWTH**times)
