"""Players of a tournament, one for each set of limits and options that matchups give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringmaster.competitions.common_settings import PlayerDefinition, find_player
from ringmaster.errors import SettingError
from ringmaster.model.players import Player
from ringmaster.model.settings import SettingPath


class MadePlayers:
    """Players by code; equal definitions share a player."""

    def __init__(self) -> None:
        self._made: dict[str, list[tuple[PlayerDefinition, Player]]] = {}

    def make(self, values: Mapping[str, Any], code: str, path: SettingPath) -> Player:
        """Return a player of the control file.  Raises SettingError.

        values  settings of the competition, or of the player's matchup
        path    place of the code in the settings
        """
        definition = find_player(values, code, path)
        made = self._made.setdefault(code, [])
        player = next((p for d, p in made if d == definition), None)
        if player is None:
            try:
                player = definition.make(code, values["game"])
            except SettingError as error:
                raise error.under("players", code) from None
            made.append((definition, player))
        return player

    def all(self) -> list[Player]:
        """Return all players."""
        return [player for made in self._made.values() for _, player in made]

    def has_several(self, code: str) -> bool:
        """Return whether matchups give a player different limits or options."""
        return len(self._made[code]) > 1
