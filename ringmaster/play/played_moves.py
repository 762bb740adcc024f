"""The moves of a game as they were played, and as its record has them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ringmaster.engines.engine import Thought
from ringmaster.model.results import MoveRecord

#: Optional numbers of an info line in records.
NUMBERS: Final = ("nodes", "seldepth", "nps", "hashfull", "tbhits")


class PlayedMove(NamedTuple):
    """A legal move; `clock` is the time left after it in ns, and the stones or periods, None
    without a clock."""

    mover: int
    thought: Thought
    comment: str
    clock: tuple[int, int | None] | None


def move_records(
    moves: Sequence[str], played: Sequence[PlayedMove], wanted: Collection[str]
) -> Iterator[MoveRecord]:
    """Yield moves with the numbers that the record contains."""
    numbers = [name for name in NUMBERS if name in wanted]
    wants_pv = "pv" in wanted
    for move, turn in zip(moves, played, strict=False):
        thought = turn.thought
        seconds = thought.elapsed_ns / 1e9
        left, overtime = turn.clock or (None, None)
        score = mate = depth = None
        searched: dict[str, Any] = {}
        if thought.info:
            score, mate = thought.score_and_mate()
            depth = thought.number("depth")
            for name in numbers:
                searched[name] = thought.number(name)
            if wants_pv:
                searched["pv"] = thought.pv
            searched["lead"] = thought.lead
        yield MoveRecord(
            move,
            turn.mover,
            seconds,
            score,
            mate,
            depth,
            comment=turn.comment,
            left=None if left is None else left / 1e9,
            overtime=overtime,
            **searched,
        )
