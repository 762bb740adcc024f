"""Both sides of a closing match: who they are, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from ringmaster.competitions.closing_match.settings import START, VerifySettings
from ringmaster.competitions.players import PlayerDefinition, check_player, find_player
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.errors import SettingError
from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player


class Side(msgspec.Struct, frozen=True):
    """One side of a game: the player, and the parameter values it has."""

    player: Player
    values: Named


class Sides(msgspec.Struct, frozen=True):
    """What the players of closing matches are made of.

    code         of the player that is tuned
    definitions  the players of the control file
    candidate    makes the tuned player of a suffix to its code and parameter values
    game         settings of the games
    """

    code: str
    definitions: Mapping[str, PlayerDefinition]
    candidate: Callable[[str, Named], Player]
    game: GameSettings

    def codes(self, against: str) -> tuple[str, str]:
        """Return the codes of both sides, the tuned one's first."""
        other = f"{self.code}:{START}" if against == START else against
        return f"{self.code}:tuned", other

    def of(self, settings: VerifySettings, tuned: Named, start: Named | None) -> tuple[Side, Side]:
        """Return both sides, the tuned one first.  Raises SettingError.

        start  the values of the other side where that is the tuned player, too
        """
        first = Side(self._candidate(settings, ":tuned", tuned), tuned)
        if start is None or settings.against != START:
            return first, Side(self._opponent(settings), {})
        return first, Side(self._candidate(settings, f":{START}", start), start)

    def check_jobs(
        self, settings: VerifySettings, tuned: Named | None, start: Named
    ) -> list[CheckJob]:
        """Return the startup checks of both sides; without tuned values, those of what
        the tune does not check: other limits, another player."""
        candidates = {}
        if tuned is not None:
            candidates["tuned"] = tuned
            if settings.against == START:
                candidates[START] = start
        elif settings.limits:
            candidates["closing match"] = start
        jobs = [
            CheckJob(f"check-{self.code}-{name}", self._candidate(settings, "", values), self.game)
            for name, values in candidates.items()
        ]
        if settings.against != START:
            opponent = self._opponent(settings)
            jobs.append(CheckJob(f"check-{opponent.code}", opponent, self.game))
        return jobs

    def _candidate(self, settings: VerifySettings, suffix: str, values: Named) -> Player:
        return _limited(self.candidate(suffix, values), settings)

    def _opponent(self, settings: VerifySettings) -> Player:
        """Return the opponent that is a player of the control file."""
        against, path = settings.against, ("verify", "against")
        if against == self.codes(START)[0]:
            raise SettingError(path, f"{against!r} is what the tuned side is called here")
        definition = find_player(self.definitions, against, path)
        try:
            player = definition.make(against, self.game.game)
        except SettingError as error:
            raise error.under("players", against) from None
        return _limited(player, settings)


def _limited(player: Player, settings: VerifySettings) -> Player:
    """Return a player with the limits of the closing match.  Raises SettingError for
    those that its protocol does not have."""
    if not settings.limits:
        return player
    player = msgspec.structs.replace(player, **settings.limits)
    try:
        check_player(player)
    except SettingError as error:
        # what else there is to check was right before
        raise error.under("verify") from None
    return player
