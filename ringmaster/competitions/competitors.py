"""Lists of competitors, as the tournaments have them that make their own matchups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ringmaster.competitions.game_settings import GAME_SETTINGS
from ringmaster.errors import SettingError
from ringmaster.model.settings import CallOf, Identifier, Integer, ListOf, Maybe, Setting
from ringmaster.model.wording import nearest, shown


class _Competitor(CallOf):
    def describe(self) -> str:
        return "a player code"


#: Gomill's documentation has plain player codes only; its control files may say
#: Competitor("code") as well.
COMPETITOR = _Competitor(
    "Competitor",
    (Setting("player", Identifier(), "Code of the player."),),
    lambda values, context: values["player"],
    positional=("player",),
    shorthand=True,
)


def roster(name: str, text: str, *, minimum: int = 1, added: str = "") -> Setting:
    """Return the setting of a list of competitors.

    text   what they are, for the reference
    added  what becomes of those that are added
    """
    return Setting(
        name,
        ListOf(COMPETITOR, minimum=minimum),
        f"{text}; more can be added between runs{added}.  Those that are removed play no more, "
        "as if they were ``withdrawn``.",
    )


WITHDRAWN_SETTING = Setting(
    "withdrawn",
    ListOf(Identifier()),
    "Codes of players that play no more.  Their results stay in the tables; they may come back.",
    (),
)


def check_withdrawn(withdrawn: Sequence[str], codes: Collection[str]) -> list[SettingError]:
    """Return an error for each withdrawn player that does not take part."""
    return [
        SettingError(("withdrawn", i), f"{shown(code)} does not take part", nearest(code, [*codes]))
        for i, code in enumerate(withdrawn)
        if code not in codes
    ]


class Field:
    """The players of a tournament over all its runs.

    entered    by roster, all that have ever taken part: each keeps its place, and so the
               ids of its matchups stay
    withdrawn  players that play no more: by the setting, or since they have been removed
               from the control file's lists
    """

    def __init__(self, rosters: Mapping[str, Sequence[str]], withdrawn: Sequence[str]) -> None:
        self.entered = {name: tuple(codes) for name, codes in rosters.items()}
        self._listed = {code for codes in rosters.values() for code in codes}
        self.withdrawn = list(dict.fromkeys(withdrawn))

    def resume(self, before: Mapping[str, Sequence[str]]) -> bool:
        """Let the players of earlier runs keep their places; returns whether any place has
        changed.

        before  by roster, all that had taken part
        """
        entered = {
            name: tuple(dict.fromkeys((*before[name], *codes)))
            for name, codes in self.entered.items()
        }
        changed = entered != self.entered
        self.entered = entered
        removed = [c for codes in entered.values() for c in codes if c not in self._listed]
        self.withdrawn = list(dict.fromkeys((*self.withdrawn, *removed)))
        return changed


ROUNDS_SETTING = Setting(
    "rounds",
    Maybe(Integer(minimum=0)),
    "Games to play for each pairing; None: no limit.",
    None,
)

#: Settings of games that say how strong two players are: without handicaps.
EVEN_GAME_SETTINGS = tuple(s for s in GAME_SETTINGS if "handicap" not in s.name)
