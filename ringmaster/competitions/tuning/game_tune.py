"""The common base of spsa, clop_tuner and optuna_tuner, which tune by games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ringmaster.competitions.competition import Reaction
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE
from ringmaster.competitions.result_lines import (
    REMEDY,
    VoidKinds,
    count_void,
    sum_void_kinds,
    void_rule,
)
from ringmaster.competitions.tuning.player_tune import PlayerTune
from ringmaster.model.jobs import CheckJob
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult


class VoidCounts(Protocol):
    """The part of a tune's state that counts void games."""

    void: int
    void_excess: int
    void_kinds: VoidKinds


class GameTune(PlayerTune):
    """Base of the types that learn from games, in self-play or against opponents.

    opponents  by player code; empty in self-play
    """

    charts_read_usage = False

    opponents: dict[str, Player]
    _state: VoidCounts

    def prepare(self) -> None:
        self.book.load()
        self.closing.prepare()

    def warnings(self) -> list[str]:
        lines = self.closing.warnings(self._standing())
        lacking = not self.closing.has_openings if self._verifying else self.book.lacks_openings
        if lacking:
            lines.append(SAME_GAMES_OF_TUNE)
        return lines

    def reported_players(self) -> list[Player]:
        players = {p.code: p for p in (*super().reported_players(), *self.opponents.values())}
        return list(players.values())

    def _opponent_checks(self) -> list[CheckJob]:
        """Return the startup checks of the opponents."""
        return [
            CheckJob(f"check-{code}", player, self.settings)
            for code, player in self.opponents.items()
        ]

    def may_run_ahead(self, parallel: int) -> bool:
        """Return whether games may be issued before earlier results arrive.

        Values depend on the results that exist when they are chosen, so games that are
        played one at a time are also issued one at a time.
        """
        return parallel > 1

    def void_kinds(self) -> VoidKinds:
        return sum_void_kinds([self._state.void_kinds, self.closing.void_kinds()])

    def _record_void(
        self, line: str, result: GameResult, codes: Sequence[str], *, first: bool
    ) -> Reaction:
        """Count a void game of the tune.

        codes  its players, in the order of the result
        first  whether no game has counted yet
        """
        state = self._state
        state.void += 1
        count_void(state.void_kinds, result, codes)
        halt = void_rule(state.void_excess, result, first=first, what="this tune")
        return Reaction(line, replay=True, halt=halt and f"{halt}; {REMEDY}")
