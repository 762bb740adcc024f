"""What tunes of one player have in common, however they learn: the parameters, how the player
is given them, and the closing match of the tuned against the start values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from ringmaster.competitions.closing_match import ClosingMatches, Sides, Standing
from ringmaster.competitions.competition import Competition, MatchupInfo
from ringmaster.competitions.delivery import Delivery
from ringmaster.competitions.opening_settings import OpeningBook
from ringmaster.competitions.players import PLAYER, PlayerDefinition
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.errors import SettingError
from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, Task, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import GameName, Player
from ringmaster.model.settings import Function, Maybe, Setting, SettingPath

#: How the player is made, where options are not enough.
MAKE_CANDIDATE = Setting(
    "make_candidate",
    Maybe(
        Function(
            "a function that takes parameter values by name and returns a Player",
            result=PLAYER,
        )
    ),
    "Makes a player from parameter values; by default they are engine options.",
    None,
)


class PlayerTune(Competition):
    """Base of the types that tune one player.

    parameters  all of them
    settings    of the games
    book        the openings of the tune
    closing     the closing matches
    """

    settings: GameSettings
    book: OpeningBook
    closing: ClosingMatches

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.parameters: tuple[TunedParameter, ...] = values["parameters"]
        #: Whether the closing match is all that is played now (the action `verify`).
        self._verifying = False

    def _use(self, definition: PlayerDefinition, counted: str) -> None:
        """Take the player that is tuned; `settings` must be there.

        counted  what the tune counts: iterations, passes
        Raises SettingError, SettingErrors for what makes no player, and no match.
        """
        values = self.values
        self._delivery = Delivery(
            self.parameters, values["player"], self._game, definition, values["make_candidate"]
        )
        self.book = OpeningBook(values["openings"], self._game, values["seed"], values["variant"])
        # a wrong candidate must be known before the first job
        self.candidate("", self.start_values)
        self.closing = ClosingMatches(
            values["verify"],
            sides=Sides(values["player"], values["players"], self.candidate, self.settings),
            parameters=self.parameters,
            book=self.book,
            seed=values["seed"],
            counted=counted,
        )

    # values and players

    def candidate(self, suffix: str, values: Mapping[str, int | float]) -> Player:
        """Return the player with the given values of all parameters.

        suffix  what its code ends with
        Raises SettingError when the values do not make a player.
        """
        return self._delivery.player(suffix, values)

    @property
    def start_values(self) -> Named:
        """The values that the tune begins with, of all parameters."""
        return {p.code: p.engine_value(p.start) for p in self.parameters}

    @abstractmethod
    def estimated(self) -> Named:
        """Return what the tune has come to, of all parameters, as engines are given it."""

    def function_failures(self) -> list[SettingError]:
        return self._delivery.failures_between()

    def _shown(self, place: int, value: float) -> Any:
        """Return what an engine is given for a value of the parameter at a place; in the
        place of one that cannot be made, that it fails."""
        try:
            return self._delivery.value(place, self.parameters[place].engine_value(value))
        except SettingError as error:
            return f"[{error.path[-1]} fails at {value:g}]"

    def _candidate_checks(self, samples: Mapping[str, Named]) -> list[CheckJob]:
        """Return startup checks of the player with values, by what these are called."""
        code = self.values["player"]
        return [
            CheckJob(f"check-{code}-{name}", self.candidate("", values), self.settings)
            for name, values in samples.items()
        ]

    def place_of(self, code: str) -> SettingPath:
        made = self.values["make_candidate"] is not None and code == self.values["player"]
        return ("make_candidate",) if made else ("players", code)

    # the closing match

    @property
    @abstractmethod
    def all_told(self) -> bool:
        """Whether the tune itself is done."""

    @abstractmethod
    def _standing(self) -> Standing:
        """Return where the tune is, for the closing match."""

    @property
    def _due(self) -> bool:
        """Whether a closing match is what is to be played now: it was asked for, or the tune
        is done and the control file wants one."""
        return self._verifying or (self.closing.settings is not None and self.all_told)

    def verify(self, games: int | None = None) -> None:
        self._verifying = True
        self.closing.ask(games)

    @property
    def ending(self) -> str:
        if not self._verifying:
            return super().ending
        nothing = self.closing.nothing(self._standing())
        return "nothing to verify" if nothing else "closing match complete"

    def finished(self) -> bool:
        standing = self._standing()
        return self.closing.complete(standing) if standing.due else self.all_told

    def matchup_infos(self) -> list[MatchupInfo]:
        return self.closing.infos(self._standing())

    # giving out

    @abstractmethod
    def _count(self, ticket: Ticket) -> bool:
        """Learn from a ticket what has been given out; idempotent.  Returns whether its
        result is awaited."""

    def _give_out(self, job_id: str, ticket: Ticket) -> Task:
        """Make a job, then count it: a function of the control file may fail, and then the
        job has not been given out."""
        job = self.make_job(job_id, 0, ticket)
        self._count(ticket)
        return job

    def _game_of_match(self) -> Task | None:
        """Give out a game of the closing match, where one is due."""
        standing = self._standing()
        following = self.closing.next_game(standing) if standing.due else None
        return None if following is None else self._give_out(*following)

    def _match_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        """Return a game of the closing match."""
        first, second = self.closing.sides(ticket)
        return self._game_job(
            game_id,
            attempt,
            (first.player, second.player),
            self.settings,
            ticket,
            self.closing.opening(ticket),
            (first.values, second.values),
            round=self.closing.round_of(ticket),
        )
