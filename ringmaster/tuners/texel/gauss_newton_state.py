"""The state of a Gauss-Newton tune, as data."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from ringmaster.tuners.texel.differences import WANTED_MOVEMENT
from ringmaster.tuners.texel.optimiser import Errors

#: An error that is no number, as JSON can have it.
WORST = 1e300


class Point(msgspec.Struct, frozen=True):
    """A pass that is known."""

    number: int
    theta: tuple[float, ...]
    train: float
    validation: float | None = None

    @classmethod
    def of(cls, number: int, theta: tuple[float, ...], errors: Errors) -> Point:
        """An error that is no number counts as one that is larger than all."""
        assert errors.train is not None
        train, held = errors.train, errors.validation
        if held is not None and not math.isfinite(held):
            held = WORST
        return cls(number, theta, train if math.isfinite(train) else WORST, held)


class Side(msgspec.Struct):
    """One side of a difference: a pass with one value changed."""

    place: int
    theta: tuple[float, ...]
    number: int | None = None
    told: bool = False


class Row(msgspec.Struct, frozen=True):
    """One strength of a ridge path: what the linear model foresaw."""

    strength: float
    train: float
    validation: float | None
    farthest: float
    used: bool


class Record(msgspec.Struct, frozen=True):
    """A `Step`."""

    passes: float
    theta: tuple[float, ...]
    train: float | None
    validation: float | None
    label: str
    taken: bool
    extra: dict[str, float]


class State(msgspec.Struct):
    """All that the method knows.

    number     of the next pass
    base       where it is; origin: where the derivatives are of; best: what is to be used
    kept       passes whose scores are at hand, of the last linearisation
    distances  of the next differences, (n,); movement: of the last, centipawns, None unknown
    dead       whether the scores do not depend on a parameter at all
    estimate   the values without a ridge; deviation: their standard errors, None:
               unknown or infinite
    straight   whether the scores of the base are as the derivatives foresaw
    like       pairs of parameters that are not told apart
    path       by group
    """

    distances: list[float]
    movement: list[float | None]
    dead: list[bool]
    estimate: list[float]
    deviation: list[float | None]
    path: list[list[Row]]
    phase: Literal["start", "columns", "trial", "done"] = "start"
    number: int = 0
    first: Point | None = None
    base: Point | None = None
    origin: Point | None = None
    best: Point | None = None
    kept: list[Point] = []
    sides: list[Side] = []
    widened: bool = False
    group: int = 0
    idle: int = 0
    wanted: float = WANTED_MOVEMENT
    shrunk: int = 0
    straight: bool = False
    strength: float = 0.0
    refused: int = 0
    refused_theta: tuple[float, ...] | None = None
    trial: tuple[float, ...] | None = None
    trial_number: int | None = None
    foreseen: tuple[float, float | None] = (0.0, None)
    tried: list[tuple[float, ...]] = []
    stale: int = 0
    steps: int = 0
    like: dict[str, int] = {}
    course: list[Record] = []
    ended: str = ""
