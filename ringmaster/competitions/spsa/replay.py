"""θ after every iteration, from the recorded games: they are told to a fresh tuner in the
order of recording, under the terms of their time.

The state keeps about 2,000 points of θ, whatever the length of the tune, and the terms
before each edit of the control file.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from ringmaster.competitions.competition import Trajectory
from ringmaster.competitions.spsa.edits import MakeTune, Tune, adopt, begin
from ringmaster.competitions.spsa.pairing import Games
from ringmaster.competitions.spsa.state import Iteration, State
from ringmaster.competitions.spsa.tickets import Tickets
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import GameResult
from ringmaster.tuners.spsa import Spsa

#: How far θ may be from what the state has, as a part of the range: another machine's
#: NumPy may differ in the last digits.
_TOLERANCE = 1e-6


def trajectory(
    state: State,
    tuner: Spsa,
    tickets: Tickets,
    make: MakeTune,
    history: Iterable[tuple[Ticket, GameResult]],
) -> Trajectory:
    """Return θ after every iteration, in the order in which iterations were told.

    state, tuner  of the tune at the end of the history
    make          makes a tune that has no result

    Where a version that did not record edits has played under edited settings, the points
    of the state are returned with a note.
    """
    replay = Replay(state, tickets, make)
    points = list(replay.points(history))
    codes = tuple(state.codes)
    if replay.is_at(tuner):
        return Trajectory("iteration", codes, points)
    kept = [(told, codes, theta) for told, theta in tuner.trajectory.points()]
    every = tuner.trajectory.stride
    which = "iterations are" if every == 1 else f"only every {every}th iteration is"
    return Trajectory(
        "iteration",
        codes,
        kept,
        "the control file was edited under an earlier version, which kept no record of that: "
        f"{which} counted by when they came back, θ has seven digits",
    )


class Replay:
    """A tune that is told its recorded games again."""

    def __init__(self, state: State, tickets: Tickets, make: MakeTune) -> None:
        self._edits = list(state.edits)
        #: The terms after each edit.
        self._terms = [*(edit.terms for edit in self._edits[1:]), state.past.terms]
        first = self._edits[0].terms if self._edits else state.past.terms
        self._tickets = tickets
        self._make = make
        self._tune: Tune = make(begin(first))

    def points(
        self, history: Iterable[tuple[Ticket, GameResult]]
    ) -> Iterator[tuple[int, tuple[str, ...], array[float]]]:
        """Yield the number of an iteration, the codes of the parameters that were tuned,
        and θ after it."""
        layouts = self._tickets.past.layouts
        self._adopt()
        codes = self._codes()
        for k, iteration in self._iterations(history):
            tuner, past = self._tune.tuner, self._tune.past
            names = layouts[iteration.layout].codes
            sides = [
                [values.get(code, math.nan) for code in codes]
                for values in (
                    dict(zip(names, iteration.plus, strict=True)),
                    dict(zip(names, iteration.minus, strict=True)),
                )
            ]
            told = Games(self._tickets.games.pairing, iteration.size).told
            tuner.tell(k, sides[0], sides[1], iteration.result, told)
            past.before = None
            yield k, codes, array("d", tuner.theta.tolist())
            if self._adopt():
                codes = self._codes()

    def is_at(self, tuner: Spsa) -> bool:
        """Return whether the tune has come to the θ of a tuner."""
        own, width = self._tune.tuner, tuner.space.width
        if own.told != tuner.told or len(own.theta) != len(tuner.theta):
            return False
        return bool(np.all(np.abs(own.theta - tuner.theta) <= _TOLERANCE * width))

    def _codes(self) -> tuple[str, ...]:
        return tuple(p.code for p in self._tune.past.terms.tuned)

    def _adopt(self) -> bool:
        """Go over to the terms of the edits at this point; returns whether there are any."""
        edited = False
        while self._edits and self._edits[0].told == self._tune.tuner.told:
            edit = self._edits.pop(0)
            self._tune, _ = adopt(self._tune, self._terms.pop(0), edit.begun, self._make)
            edited = True
        return edited

    def _iterations(
        self, history: Iterable[tuple[Ticket, GameResult]]
    ) -> Iterator[tuple[int, Iteration]]:
        """Yield the iterations of which all games have come back, by when they did."""
        under_way: dict[int, Iteration] = {}
        games = self._tickets.games
        for ticket, result in history:
            if "v" in ticket or result.outcome == "void":
                continue
            k = ticket["k"]
            iteration = under_way.get(k)
            if iteration is None:
                iteration = under_way[k] = self._tickets.iteration(ticket)
            iteration.result += games.gain(self._tickets.sides(ticket), result.points(0))
            iteration.games += 1
            if iteration.games == iteration.size:
                yield k, under_way.pop(k)
