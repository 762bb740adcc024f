"""Move accuracy: the share of positions whose best move under a small limit is a teacher's move.

After the tune, the engine searches each position of a test set with the start values of the
control file and with the tuned ones.  Both are compared over the same positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ringmaster.competitions.texel.settings import MoveAccuracySettings
from ringmaster.competitions.texel.state import SIDES, MoveTest, TexelState
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.errors import EngineProtocolError, IllegalMove, counted, shown
from ringmaster.games.game import beginning
from ringmaster.model.canonical import canonical
from ringmaster.model.report import LEFT, Column, Listing, Table
from ringmaster.stats.elo import Z95, share_ends, share_interval

#: Positions of a job.
SHARD = 250
#: Answers of USI engines that end the game instead of a move.
_ENDINGS = ("resign", "win")


class MoveAccuracy:
    """The test set of a tune, and the comparison of an engine's moves with the teacher's."""

    def __init__(self, values: Mapping[str, Any], start: ValuesByCode) -> None:
        self._settings: MoveAccuracySettings = values["move_accuracy"]
        self._values, self.start = values, start
        self._begin = beginning(values["game"], variant=values["variant"])
        self._key = ""
        self._positions: list[tuple[str, str]] = []

    def prepare(self, target: Path, say: Callable[[str], None]) -> None:
        """Read the test set, from the file `target` if it is of the same origin.

        Raises DataFileError for wrong files, positions and moves, StoreUnwritable.
        """
        from ringmaster.datasets.position_set import build_positions

        values = self._values
        file = build_positions(
            values["game"],
            values["variant"],
            [self._settings.positions],
            0,
            values["seed"],
            target,
            lambda line: say(f"move accuracy: {line}"),
        )
        self._key = file.key
        rows = (row.decode().rpartition(" ") for row in file.texts(0, len(file)))
        self._positions = [(text, move) for text, _, move in rows]

    def adopt(self, state: TexelState) -> None:
        """Begin the test anew if the state has none with the present settings."""
        if not self._key:
            return
        search = canonical(self._settings.search)
        settings = {"set": self._key, "search": search, "start": dict(self.start)}
        known = state.moves
        if known is None or known.settings != settings:
            jobs = math.ceil(len(self._positions) / SHARD) * len(SIDES)
            state.moves = MoveTest(settings, [None] * jobs, state.tests)
            state.tests += 1

    def shard(self, number: int) -> list[tuple[str, str]]:
        """Return the positions of a job, and the teacher's moves."""
        return self._positions[number * SHARD : (number + 1) * SHARD]

    def hits(self, shard: int, answers: tuple[str, ...]) -> str:
        """Return a digit a position: 1 for the teacher's move.  Raises EngineProtocolError."""
        rows = zip(self.shard(shard), answers, strict=True)
        return "".join("01"[self._agrees(*position, answer)] for position, answer in rows)

    def _agrees(self, text: str, move: str, answer: str) -> bool:
        words = answer.rstrip().rpartition("\n")[2].split()[1:2]
        best = words[0] if words else ""
        if best == move:
            return True
        if best in _ENDINGS and self._values["game"] == "shogi":
            return False
        try:
            self._begin(text).play(best)
        except IllegalMove as error:
            raise EngineProtocolError(
                f"in position {text} its best move is {shown(best)}, which is not legal: {error}"
            ) from None
        return False


class MoveComparison:
    """The numbers of a complete test.

    matches  number of the teacher's moves by values
    gained   positions with the teacher's move only by the tuned values; lost: the reverse
    difference  of the shares, and the ends of its 95 % interval, for paired samples
    """

    def __init__(self, test: MoveTest) -> None:
        hits = [each or "" for each in test.hits]
        start, best = ("".join(hits[side :: len(SIDES)]) for side in range(len(SIDES)))
        pairs = list(zip(start, best, strict=True))
        self.positions = n = len(pairs)
        self.matches = {"start": start.count("1"), "best": best.count("1")}
        self.gained, self.lost = pairs.count(("0", "1")), pairs.count(("1", "0"))
        change = (self.gained - self.lost) / n
        # without any difference the interval is that of one position
        spread = Z95 * math.sqrt(max((self.gained + self.lost) / n - change**2, 1 / n) / n)
        self.difference = change, max(change - spread, -1.0), min(change + spread, 1.0)

    def text(self) -> str:
        value, low, high = (f"{100 * each:+.2f}" for each in self.difference)
        return (
            f"the tuned values gain {counted(self.gained, 'position')} and lose {self.lost:,}: "
            f"{value} % (95 %: {low} to {high})"
        )

    def shares(self) -> dict[str, str]:
        """Return the shares of the teacher's moves with their intervals, by values."""
        return {side: share_interval(n, self.positions) for side, n in self.matches.items()}

    def line(self) -> str:
        shares = ", ".join(f"{side} {share}" for side, share in self.shares().items())
        return f"move accuracy: {shares}; {self.text()}"

    def table(self, settings: MoveAccuracySettings) -> Table:
        columns = (Column("values", "values", align=LEFT), Column("share", "teacher's moves"))
        rows = tuple({"values": side, "share": share} for side, share in self.shares().items())
        limit = f"{settings.search.kind}={settings.search.amount}"
        title = f"move accuracy over {counted(self.positions, 'position')}, {limit}"
        return Listing(columns, rows).table(title, [self.text()])

    def data(self) -> dict[str, Any]:
        names = ("value", "low", "high")
        shares = {
            side: (n / self.positions, *share_ends(n, self.positions))
            for side, n in self.matches.items()
        }
        return {
            "positions": self.positions,
            "matches": self.matches,
            "gained": self.gained,
            "lost": self.lost,
            **{side: dict(zip(names, ends, strict=True)) for side, ends in shares.items()},
            "difference": dict(zip(names, self.difference, strict=True)),
        }
