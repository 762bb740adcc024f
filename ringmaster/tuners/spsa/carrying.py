"""A tune that goes on under other settings: with more parameters, fewer, other bounds,
another method."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ringmaster.tuners.spsa.tuner import Spsa


class Former(msgspec.Struct, frozen=True):
    """A parameter that is not tuned any more.

    value   where it was left
    sums    what the results say of it (`Regression.column`)
    course  its part of the trajectory: (iterations told, θ)
    """

    value: float
    sums: list[float]
    course: list[tuple[int, float]]


def former(tune: Spsa, i: int, value: float) -> Former:
    """Return a parameter of a tune as it is left at a value."""
    course = tune.trajectory.column(i)[:-1]
    return Former(value, tune.regression.column(i), [*course, (tune.told, value)])


def carry_on(
    tune: Spsa,
    earlier: Spsa,
    places: Sequence[int | None],
    formers: Sequence[Former | None],
    *,
    same_method: bool,
) -> None:
    """Let `tune`, which has no result, go on where `earlier` has come to.

    places       for each parameter of `tune` its index in `earlier`, None if it was not
                 tuned there
    formers      what is known of each that was tuned once, else None: it begins at its
                 start
    same_method  whether the method and all that it knows of parameters are the same

    A parameter that clipping moves, or that was not tuned, begins its averages anew;
    results count for those that they are of.
    """
    tune.told = earlier.told
    before = earlier.theta
    theta = tune.space.start.copy()
    for i, (place, known) in enumerate(zip(places, formers, strict=True)):
        if place is not None:
            theta[i] = before[place]
            tune.regression.set_column(i, earlier.regression.column(place))
        elif known is not None:
            theta[i] = known.value
            tune.regression.set_column(i, known.sums)
    inside = tune.space.clip(theta)
    tune.regression.games = earlier.regression.games
    tune.regression.squares = earlier.regression.squares
    if same_method:
        tune.memory = {name: array.copy() for name, array in earlier.memory.items()}
    else:
        tune.memory = tune.method.resume(inside, tune.regression, tune.told)
    begun = [p if a == b else None for p, a, b in zip(places, theta, inside, strict=True)]
    tune.averages = earlier.averages.rearranged(begun, tune.theta)
    courses = [
        known.course if known is not None else [(0, float(value))]
        for known, value in zip(formers, tune.theta, strict=True)
    ]
    tune.trajectory = earlier.trajectory.rearranged(places, courses)
