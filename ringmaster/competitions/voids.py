"""Void games: counts by the player at fault, and the rule for players whose games
are void again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringmaster.model.results import EvaluationResult, GameResult

#: Void results by the code of the player at fault ("" for nobody) and by reason.
VoidKinds = dict[str, dict[str, int]]

#: Ways out for a tune that void games have ended.
REMEDY = (
    'repair the engine and run again, or have crashes and hangs lose the game (failures = "loss")'
)

#: One and several of a reason; others are the same in both.
_WORDS = {
    "crash": ("crash", "crashes"),
    "hang": ("hang", "hangs"),
    "protocol": ("protocol error", "protocol errors"),
    "start": ("failed start", "failed starts"),
    "refused": ("refusal", "refusals"),
    "setup": ("failed setup", "failed setups"),
}


def void_rule(in_a_row: int, *, first: bool, what: str) -> str:
    """Return why void games end a run early, "" if they do not: when the first
    result of all is void, and when two results in a row are.

    in_a_row  void results up to now, 0 when the latest one is not void
    first     whether no result that counts has come before
    what      whose results are counted, for the message
    """
    if in_a_row and first:
        return f"the first game of {what} was void"
    if in_a_row >= 2:
        return f"two games in a row of {what} were void"
    return ""


def count_void(
    kinds: VoidKinds, result: GameResult | EvaluationResult, codes: Sequence[str]
) -> None:
    """Count a void result.

    codes  players of a game, in the order of the result; the one player of an evaluation
    """
    faulty = 0 if isinstance(result, EvaluationResult) else result.faulty
    reasons = kinds.setdefault("" if faulty is None else codes[faulty], {})
    # an engine has no say in the reasons: they are the referee's few terms
    reason = result.reason or "other"
    reasons[reason] = reasons.get(reason, 0) + 1


def added(all: Sequence[Mapping[str, Mapping[str, int]]]) -> VoidKinds:
    """Return the sum of several counts."""
    whole: VoidKinds = {}
    for kinds in all:
        for code, reasons in kinds.items():
            mine = whole.setdefault(code, {})
            for reason, count in reasons.items():
                mine[reason] = mine.get(reason, 0) + count
    return whole


def by_player(kinds: Mapping[str, Mapping[str, int]], total: int) -> str:
    """Return "b: 3 crashes, 1 hang; a: 1 crash", the player with most first.

    total  void results; earlier versions did not count by player
    """
    counted = {code: sum(reasons.values()) for code, reasons in kinds.items()}
    order = sorted(kinds.items(), key=lambda item: (-counted[item[0]], item[0]))
    parts = [f"{code or 'no player at fault'}: {_listed(reasons)}" for code, reasons in order]
    missing = total - sum(counted.values())
    if missing > 0:
        parts.append(f"{missing} of an earlier version, not counted by player")
    return "; ".join(parts)


def void_line(kinds: Mapping[str, Mapping[str, int]], total: int, *, unit: str = "games") -> str:
    """Return a report's line on void results; there are some."""
    return f"void {unit} (not counted): {total} ({by_player(kinds, total)})"


def _listed(reasons: Mapping[str, int]) -> str:
    order = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    words = [(count, *_WORDS.get(reason, (reason, reason))) for reason, count in order]
    return ", ".join(f"{count} {one if count == 1 else several}" for count, one, several in words)
