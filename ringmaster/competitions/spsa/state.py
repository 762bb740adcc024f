"""What an spsa event carries from result to result."""

from __future__ import annotations

from typing import Any

import msgspec


class Iteration(msgspec.Struct):
    """An iteration of which not all games have come back.

    plus, minus  the values played, as engines were given them
    result       W − L of θ⁺ so far; games: how many have come back
    """

    plus: list[int | float]
    minus: list[int | float]
    result: float = 0.0
    games: int = 0


class State(msgspec.Struct):
    """What the competition carries from result to result; of constant size.

    codes    parameter codes that θ stands for
    tuner    the tuner's own state
    next     number of the next game of the tune (two for each iteration)
    open     iterations under way, by k
    matches  the closing matches, as ClosingMatches keeps them
    results  θ⁺'s wins, draws, losses against θ⁻
    """

    codes: list[str]
    tuner: dict[str, Any]
    iterations: int
    told: int = 0
    next: int = 0
    open: dict[str, Iteration] = msgspec.field(default_factory=dict)
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    void: int = 0
    void_in_a_row: int = 0
    matches: list[dict[str, Any]] = msgspec.field(default_factory=list)
