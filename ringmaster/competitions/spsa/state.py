"""What an spsa event carries from result to result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.errors import StateRefused


class Iteration(msgspec.Struct, omit_defaults=True):
    """An iteration of which not all games have come back.

    plus, minus  the values played, in the order of its layout
    result       W − L of θ⁺ so far; games: how many have come back
    size         how many there are
    layout       see State
    """

    plus: list[int | float]
    minus: list[int | float]
    result: float = 0.0
    games: int = 0
    size: int = 2
    layout: int = 0


class State(msgspec.Struct):
    """What the competition carries from result to result; of constant size.

    layouts    codes of the tuned parameters, in the order of values in tickets; there is
               another layout each time the parameters have been changed
    method     that the tuner's state is of
    tuner      the tuner's own state
    iterations  that were planned
    iteration, game  the next game to be given out: of this iteration, from 1, its
               number, from 0
    open       iterations under way, by number
    results    wins, draws, losses of θ⁺, against θ⁻ or the opponent
    results_minus  of θ⁻ against the opponent
    fixed      values of frozen parameters that are not their start, by code
    matches    the closing matches, as ClosingMatches keeps them
    """

    layouts: list[list[str]]
    method: str
    tuner: dict[str, Any]
    iterations: int
    told: int = 0
    iteration: int = 1
    game: int = 0
    open: dict[str, Iteration] = msgspec.field(default_factory=dict)
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    results_minus: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    fixed: dict[str, float] = msgspec.field(default_factory=dict)
    void: int = 0
    void_in_a_row: int = 0
    matches: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def codes(self) -> list[str]:
        """Codes of the tuned parameters."""
        return self.layouts[-1]

    @property
    def completed(self) -> int:
        """Games of the tune that count."""
        return sum(self.results) + sum(self.results_minus)


def read_state(data: Mapping[str, Any], method: str, fresh: Mapping[str, Any]) -> State:
    """Return a stored state, also one of a version that knew the classic method only.

    method  that the settings ask for
    fresh   the state of a tuner without results
    Raises StateRefused where an earlier version's tune would go on by another method.
    """
    if "method" in data:
        return msgspec.convert(data, State)
    if method != "classic":
        raise StateRefused(
            "this tune was begun by a version of ringmaster whose only method was 'classic'; "
            "method = 'classic' goes on with it (c_end, r_end, alpha, gamma and A mean what "
            "they meant), `reset` begins anew",
            ("method",),
        )
    upgraded = {name: value for name, value in data.items() if name not in ("codes", "next")}
    if "theta" in data:
        upgraded["tuner"] = {
            **fresh,
            "told": data["told"],
            "memory": {"theta": upgraded.pop("theta")},
        }
    upgraded["layouts"] = [data["codes"]]
    upgraded["method"] = "classic"
    upgraded["iteration"], upgraded["game"] = data["next"] // 2 + 1, data["next"] % 2
    return msgspec.convert(upgraded, State)
