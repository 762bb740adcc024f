"""What an spsa event carries from result to result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.competitions.spsa.edits import Past, begin
from ringmaster.competitions.spsa.played import Layout
from ringmaster.competitions.spsa.terms import Terms
from ringmaster.competitions.voids import VoidKinds
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


class Edit(msgspec.Struct):
    """An edit of the control file.

    told, begun  iterations told, and those of which a game had been given out
    terms        the settings before it
    """

    told: int
    begun: int
    terms: Terms


class State(msgspec.Struct):
    """The state that a tune carries from result to result; its size grows with edits only.

    past       the settings that all of this is of
    tuner      the tuner's own state
    iteration, game  the next game to be given out: of this iteration, from 1, its
               number, from 0
    open       iterations under way, by number
    results    wins, draws, losses of θ⁺, against θ⁻ or the opponent
    results_minus  of θ⁻ against the opponent
    against    of both together, by opponent, where there are several
    matches    the closing matches, as ClosingMatches keeps them
    edits      edits of what the tune learns by, in order
    repeats    games of the tune that repeat an earlier one, whatever the values were
    """

    past: Past
    tuner: dict[str, Any]
    told: int = 0
    iteration: int = 1
    game: int = 0
    open: dict[str, Iteration] = msgspec.field(default_factory=dict)
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    results_minus: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    against: dict[str, list[int]] = msgspec.field(default_factory=dict)
    void: int = 0
    void_in_a_row: int = 0
    matches: list[dict[str, Any]] = msgspec.field(default_factory=list)
    edits: list[Edit] = msgspec.field(default_factory=list)
    repeats: int = 0

    def record_edit(self, begun: int, before: Terms, after: Terms) -> None:
        """Record that the terms have changed; edits without a game between are one."""
        if before == after:
            return
        last = self.edits[-1] if self.edits else None
        if last is not None and (last.told, last.begun) == (self.told, begun):
            before = self.edits.pop().terms
        if before != after:
            self.edits.append(Edit(self.told, begun, before))

    void_kinds: VoidKinds = msgspec.field(default_factory=dict)

    @property
    def codes(self) -> list[str]:
        """Codes of the tuned parameters."""
        return [p.code for p in self.past.terms.tuned]

    @property
    def method(self) -> str:
        """Name of the method that the tuner's state is of."""
        return str(self.past.terms.settings["method"])

    @property
    def begun(self) -> int:
        """Iterations of which a game has been given out."""
        return self.iteration if self.game else self.iteration - 1

    @property
    def completed(self) -> int:
        """Games of the tune that count."""
        return sum(self.results) + sum(self.results_minus)


def read_state(data: Mapping[str, Any], terms: Terms, fresh: Mapping[str, Any]) -> State:
    """Return a stored state, also one of a version that knew the classic method only and
    did not keep its terms.

    terms  the present ones
    fresh  the state of a tuner without results
    Raises StateRefused where an earlier version's tune would go on otherwise.
    """
    if "past" in data:
        return msgspec.convert(data, State)
    if terms.settings["method"] != "classic":
        raise StateRefused(
            "this tune was begun by a version of ringmaster whose only method was 'classic'; "
            "method = 'classic' goes on with it (c_end, r_end, alpha, gamma and A mean what "
            "they meant), `reset` begins anew",
            ("method",),
        )
    if data["codes"] != [p.code for p in terms.tuned] or len(terms.parameters) > len(data["codes"]):
        raise StateRefused(
            f"the tune is of {', '.join(data['codes'])}, and was begun by a version of "
            "ringmaster that could not change that; put the parameters back for one run, or "
            "use reset",
            ("parameters",),
        )
    settings = {**terms.settings, "number_of_games": 2 * data["iterations"]}
    upgraded = {
        name: value for name, value in data.items() if name not in ("codes", "next", "iterations")
    }
    past = begin(msgspec.structs.replace(terms, settings=settings))
    # its tickets have the values themselves
    past.layouts = [Layout(data["codes"], [0] * len(data["codes"]))]
    upgraded["past"] = msgspec.to_builtins(past)
    if "theta" in data:
        theta = [p.clip(v) for p, v in zip(terms.tuned, upgraded.pop("theta"), strict=True)]
        upgraded["tuner"] = {
            **fresh,
            "told": data["told"],
            "memory": {"theta": theta},
            # the mean is that of the iterates from here on
            "averages": {**fresh["averages"], "last": theta},
        }
    upgraded["iteration"], upgraded["game"] = data["next"] // 2 + 1, data["next"] % 2
    return msgspec.convert(upgraded, State)
