"""The common base of spsa, clop_tuner and optuna_tuner, which tune by games."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ringmaster.competitions.competition import Reaction, TunedOptions
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE
from ringmaster.competitions.result_lines import (
    GameCounts,
    VoidKinds,
    sum_void_kinds,
    void_excess,
)
from ringmaster.competitions.tournaments.matchup_report import describe_settings
from ringmaster.competitions.tuning.parameter_binding import tuned_options
from ringmaster.competitions.tuning.player_tune import PlayerTune
from ringmaster.model.jobs import CheckJob, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player
from ringmaster.model.report import Progress, Text
from ringmaster.model.results import GameResult

#: Column of wins, draws and losses by points.
COLUMN = {1.0: 0, 0.5: 1, 0.0: 2}


class GameTuneState(GameCounts, kw_only=True):
    """The part of the state that all these types have.

    matches  closing matches, as `ClosingMatches` stores them
    """

    matches: list[dict[str, Any]] = msgspec.field(default_factory=list)


class GameTune(PlayerTune):
    """Base of the types that learn from games, in self-play or against opponents.

    opponents  by player code; empty in self-play
    """

    charts_read_usage = False

    opponents: dict[str, Player]
    _state: GameTuneState

    @property
    @abstractmethod
    def _games(self) -> int:
        """Number of games of the tune that count."""

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

    def _optional(self) -> Iterable[TunedParameter]:
        """Return the parameters whose options the startup test may change alone."""
        return [p for p in self.parameters if not p.frozen]

    def tuned_options(self) -> TunedOptions | None:
        if self._verifying:
            return None
        start = self.start_values

        def maker(parameter: TunedParameter, end: float) -> Callable[[], Player]:
            changed = {**start, parameter.code: parameter.played_value(end)}
            return lambda: self._binding.player(":end", changed)

        ends = {
            p.code: [
                maker(p, end)
                for end in sorted((p.minimum, p.maximum), key=lambda end: -abs(end - p.start))
            ]
            for p in self._optional()
        }
        return tuned_options(self._check_id("start"), self._binding.player("", start), ends)

    def may_run_ahead(self, parallel: int) -> bool:
        """Return whether games may be issued before earlier results arrive.

        Values depend on the results that exist when they are chosen, so games that are
        played one at a time are also issued one at a time.
        """
        return parallel > 1

    def void_kinds(self) -> VoidKinds:
        return sum_void_kinds([self._state.void_kinds, self.closing.void_kinds()])

    # results

    def _record_of_tune(self, ticket: Ticket, result: GameResult) -> Reaction:
        state = self._state
        self._register_of_tune(ticket)
        line = self._line(ticket, result)
        state.void_excess = void_excess(state.void_excess, result)
        if result.outcome == "void":
            codes = self._codes(ticket, self.values["player"])
            halt = state.count_void(result, codes, first=not self._games)
            return Reaction(line, replay=True, halt=halt)
        state.repeats += result.repeats
        return self._learn(ticket, result, line)

    @abstractmethod
    def _codes(self, ticket: Ticket, own: str) -> tuple[str, str]:
        """Return the codes of a game's players, first mover first.

        own  code of the tuned player
        """

    @abstractmethod
    def _line(self, ticket: Ticket, result: GameResult) -> str:
        """Return a result's line for the display and the history."""

    @abstractmethod
    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        """Learn from a counted game."""

    # reports

    def _progress(self, total: int | None, phase: str = "tuning") -> Progress:
        """Return the progress of the tune and its closing match.

        total  games of the tune to its end, None without a limit
        """
        standing = self._standing()
        played, wanted = self.closing.progress(standing)
        if self._verifying:
            return Progress(played, wanted, phase="closing match")
        before = self.closing.completed - played
        if not standing.due:
            # a match of the present values belongs to the earlier ones
            before, played = self.closing.completed, 0
            wanted = 0 if self.closing.settings is None else self.closing.settings.games
        return Progress(
            self._games + before + played,
            None if total is None else total + before + wanted,
            phase="closing match" if standing.due else phase,
        )

    def _conditions(self) -> list[Text]:
        """Return a report's lines on the settings and on void and repeated games."""
        lines = [describe_settings(self.settings), *self._state.lines(self._games)]
        shown = tuple(filter(None, lines))
        return [Text(shown)] if shown else []
