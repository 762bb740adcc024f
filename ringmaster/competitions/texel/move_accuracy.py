"""Move accuracy: the share of positions whose best move under a small limit is a teacher's move.

After the tune, the engine searches each position of a test set with the start values of the
control file and with the tuned ones.  Both are compared over the same positions.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ringmaster.competitions.texel.settings import MoveAccuracySettings
from ringmaster.competitions.texel.state import SIDES, MoveTest, TexelState
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.errors import DataFileError, EngineProtocolError, IllegalMove, counted, shown
from ringmaster.formats.source import Batch, Progress, Source
from ringmaster.games.game import beginning
from ringmaster.model.canonical import canonical
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


class _Candidate(NamedTuple):
    """A position of a file, in random order."""

    word: int
    source: int
    place: int
    text: str
    move: str


class MoveAccuracy:
    """The test set of a tune, and the comparison of an engine's moves with the teacher's.

    values  settings; `move_accuracy` is set
    start   values of the parameters in the control file
    """

    def __init__(self, values: Mapping[str, Any], start: ValuesByCode) -> None:
        self._settings: MoveAccuracySettings = values["move_accuracy"]
        self._values, self.start = values, start
        self._begin = beginning(values["game"], variant=values["variant"])
        self._set: MoveSet | None = None

    def prepare(self, target: Path, say: Callable[[str], None]) -> None:
        """Read the test set, from the file `target` if it is of the same origin.

        Raises DataFileError for wrong files, positions and moves, StoreUnwritable.
        """
        from ringmaster.datasets.position_set import source_key
        from ringmaster.positions.columns import ColumnFile, layout, replacing

        values, settings = self._values, self._settings.positions
        key = source_key(values["game"], values["variant"], [settings], 0, values["seed"])
        if target.exists():
            facts = ColumnFile(target, _MAGIC, "set of moves", ()).facts
            known = msgspec.convert(facts, MoveSet)
            if known.key == key:
                self._set = known
                return
        self._set = self._read(key, Progress(say))
        with replacing(target) as file:
            file.write(layout(_MAGIC, msgspec.to_builtins(self._set), {})[0])
        for note in self._set.notes:
            say(note)

    def _read(self, key: str, progress: Progress) -> MoveSet:
        """Return a random sample of the positions with moves."""
        from ringmaster.formats.registry import format_of

        settings, values = self._settings.positions, self._values
        assert settings.most is not None
        # the rules leave some positions out
        wanted = 2 * settings.most
        chosen: list[_Candidate] = []
        sources: list[Source] = []
        batches = total = 0
        for path in settings.paths:
            source = settings.source(path, values["game"], values["variant"])
            source.moves = True
            format, before = format_of(source, settings.format), total
            for batch in format.read(source):
                words = word_array(values["seed"], SAMPLE_STREAM, batches, len(batch))
                batches += 1
                for i in self._wanted(batch):
                    text, place = batch.texts[i].decode(), int(batch.place[i])
                    one = _Candidate(int(words[i]), len(sources), place, text, batch.moves[i])
                    chosen.append(one)
                    total += 1
                if len(chosen) > 2 * wanted:
                    chosen = heapq.nsmallest(wanted, chosen)
                progress.report(f"{path}: {total - before:,} positions with moves read")
            sources.append(source)
            if total == before:
                source.finish()
                raise source.error(
                    None,
                    f"no position of it (format {format.name!r}) has a move and passes the "
                    "filters: move_accuracy compares moves, of .plain, .psv or .hcpe files or "
                    "records of games",
                )
        positions = self._legal(heapq.nsmallest(wanted, chosen), sources)
        if not positions:
            raise DataFileError(settings.paths[0], None, "the filters leave out all positions")
        name = settings.paths[0] if len(sources) == 1 else f"{len(sources)} files"
        notes = [f"move accuracy: {len(positions):,} of {counted(total, 'position')} of {name}"]
        for source in sources:
            notes += [f"move accuracy: left out: {n:,} {w}" for w, n in source.counts.items()]
        return MoveSet(key, list(positions.items()), notes)

    def _wanted(self, batch: Batch) -> list[int]:
        """Return the places of positions that have a move and pass the filters of labels."""
        settings = self._settings.positions
        early = (batch.ply >= 0) & (batch.ply < settings.first_ply)
        beyond = np.abs(batch.teacher) > (settings.score_cap or math.inf)
        places: list[int] = np.flatnonzero(~early & ~beyond).tolist()
        return [i for i in places if batch.moves and batch.moves[i]]

    def _legal(self, chosen: list[_Candidate], sources: list[Source]) -> dict[str, str]:
        """Return legal moves by their positions, up to the wanted number.

        Raises DataFileError for others, unless they are skipped.
        """
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
        return positions

    def adopt(self, state: TexelState) -> None:
        """Begin the test anew if the state has none with the present settings."""
        if self._set is None:
            return
        search = canonical(self._settings.search)
        settings = {"set": self._set.key, "search": search, "start": dict(self.start)}
        known = state.moves
        if known is None or known.settings != settings:
            jobs = math.ceil(len(self._set.positions) / SHARD) * len(SIDES)
            state.moves = MoveTest(settings, [None] * jobs, state.tests)
            state.tests += 1

    def shard(self, number: int) -> list[tuple[str, str]]:
        """Return the positions of a job, and the teacher's moves."""
        assert self._set is not None
        return self._set.positions[number * SHARD : (number + 1) * SHARD]

    def hits(self, shard: int, answers: tuple[str, ...]) -> str:
        """Return a digit for each position of a shard: 1 if the engine's move is the teacher's.

        Raises EngineProtocolError for an answer without a legal move.
        """
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
        """Return the paired comparison in words."""
        value, low, high = (f"{100 * each:+.2f}" for each in self.difference)
        return (
            f"the tuned values gain {counted(self.gained, 'position')} and lose {self.lost:,}: "
            f"{value} % (95 %: {low} to {high})"
        )

    def shares(self) -> dict[str, str]:
        """Return the shares of the teacher's moves with their intervals, by values."""
        return {side: share_interval(n, self.positions) for side, n in self.matches.items()}

    def line(self) -> str:
        """Return the result in a line for the history."""
        shares = ", ".join(f"{side} {share}" for side, share in self.shares().items())
        return f"move accuracy: {shares}; {self.text()}"

    def table(self, settings: MoveAccuracySettings) -> Table:
        """Return the table of a report."""
        columns = (Column("values", "values", align=LEFT), Column("share", "teacher's moves"))
        rows = tuple({"values": side, "share": share} for side, share in self.shares().items())
        limit = f"{settings.search.kind}={settings.search.amount}"
        title = f"move accuracy over {counted(self.positions, 'position')}, {limit}"
        return Listing(columns, rows).table(title, [self.text()])

    def data(self) -> dict[str, Any]:
        """Return the JSON data of a report."""
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
