"""Tournaments that make their own matchups of lists of competitors, all on the same terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ringmaster.competitions.anchor import check_anchor
from ringmaster.competitions.common import noting
from ringmaster.competitions.competitors import check_withdrawn
from ringmaster.competitions.game_settings import make_game_settings
from ringmaster.competitions.tournament import Tournament
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.jobs import GameSettings


class RosterTournament(Tournament):
    """A tournament with `rosters`."""

    def _check_players(self, **lists: Sequence[str]) -> None:
        """Look at the players of the settings that list competitors, by the names of these
        settings; nobody may be listed twice.  Raises SettingErrors."""
        errors: list[SettingError] = []
        seen: list[str] = []
        for name, codes in lists.items():
            for i, code in enumerate(codes):
                with noting(errors):
                    if code in seen:
                        raise SettingError(
                            (name, i),
                            f"competitor {code!r} is listed twice",
                            "each player once",
                        )
                    seen.append(code)
                    self._player(code, (name, i))
        with noting(errors):
            check_anchor(self.values["anchor"], seen)
        errors += check_withdrawn(self.values["withdrawn"], seen)
        if errors:
            raise SettingErrors(errors)

    @cached_property
    def _even_settings(self) -> GameSettings:
        """Settings of the games of a tournament that are all on the same terms."""
        return make_game_settings(self._game, self.values)

    def _add_even(self, id: str, first: str, second: str) -> None:
        """Add a matchup of two competitors on the terms of all, unless the control file
        lacks one of them: then its results are all that is left."""
        if first != second and {first, second} <= self.values["players"].keys():
            self._add(
                id,
                None,
                (self._player(first, self.rosters), self._player(second, self.rosters)),
                self._even_settings,
                self.values["openings"],
                alternating=True,
                number_of_games=self.values["rounds"],
                sprt=self.values["sprt"],
            )
