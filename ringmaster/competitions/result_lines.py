"""Describe results in lines for displays and reports: single games, void games, repeated games.

A game between two deterministic engines is determined by its opening and colours.  Statistics
that assume independent games (error bars, SPRT) count each repeat as new evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ringmaster.errors import counted
from ringmaster.model.players import Player, threads_of
from ringmaster.model.results import STANDSTILL, EvaluationResult, GameResult

#: Number of void results by the code of the faulty player ("" for no player) and by reason.
VoidKinds = dict[str, dict[str, int]]

#: Void results that end a run before the first counted one, and later by how many they must
#: exceed the counted ones.
FIRST_VOID, MOST_VOID = 5, 12

#: Remedies for a tune that void games have ended.
REMEDY = (
    'repair the engine and run again, or have crashes and hangs lose the game (failures = "loss")'
)

#: Singular and plural of a reason; other reasons have one form.
_WORDS = {
    "crash": ("crash", "crashes"),
    "hang": ("hang", "hangs"),
    "limit": ("exceeded limit", "exceeded limits"),
    "protocol": ("protocol error", "protocol errors"),
    "start": ("failed start", "failed starts"),
    "refused": ("refusal", "refusals"),
    "illegal move": ("illegal move", "illegal moves"),
    "setup": ("failed setup", "failed setups"),
    STANDSTILL: ("standstill of the computer", "standstills of the computer"),
}


def finite(value: float | None) -> float | None:
    """Return a number, None if it is not finite: JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


def result_reason(result: GameResult) -> str:
    """Return the reason of a result as " (reason)", "" where the score tells it."""
    detail = result.detail.splitlines()[0] if result.detail else ""
    # the log and the record give the seconds
    reason = result.reason if result.reason == "time" else detail or result.reason
    if result.winner is not None and result.reason == "score" and not detail:
        return ""
    return f" ({reason})"


def result_line(result: GameResult, codes: tuple[str, str]) -> str:
    """Return a result's line for the display and the history.

    codes  the players, in the order of the result
    """
    head = f"game {result.game_id}:"
    if result.outcome == "void":
        detail = result.detail.splitlines()[0] if result.detail else ""
        attempt = f", attempt {result.attempt + 1}" if result.attempt else ""
        return f"{head} void ({result.reason}{attempt}): {detail}"
    reason = result_reason(result)
    if result.winner is not None:
        winner, loser = codes[result.winner], codes[1 - result.winner]
        return f"{head} {winner} beat {loser} {result.score}{reason}"
    if result.outcome == "draw":
        return f"{head} {codes[0]} v {codes[1]} draw {result.score}{reason}"
    return f"{head} {codes[0]} v {codes[1]} no result{reason}"


# void games


def void_excess(excess: int, result: GameResult | EvaluationResult) -> int:
    """Return how many void results exceed the counted ones, after a result: 0 to MOST_VOID.

    The excess is a walk that stays at 0 or above (Page's cumulative sum), so it measures the
    latest results.  A player that fails once in seven games reaches MOST_VOID before 10,000
    games with probability 6e-5, one that fails in every second game after some 150.

    excess  before the result
    """
    if result.outcome != "void":
        return max(0, excess - 1)
    return excess if result.reason == STANDSTILL else min(MOST_VOID, excess + 1)


def void_reason(excess: int, *, first: bool) -> str:
    """Return why void results end a run, "" if they do not.

    first  whether no result has counted yet
    """
    if first and excess >= FIRST_VOID:
        return f"{excess} void results and none that counts"
    return f"{excess} more void results than counted ones lately" if excess >= MOST_VOID else ""


def void_rule(excess: int, result: GameResult | EvaluationResult, *, first: bool, what: str) -> str:
    """Return the reason to end a run after a void result, "" without one.

    excess, first  as in `void_reason`, this result included
    what           name of the run or match, for the message
    """
    if result.reason == STANDSTILL:
        return ""
    if result.attempt + 1 >= MOST_VOID:
        return f"{result.id} was void {result.attempt + 1} times"
    reason = void_reason(excess, first=first)
    return reason and f"{what} has {reason}"


def void_halt(excess: int, result: GameResult, *, first: bool, what: str) -> str:
    """Return the reason to end a tune after a void game, with its remedy; "" without one."""
    reason = void_rule(excess, result, first=first, what=what)
    return reason and f"{reason}; {REMEDY}"


def count_void(
    kinds: VoidKinds, result: GameResult | EvaluationResult, codes: Sequence[str]
) -> None:
    """Count a void result.

    codes  players of a game, in the order of the result; the one player of an evaluation
    """
    faulty = 0 if isinstance(result, EvaluationResult) else result.faulty
    reasons = kinds.setdefault("" if faulty is None else codes[faulty], {})
    reason = result.reason or "other"
    reasons[reason] = reasons.get(reason, 0) + 1


class GameCounts(msgspec.Struct, kw_only=True):
    """The part of a tune's state that counts void and repeated games.

    void_excess  of void games over counted ones lately (`void_excess`)
    repeats      games that repeat an earlier one
    """

    void: int = 0
    void_excess: int = 0
    void_kinds: VoidKinds = {}
    repeats: int = 0

    def count_void(self, result: GameResult, codes: Sequence[str], *, first: bool) -> str:
        """Count a void game, and return the reason why it ends the run, "" without one.

        codes  its players, in the order of the result
        first  whether no game has counted yet
        """
        self.void += 1
        count_void(self.void_kinds, result, codes)
        return void_halt(self.void_excess, result, first=first, what="this tune")

    def lines(self, games: int) -> list[str]:
        """Return a report's lines on void and repeated games, beside `games` counted ones."""
        lines = [void_line(self.void_kinds, self.void)] if self.void else []
        return lines + ([repeats_line(self.repeats, games)] if self.repeats else [])


def sum_void_kinds(all: Sequence[Mapping[str, Mapping[str, int]]]) -> VoidKinds:
    """Return the sum of several counts."""
    total: VoidKinds = {}
    for kinds in all:
        for code, reasons in kinds.items():
            counts = total.setdefault(code, {})
            for reason, count in reasons.items():
                counts[reason] = counts.get(reason, 0) + count
    return total


def void_by_player(kinds: Mapping[str, Mapping[str, int]]) -> str:
    """Return "b: 3 crashes, 1 hang; a: 1 crash", the player with most void games first."""
    order = sorted(kinds.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return "; ".join(f"{code or 'no player at fault'}: {_reasons(r)}" for code, r in order)


def void_line(kinds: Mapping[str, Mapping[str, int]], total: int, *, unit: str = "games") -> str:
    """Return a report's line on void results."""
    return f"void {unit} (not counted): {total} ({void_by_player(kinds)})"


def lost_line(kinds: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a report's line on games lost by a fault, [] without any.

    kinds  number of games by the code of the faulty player and by reason
    """
    faulty = {code: reasons for code, reasons in kinds.items() if reasons}
    total = sum(sum(reasons.values()) for reasons in faulty.values())
    return [f"games lost by a fault: {total} ({void_by_player(faulty)})"] if total else []


def _reasons(reasons: Mapping[str, int]) -> str:
    order = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    words = [(count, *_WORDS.get(reason, (reason, reason))) for reason, count in order]
    return ", ".join(f"{count} {one if count == 1 else several}" for count, one, several in words)


# repeated games

#: Options that make an engine choose at random, and values that switch them off.
_CHANCE = re.compile(r"random|book|skill|limitstrength|temperature|variety")
_OFF = ("false", "0", "", "none", "no_book", "<empty>")
#: A test is doubted from this number and above this share of repeated games.
_FEW, _SHARE = 2, 0.02


def repeats_line(repeats: int, games: int) -> str:
    """Return a report's line on repeated games."""
    return (
        f"games that repeat an earlier one, move for move: {repeats} ({_distinct(repeats, games)})"
    )


def repeats_warning(repeats: int, games: int) -> str:
    """Return the reason to doubt a test with repeated games; "" when they are few."""
    if repeats < _FEW or repeats <= _SHARE * games:
        return ""
    return (
        f"{repeats} of {counted(games, 'game')} repeat an earlier one, move for move: the SPRT "
        f"counts {_distinct(repeats, games)} as {games}"
    )


def _distinct(repeats: int, games: int) -> str:
    return counted(games - repeats, "distinct game")


def is_repeatable(player: Player) -> bool:
    """Whether a player always answers a position with the same move, by its settings.

    Such a player has a limit of nodes or depth, no clock, one thread and no random option.
    """
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
    """Return a warning that games will repeat, "" when they need not.

    size     openings of the book, None for an unknown number
    games    games that may be played, None for no limit
    colours  1 for fixed colours, 2 for both
    whose    phrase after "games", such as " of a candidate"
    """
    if size is None or (games is not None and games <= colours * size):
        return ""
    if not all(map(is_repeatable, players)):
        return ""
    many = "no number of games is set" if games is None else f"{games:,} may be played"
    book = counted(size, "opening")
    each = "with both colours" if colours == 2 else "with fixed colours"
    different = counted(colours * size, "different game")
    return (
        f"{book} {each} make {different}{whose}, and {many}.  With fixed "
        "nodes or depth and one thread, further games repeat these move for move and prove "
        "nothing.  Use a larger opening file or a time control"
    )
