"""Lists of competitors, as the tournaments have them that make their own matchups."""

from __future__ import annotations

from typing import Any

from ringmaster.competitions.game_settings import GAME_SETTINGS
from ringmaster.model.settings import CallOf, Identifier, Integer, ListOf, Maybe, Setting


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


def only_appended(before: Any, now: list[str]) -> str:
    """Return why a change of the competitors is refused: "" when the earlier
    ones are all there, in their old order, before any new ones.

    before  a list too, or None for an event that had no such setting
    """
    if before is None or now[: len(before)] == before:
        return ""
    gone = [code for code in before if code not in now]
    if gone:
        what = f"{', '.join(gone)} took part before and must stay in the list"
    else:
        what = "the earlier competitors must keep their places"
    return f"{what}; new ones can be added at its end only (it was {', '.join(before)})"


def roster(name: str, text: str, *, minimum: int = 1, added: str = "") -> Setting:
    """Return the setting of a list of competitors.

    text   what they are, for the reference
    added  what becomes of those that are added
    """
    return Setting(
        name,
        ListOf(COMPETITOR, minimum=minimum),
        f"{text}; more can be added at the end between runs{added}.",
        rule=only_appended,
        limits="New ones may be added at the end; none may be removed or change places.",
    )


ROUNDS_SETTING = Setting(
    "rounds",
    Maybe(Integer(minimum=0)),
    "Games to play for each pairing; None: no limit.",
    None,
)

#: Settings of games that say how strong two players are: without handicaps.
EVEN_GAME_SETTINGS = tuple(s for s in GAME_SETTINGS if "handicap" not in s.name)
