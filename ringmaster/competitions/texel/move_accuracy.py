"""Move accuracy: the share of positions whose best move under a small limit is a teacher's move.

After the tune, the engine searches each position of a test set with the start values of the
control file and with the tuned ones.  Both are compared over the same positions.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.competition import Reaction
from ringmaster.competitions.texel.settings import MOST_TESTED, MoveAccuracySettings
from ringmaster.competitions.texel.state import SIDES, MoveTest, TexelState
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.errors import DataFileError, EngineProtocolError, IllegalMove, counted, shown
from ringmaster.formats.source import Batch, Progress, Source
from ringmaster.games.game import Begin, beginning
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import EvaluationJob, Ticket
from ringmaster.model.randomness import SAMPLE_STREAM, word_array
from ringmaster.model.report import LEFT, Column, Listing, Table
from ringmaster.stats.elo import Z95, share_ends, share_interval

#: Positions of a job.
SHARD = 250
#: Answers of USI engines that end the game instead of a move.
_ENDINGS = ("resign", "win")
_MAGIC = b"RMMOV\x00\x01\n"


class MoveSet(msgspec.Struct):
    """A test set.

    key        origin of the file
    positions  FEN or SFEN, and the teacher's move
    notes      lines about its reading
    """

    key: str
    positions: list[tuple[str, str]]
    notes: list[str]


class _Candidate(msgspec.Struct, frozen=True, order=True):
    """A position of a file in random order; `source` is the file's number."""

    word: int
    source: int
    place: int
    text: str
    move: str


def _candidates(
    batch: Batch, number: int, words: Any, settings: PositionSettings
) -> Iterator[_Candidate]:
    """Yield the positions of a batch that have a move and pass the filters of their labels."""
    early = (batch.ply >= 0) & (batch.ply < settings.first_ply)
    beyond = np.abs(batch.teacher) > (settings.score_cap or math.inf)
    for i in np.flatnonzero(~early & ~beyond).tolist():
        if batch.moves[i]:
            place, text = int(batch.place[i]), batch.texts[i].decode()
            yield _Candidate(int(words[i]), number, place, text, batch.moves[i])


class MoveAccuracy:
    """The test of moves of a tune: its positions, jobs and results.

    values    settings; `move_accuracy` is set
    start     the start values of the control file, for the comparison of two runs
    """

    def __init__(self, values: Mapping[str, Any], start: ValuesByCode) -> None:
        self._settings: MoveAccuracySettings = values["move_accuracy"]
        self._values, self.start = values, start
        self._begin: Begin = beginning(values["game"], variant=values["variant"])
        self._set: MoveSet | None = None

    # the test set

    def prepare(self, target: Path, say: Callable[[str], None]) -> None:
        """Read the test set, from the file `target` if it is of the same origin.

        Raises DataFileError for wrong files, positions and moves, StoreUnwritable.
        """
        from ringmaster.datasets.position_set import source_key
        from ringmaster.positions.columns import read_header, replacing, start_of

        values, settings = self._values, self._settings.positions
        key = source_key(values["game"], values["variant"], settings, 0, values["seed"])
        if target.exists():
            known, _ = read_header(target, _MAGIC, MoveSet, "set of moves")
            if known.key == key:
                self._set = known
                return
        self._set = self._read(key, say)
        with replacing(target) as file:
            file.write(start_of(_MAGIC, self._set))
        for note in self._set.notes:
            say(note)

    def _read(self, key: str, say: Callable[[str], None]) -> MoveSet:
        """Return a random sample of the positions with moves."""
        from ringmaster.formats.registry import format_of

        settings, seed = self._settings.positions, self._values["seed"]
        # some positions are left out by the rules below
        wanted = 2 * (settings.most or MOST_TESTED)
        chosen: list[_Candidate] = []
        sources, progress, number, total = [], Progress(say), 0, 0
        for path in settings.paths:
            source = Source(
                path, self._values["game"], self._values["variant"],
                skip_bad=settings.skip_bad, moves=True,
            )  # fmt: skip
            sources.append(source)
            format, before = format_of(source, settings.format), total
            for batch in format.read(source):
                words = word_array(seed, SAMPLE_STREAM, number, len(batch))
                number += 1
                if any(batch.moves):
                    total += len(batch)
                    chosen += _candidates(batch, len(sources) - 1, words, settings)
                if len(chosen) > 2 * wanted:
                    chosen = heapq.nsmallest(wanted, chosen)
                progress.report(f"{path}: {total - before:,} positions with moves read")
            if total == before:
                source.finish()
                raise source.error(
                    None,
                    f"its positions have no moves (format {format.name!r}), and move_accuracy "
                    "compares moves: use .plain, .psv or .hcpe files, or records of games",
                )
        positions = self._legal(heapq.nsmallest(wanted, chosen), sources)
        if not positions:
            raise DataFileError(settings.paths[0], None, "the filters leave out all positions")
        name = settings.paths[0] if len(settings.paths) == 1 else f"{len(sources)} files"
        notes = [f"move accuracy: {len(positions):,} of {counted(total, 'position')} of {name}"]
        notes += [
            f"move accuracy: left out: {n:,} {w}" for s in sources for w, n in s.counts.items()
        ]
        return MoveSet(key, positions, notes)

    def _legal(self, chosen: list[_Candidate], sources: list[Source]) -> list[tuple[str, str]]:
        """Return legal positions with legal moves, up to the wanted number."""
        settings = self._settings.positions
        positions: dict[str, str] = {}
        for one in chosen:
            if len(positions) == settings.most:
                break
            try:
                position = self._begin(one.text)
                is_wanted = settings.in_check or not position.in_check()
                position.play(one.move)
            except (ValueError, IllegalMove) as error:
                message = f"position {shown(one.text)}, move {shown(one.move)}: {error}"
                sources[one.source].bad(one.place, message)
                continue
            if is_wanted:
                positions.setdefault(one.text, one.move)
        for source in sources:
            source.finish()
        return list(positions.items())

    # the jobs

    def shard(self, number: int) -> list[tuple[str, str]]:
        """Return the positions of a job, and the teacher's moves."""
        assert self._set is not None
        return self._set.positions[number * SHARD : (number + 1) * SHARD]

    def adopt(self, state: TexelState) -> None:
        """Begin the test anew if the state has none with the present settings."""
        if self._set is None:
            return
        settings = {
            "set": self._set.key,
            "search": canonical(self._settings.search),
            "start": dict(self.start),
        }
        known = state.moves
        if known is None or known.settings != settings:
            count = len(self._set.positions)
            shards = -(-count // SHARD)
            number = 0 if known is None else known.number + 1
            hits: dict[str, list[str | None]] = {side: [None] * shards for side in SIDES}
            state.moves = MoveTest(settings, count, number, hits)

    @staticmethod
    def next(state: TexelState) -> Ticket | None:
        """Return the ticket of the next job, None if all are issued."""
        test = state.moves
        if test is None or test.next == sum(map(len, test.hits.values())):
            return None
        return {"e": state.beginning, "a": test.number, "i": test.next}

    @staticmethod
    def register(state: TexelState, ticket: Ticket) -> bool:
        """Record the issue of a job; idempotent.  Return whether its result is awaited."""
        test = state.moves
        if test is None or (ticket["e"], ticket["a"]) != (state.beginning, test.number):
            return False
        test.next = max(test.next, ticket["i"] + 1)
        shard, side = divmod(ticket["i"], len(SIDES))
        return test.hits[SIDES[side]][shard] is None

    def hits(self, job: EvaluationJob, answers: tuple[str, ...]) -> str:
        """Return a digit for each position of a job: 1 if the engine's move is the teacher's.

        Raises EngineProtocolError for an answer without a legal move.
        """
        rows = zip(self.shard(job.ticket["i"] // len(SIDES)), answers, strict=True)
        return "".join(str(int(self._agrees(*position, answer))) for position, answer in rows)

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

    @staticmethod
    def record(state: TexelState, ticket: Ticket, hits: str) -> Reaction:
        """Record the result of a job."""
        test = state.moves
        if test is None or not MoveAccuracy.register(state, ticket):
            return Reaction("")
        shard, side = divmod(ticket["i"], len(SIDES))
        test.hits[SIDES[side]][shard] = hits
        if not test.complete:
            return Reaction("")
        found = MoveComparison.of(test)
        line = ", ".join(f"{side} {found.share(side)}" for side in SIDES)
        return Reaction(f"move accuracy: {line}; {found.text()}", save=True)


class MoveComparison(msgspec.Struct, frozen=True):
    """The numbers of a complete test.

    matches  number of the teacher's moves by values
    gained   positions with the teacher's move only by the tuned values; lost: the reverse
    """

    positions: int
    matches: dict[str, int]
    gained: int
    lost: int

    @classmethod
    def of(cls, test: MoveTest) -> MoveComparison:
        """Return the numbers of a complete test."""
        start, best = ("".join(hits or "" for hits in test.hits[side]) for side in SIDES)
        pairs = list(zip(start, best, strict=True))
        return cls(
            len(pairs),
            {"start": start.count("1"), "best": best.count("1")},
            pairs.count(("0", "1")),
            pairs.count(("1", "0")),
        )

    def share(self, side: str) -> str:
        """Return the share of the teacher's moves with its interval."""
        return share_interval(self.matches[side], self.positions)

    @property
    def difference(self) -> tuple[float, float, float]:
        """The difference of the shares, and the ends of its 95 % interval.

        The variance is that of paired samples: positions that both have or lack do not count.
        """
        n, change = self.positions, self.gained - self.lost
        # half a position each way keeps an interval without any difference from having no width
        spread = Z95 * math.sqrt(max(self.gained + self.lost - change**2 / n, 1.0)) / n
        return change / n, max(change / n - spread, -1.0), min(change / n + spread, 1.0)

    def text(self) -> str:
        """Return the paired comparison in words."""
        value, low, high = (f"{100 * each:+.2f}" for each in self.difference)
        return (
            f"the tuned values gain {counted(self.gained, 'position')} and lose {self.lost:,}: "
            f"{value} % (95 %: {low} to {high})"
        )

    def table(self, settings: MoveAccuracySettings) -> Table:
        """Return the table of a report."""
        columns = (Column("values", "values", align=LEFT), Column("share", "teacher's moves"))
        rows = tuple({"values": side, "share": self.share(side)} for side in SIDES)
        title = f"move accuracy over {counted(self.positions, 'position')}, {settings.search_text}"
        return Listing(columns, rows).table(title, [self.text()])

    def data(self) -> dict[str, Any]:
        """Return the JSON data of a report."""
        value, low, high = self.difference
        shares = {
            side: {
                "matches": count,
                "share": count / self.positions,
                **dict(zip(("low", "high"), share_ends(count, self.positions), strict=True)),
            }
            for side, count in self.matches.items()
        }
        return {
            "positions": self.positions,
            **shares,
            "gained": self.gained,
            "lost": self.lost,
            "difference": {"value": value, "low": low, "high": high},
        }
