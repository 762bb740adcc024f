"""Describe results in lines for displays and reports: single games, void games, repeated games.

A game between two deterministic engines is determined by its opening and colours.  Statistics
that assume independent games (error bars, SPRT) count each repeat as new evidence.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ringmaster.errors import counted
from ringmaster.model.players import Player, threads_of
from ringmaster.model.results import STANDSTILL, EvaluationResult, GameResult

#: Number of void results by the code of the faulty player ("" for no player) and by reason.
VoidKinds = dict[str, dict[str, int]]

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
    # "3 50 moves" would read as one number
    "50 moves": ("fifty-move rule", "fifty-move rule"),
    STANDSTILL: ("standstill of the computer", "standstills of the computer"),
}


def finite(value: float | None) -> float | None:
    """Return a number, None if it is not finite: JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and no truth value."""
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and math.isfinite(value)


def unique_names(names: Mapping[str, str]) -> dict[str, str]:
    """Return names by id, with the id where a name is ambiguous."""
    uses = Counter(names.values())
    return {id: name if uses[name] == 1 else f"{name} [{id}]" for id, name in names.items()}


def result_line(result: GameResult, codes: tuple[str, str]) -> str:
    """Return a result's line for the display and the history; players in its order."""
    head = f"game {result.game_id}:"
    if result.outcome == "void":
        return f"{head} {void_text(result)}"
    detail = result.detail.splitlines()[0] if result.detail else ""
    # the log and the record give the seconds of a loss on time; a score tells itself
    reason = f" ({result.reason if result.reason == 'time' else detail or result.reason})"
    if result.winner is not None and result.reason == "score" and not detail:
        reason = ""
    if result.winner is not None:
        winner, loser = codes[result.winner], codes[1 - result.winner]
        return f"{head} {winner} beat {loser} {result.score}{reason}"
    if result.outcome == "draw":
        return f"{head} {codes[0]} v {codes[1]} draw {result.score}{reason}"
    return f"{head} {codes[0]} v {codes[1]} no result{reason}"


def void_text(result: GameResult | EvaluationResult) -> str:
    """Return a void result in words, without its job."""
    detail = result.detail.splitlines()[0] if result.detail else ""
    attempt = f", attempt {result.attempt + 1}" if result.attempt else ""
    return f"void ({result.reason}{attempt}): {detail}"


# void games


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


def sum_void_kinds(all: Sequence[Mapping[str, Mapping[str, int]]]) -> VoidKinds:
    total: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kinds in all:
        for code, reasons in kinds.items():
            total[code].update(reasons)
    return {code: dict(reasons) for code, reasons in total.items()}


def number_of(kinds: Mapping[str, Mapping[str, int]]) -> int:
    return sum(sum(reasons.values()) for reasons in kinds.values())


def void_by_player(kinds: Mapping[str, Mapping[str, int]]) -> str:
    """Return "b: 3 crashes, 1 hang; a: 1 crash", the player with most void games first."""
    order = sorted(kinds.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return "; ".join(f"{code or 'no player at fault'}: {reasons_text(r)}" for code, r in order)


def void_line(kinds: VoidKinds, *, unit: str = "games") -> str:
    return f"void {unit} (not counted): {number_of(kinds)} ({void_by_player(kinds)})"


def lost_line(kinds: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a report's line on games lost by a fault, [] without any."""
    faulty = {code: reasons for code, reasons in kinds.items() if reasons}
    total = number_of(faulty)
    return [f"games lost by a fault: {total} ({void_by_player(faulty)})"] if total else []


def reasons_text(reasons: Mapping[str, int]) -> str:
    """Return "3 crashes, 1 hang", the most frequent first."""
    order = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    words = [(count, *_WORDS.get(reason, (reason, reason))) for reason, count in order]
    return ", ".join(f"{count} {one if count == 1 else several}" for count, one, several in words)


# repeated games

#: Options that make an engine choose at random, and values that switch them off.
_CHANCE = re.compile(r"random|book|skill|limitstrength|temperature|variety")
_OFF = ("false", "0", "", "none", "no_book", "<empty>")


def repeats_line(repeats: int, games: int) -> str:
    distinct = counted(games - repeats, "distinct game")
    return f"games that repeat an earlier one, move for move: {repeats} ({distinct})"


def is_repeatable(player: Player) -> bool:
    """Return whether a player always answers a position with the same move, by its settings.

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
