"""Rounds in which programs take turns, so that a noisy machine is noisy for all.

A table says for each piece of work what the peer did, what we did, and the ratio of
the medians.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table.

    target  what the ratio (ours to the peer's) is to be, as text: ">= 2.0"; "" without
    """

    work: str
    unit: str
    peer: str
    theirs: float
    ours: float
    target: str = ""

    @property
    def ratio(self) -> float:
        """Ours to the peer's."""
        return self.ours / self.theirs if self.theirs else float("nan")


def alternate(
    measures: Mapping[str, Callable[[], Mapping[str, float]]],
    rounds: int,
    least: Collection[str] = (),
) -> dict[str, dict[str, float]]:
    """Let every measurement take its turn, `rounds` times over, each round in the
    other direction; returns the median of each figure, nan left out, or of those called
    `least`, to which other work only adds, the least."""
    found: dict[str, list[Mapping[str, float]]] = {key: [] for key in measures}
    for number in range(rounds):
        order = list(measures)
        for key in order if number % 2 == 0 else reversed(order):
            found[key].append(measures[key]())
    return {
        key: {
            name: (min if name in least else _median)([each[name] for each in all_of])
            for name in all_of[0]
        }
        for key, all_of in found.items()
    }


def _median(figures: Sequence[float]) -> float:
    known = [each for each in figures if not math.isnan(each)]
    return statistics.median(known) if known else math.nan


def show_rows(rows: Sequence[Row], notes: Sequence[str] = (), *, as_json: bool = False) -> None:
    """Print the table and what was left out."""
    if as_json:
        print(json.dumps([{**row._asdict(), "ratio": row.ratio} for row in rows], indent=2))
        return
    from tabulate import tabulate

    lines = [
        (
            row.work,
            row.unit,
            row.peer,
            f"{row.theirs:.4g}",
            f"{row.ours:.4g}",
            f"{row.ratio:.2f}",
            row.target,
        )
        for row in rows
    ]
    print(
        tabulate(
            lines,
            ("work", "unit", "peer", "theirs", "ours", "ratio", "target"),
            disable_numparse=True,
        )
    )
    for note in notes:
        print(note)
