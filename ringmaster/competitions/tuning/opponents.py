"""The opponents of a tuned player: the setting, the players, and the results against them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any

from ringmaster.competitions.common_settings import find_player, placed
from ringmaster.competitions.tally import Tally
from ringmaster.errors import shown
from ringmaster.model.players import Player
from ringmaster.model.settings import (
    INVALID,
    Context,
    DictOf,
    Identifier,
    Integer,
    SettingPath,
    SettingType,
)


class Opponents(SettingType):
    """A player code, a list of codes, or a dictionary of code to weight.

    A list is interpreted as a dictionary with equal weights.
    """

    _CODE = Identifier()
    _WEIGHTS = DictOf(_CODE, Integer(minimum=1, maximum=1000))

    def describe(self) -> str:
        return "a player code, a list of player codes, or a dictionary of player code to weight"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str):
            return self._CODE.interpret(value, path, context)
        if isinstance(value, list | tuple):
            codes = [
                self._CODE.interpret(code, (*path, i), context) for i, code in enumerate(value)
            ]
            if INVALID in codes:
                return INVALID
            duplicate = next((code for i, code in enumerate(codes) if code in codes[:i]), None)
            if duplicate is not None:
                return context.refuse(
                    path,
                    f"{duplicate!r} is listed twice",
                    f"{{{duplicate!r}: 2, …}} for a weight of 2",
                )
            value = dict.fromkeys(codes, 1)
        if not isinstance(value, Mapping):
            return context.refuse(path, f"{shown(value)} is not a player code", self.describe())
        if not value:
            return context.refuse(path, "the list of opponents is empty", self.describe())
        return self._WEIGHTS.interpret(value, path, context)


def opponent_weights(values: Mapping[str, Any]) -> dict[str, int]:
    """Return the weights of the opponents by player code, {} in self-play."""
    opponent = values.get("opponent")
    if opponent is None:
        return {}
    return {opponent: 1} if isinstance(opponent, str) else dict(opponent)


def make_player(values: Mapping[str, Any], code: str, path: SettingPath) -> Player:
    """Return a player of the control file that the setting `path` names.  Raises SettingError."""
    definition = find_player(values, code, path)
    with placed("players", code):
        return definition.make(code, values["game"])


def weighted_cycle(weights: Mapping[str, int]) -> tuple[str, ...]:
    """Return the opponents (or time controls) of consecutive openings, spread by weight."""
    places = [((i + 0.5) / n, code) for code, n in weights.items() for i in range(n)]
    # equal places stay in the order of the weights
    return tuple(code for _, code in sorted(places, key=itemgetter(0)))


def wins_draws_losses(tallies: Iterable[Tally], opponent: str | None = None) -> list[int]:
    """Return the tuned player's results, against one opponent or all; an unknown one is a draw."""
    those = [tally for tally in tallies if opponent in (None, tally.players[1])]
    draws = sum(tally.total(2) + tally.total(3) for tally in those)
    return [sum(t.total(0) for t in those), draws, sum(t.total(1) for t in those)]


def results_text(tallies: Iterable[Tally], opponent: str | None = None) -> str:
    wins, draws, losses = wins_draws_losses(tallies, opponent)
    return f"wins {wins}, draws {draws}, losses {losses}"


def results_data(tallies: Iterable[Tally], opponent: str | None = None) -> dict[str, int]:
    counts = wins_draws_losses(tallies, opponent)
    return dict(zip(("wins", "draws", "losses"), counts, strict=True))


def opponents_data(tallies: Collection[Tally], weights: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the results against each opponent for `show --json`."""
    return [
        {"code": code, "weight": weight, **results_data(tallies, code)}
        for code, weight in weights.items()
    ]


#: Games of one result after which an opponent counts as too weak or too strong.
_TELLING = 20


def uninformative(tallies: Iterable[Tally]) -> list[str]:
    """Return a warning about each opponent whose games tell nothing."""
    lines = []
    for tally in tallies:
        code, games, counts = tally.players[1], tally.completed, wins_draws_losses([tally])
        if games < _TELLING or games not in counts:
            continue
        did, advice = (
            ("won", "a stronger opponent, or more time for it"),
            ("drawn", "a longer or an unbalanced set of openings"),
            ("lost", "a weaker opponent, or less time for it"),
        )[counts.index(games)]
        text = f"candidates have {did} all {games} games against {code}; use {advice}"
        lines.append(f"no information: {text}")
    return lines
