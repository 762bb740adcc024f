"""Games that are played again move for move: expected before a run, counted after it.

A game of two engines that leave nothing to chance is settled by its opening and the
colours.  Played twice it is one observation, and whatever counts games as independent
(error bars, SPRT) takes it for two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ringmaster.model.players import Player
from ringmaster.model.resources import threads_of

#: Options that make an engine choose at random, and the values that turn them off.
_CHANCE = re.compile(r"random|book|skill|limitstrength|temperature|variety")
_OFF = ("false", "0", "", "none", "no_book", "<empty>")
#: Repeats that are fewer than this, or than this share of all games, are no reason to
#: doubt a test.
_FEW, _SHARE = 2, 0.02


def repeats_line(repeats: int, games: int) -> str:
    """Return a report's line on games that repeat an earlier one."""
    return (
        f"games that repeat an earlier one, move for move: {repeats} ({_distinct(repeats, games)})"
    )


def repeats_warning(repeats: int, games: int) -> str:
    """Return the reason to doubt a test whose games repeat; "" when few do."""
    if repeats < _FEW or repeats <= _SHARE * games:
        return ""
    return (
        f"{repeats} of {games} games repeat an earlier one, move for move: the SPRT takes "
        f"{_distinct(repeats, games)} for {games}"
    )


def _distinct(repeats: int, games: int) -> str:
    count = games - repeats
    return f"{count} distinct game{'' if count == 1 else 's'}"


def is_repeatable(player: Player) -> bool:
    """Return whether a player answers a position with the same move every time, as far as its
    settings say: nodes or depth and no time, one thread, nothing random."""
    if player.protocol == "gtp" or player.ponder:
        return False
    timed = player.time_control is not None or player.move_time is not None
    if timed or (player.nodes is None and player.depth is None):
        return False
    if (threads_of(player) or 1) > 1:
        return False
    return not any(
        _CHANCE.search(name.casefold().replace(" ", "")) and str(value).casefold() not in _OFF
        for name, value in player.options.items()
    )


def expected_repeats(
    players: Iterable[Player], size: int | None, games: int | None, colours: int, whose: str = ""
) -> str:
    """Return the warning that games will repeat, "" when they need not.

    size     openings of the book, None where that is not known
    games    that may be played, None for no limit
    colours  1 where they are fixed, 2 where both players have each
    whose    of whom the games are counted (" of a candidate")
    """
    if size is None or (games is not None and games <= colours * size):
        return ""
    if not all(map(is_repeatable, players)):
        return ""
    many = "no number of games is set" if games is None else f"{games} may be played"
    book = f"{size} opening{'' if size == 1 else 's'}"
    each = "with both colours" if colours == 2 else "with fixed colours"
    return (
        f"{book} {each} make {colours * size} different games{whose}, and {many}: with fixed nodes "
        "or depth and one thread the others repeat these move for move and prove nothing more; "
        "a larger opening file, or a time control, makes them differ"
    )
