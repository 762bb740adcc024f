"""All results of a competition for its charts: a million games in a few seconds.

Batches are decoded at once, and fields that no chart reads are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.storage.connect import decoding
from ringmaster.storage.rows import UsageRow

#: Results read at a time.
_BATCH = 500
#: After seq, ticket and usage, the first fields of a GameResult in their order.
_READ = (
    "SELECT seq, ticket, usage, game_id, attempt, outcome, winner, reason, detail, forfeit, "
    "score, faulty, plies, seconds FROM results WHERE seq > ? AND seq <= ? "
    "AND evaluation IS NULL"
)
#: A sample by a multiplicative hash: equal steps could hit one side of each pair only.
_SAMPLED = " AND (((seq * 40503) & 65535) < ? OR (? != '' AND instr(ticket, ?)))"


_tickets = msgspec.json.Decoder(list[dict[str, Any]]).decode
_usage = msgspec.json.Decoder(list[tuple[UsageRow, UsageRow]]).decode
_NONE = (EngineUsage(), EngineUsage())


@dataclass(frozen=True)
class History:
    """Results of games with their tickets, in order; each iteration reads them again.

    A result is without fingerprint, repetition, host and engines' names.

    rows   runs a query and returns its rows
    path   the status file, for messages
    last   the last seq that counts
    usage  whether results have times and memory
    share  of the games, a sample by chance below 1, and all games whose tickets have `key`
    """

    rows: Callable[[str, tuple[Any, ...]], list[Any]]
    path: Path
    last: int
    usage: bool = True
    share: float = 1.0
    key: str = ""

    def sample(self, share: float, key: str = "") -> History:
        """Return a part of the games by chance, and all games whose tickets have a key."""
        return replace(self, share=share, key=key)

    def __iter__(self) -> Iterator[tuple[Ticket, GameResult]]:
        query, more = _READ, []
        if self.share < 1:
            quoted = f'"{self.key}":' if self.key else ""
            query, more = _READ + _SAMPLED, [round(self.share * 65536), quoted, quoted]
        query += " ORDER BY seq LIMIT ?"
        after = 0
        while rows := self.rows(query, (after, self.last, *more, _BATCH)):
            with decoding(self.path):
                tickets = _tickets(f"[{','.join([row[1] for row in rows])}]")
                usage = (
                    _usage(f"[{','.join([row[2] for row in rows])}]")
                    if self.usage
                    else repeat(_NONE)
                )
                make: Callable[..., GameResult] = GameResult
                results = [make(*row[3:], used) for row, used in zip(rows, usage, strict=False)]
            yield from zip(tickets, results, strict=True)
            after = rows[-1][0]
