"""What is kept of a closing match: who played with which values, under which
conditions, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.closing_match.settings import START, VerifySettings
from ringmaster.competitions.opening_settings import describe_openings
from ringmaster.competitions.pairs import Pairs
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.model.parameters import TunedParameter


class Conditions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the games of a match have in common; under others, it is another match.

    Everything as text: limits as they are reported, openings as the name of the file
    with what is taken of it.
    """

    against: str = START
    limits: str = ""
    openings: str = ""

    @classmethod
    def of(cls, settings: VerifySettings) -> Conditions:
        """Return what some settings ask for."""
        words = {
            "time_control": "{}",
            "move_time": "{:g} s a move",
            "nodes": "{} nodes",
            "depth": "depth {}",
        }
        limits = [
            words[name].format(value)
            for name, value in settings.limits.items()
            if value is not None
        ]
        text = ", ".join(
            str(value) if name == "file" else f"{name} {value}"
            for name, value in describe_openings(settings.openings).items()
        )
        return cls(settings.against, ", ".join(limits), text)

    def describe(self) -> str:
        """Return them as a line of a report, "" where they are those of the tune."""
        parts = []
        if self.limits:
            parts.append(f"limits: {self.limits}")
        if self.openings:
            parts.append(f"openings: {self.openings}")
        return "   ".join(parts)


class Match(msgspec.Struct):
    """A closing match; of constant size.

    told     iterations that the tuned values are of
    tuned    these values
    start    the values that the tune began with; None where a player is the opponent
    tally    the results; its first player has the tuned values
    first    number of the first pair's opening in the book
    games    the most that are played, as it was last asked for
    earlier  whether an earlier version began it: with the last θ for an estimate,
             and counting by no colours
    """

    told: int
    tuned: Named
    start: Named | None
    tally: Tally
    first: int = 0
    games: int = 0
    conditions: Conditions = Conditions()
    earlier: bool = False

    def values(self, player: int) -> Named:
        """Return what a player (0: tuned) is given, {} for one of the control file."""
        return self.tuned if player == 0 else self.start or {}


class _Earlier(msgspec.Struct):
    """A match as versions before 0.5 kept it."""

    values: list[float]
    told: int
    next: int = 0
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    pairs: Pairs = msgspec.field(default_factory=Pairs)


def read_matches(
    data: Sequence[Mapping[str, Any]],
    parameters: Sequence[TunedParameter],
    players: tuple[str, str],
    first: int,
) -> list[Match]:
    """Return the matches of a state, of this version or of the one before.

    parameters, players, first  what an earlier version's matches were of: these
                parameters, between these players, from this opening on
    """
    return [
        msgspec.convert(one, Match)
        if "tally" in one
        else _upgraded(msgspec.convert(one, _Earlier), parameters, players, first)
        for one in data
    ]


def _upgraded(
    earlier: _Earlier, parameters: Sequence[TunedParameter], players: tuple[str, str], first: int
) -> Match:
    wins, draws, losses = earlier.results
    tally = Tally(players, next=earlier.next, pairs=earlier.pairs)
    tally.by_colour[0] = [wins, losses, draws, 0]
    tuned = zip(parameters, earlier.values, strict=False)
    return Match(
        told=earlier.told,
        tuned={p.code: p.engine_value(value) for p, value in tuned},
        start={p.code: p.engine_value(p.start) for p in parameters},
        tally=tally,
        first=first,
        earlier=True,
    )
