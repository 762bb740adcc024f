"""Faults of engines by host: whether one host has more than chance allows."""

from __future__ import annotations

from ringmaster.errors import counted
from ringmaster.model.results import FAULTS, TIME_LOSSES, GameResult

#: The chance, over all hosts of a run, that a healthy host is taken for a bad one at a fault.
CHANCE = 1e-4
#: Faults below which no host is judged.
FEWEST = 3


class Health:
    """Games and faults of each host."""

    def __init__(self) -> None:
        self._games: dict[str, int] = {}
        self._faults: dict[str, int] = {}
        self._all_games = self._all_faults = 0

    def take(self, host: str, result: GameResult) -> str:
        """Record a game; return why its host is bad, or ""."""
        is_fault = result.reason in FAULTS or result.reason in TIME_LOSSES
        self._games[host] = self._games.get(host, 0) + 1
        self._faults[host] = self._faults.get(host, 0) + is_fault
        self._all_games += 1
        self._all_faults += is_fault
        games, faults = self._games[host], self._faults[host]
        if not is_fault or faults < FEWEST or games == self._all_games:
            return ""
        # imported here: its import takes long, and few runs need it
        from scipy.stats import hypergeom

        # Fisher's exact test, one-sided: faults fall on games at random
        chance = hypergeom.sf(faults - 1, self._all_games, self._all_faults, games)
        if chance > CHANCE / len(self._games):
            return ""
        elsewhere = self._all_games - games, self._all_faults - faults
        return (
            f"{faults} of its {counted(games, 'game')} had an engine that lost on time, crashed "
            f"or hung, and {elsewhere[1]} of {elsewhere[0]} elsewhere"
        )
