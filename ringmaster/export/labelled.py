"""Labelled positions for tuning an evaluation, from a competition's game records with the results
of its status file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ringmaster.datasets.ingest import Smallest, examined
from ringmaster.datasets.picking import WITHOUT_SCORE, Picker, Rules
from ringmaster.datasets.survey import Overview
from ringmaster.errors import DataFileError, IllegalMove, RingmasterError, UsageError, counted
from ringmaster.formats.recorded_game import RESULTS, RecordedGame, replay
from ringmaster.formats.registry import FORMATS, UNSCORED, WRITTEN, read_record
from ringmaster.formats.source import PACKED, Record, Source, batches_of
from ringmaster.games.game import beginning
from ringmaster.model.report import Report, Table, Text
from ringmaster.model.results import TIME_LOSSES
from ringmaster.results import Game, Results
from ringmaster.storage.paths import RECORD_SUFFIXES


@dataclass(frozen=True)
class Wanted:
    """The requested set.

    format   one of WRITTEN
    rules    of the choice of positions in each game
    players  codes of the players to move; empty for all
    most     size of a random sample, None for all
    """

    format: str
    rules: Rules
    players: frozenset[str] = frozenset()
    most: int | None = None


@dataclass
class Made:
    """Counts of games and positions.

    used         games with positions
    unused       other games, by reason
    passed_over  drawn positions that do not fit the rules, by reason
    records      notes on missing records
    """

    overview: Overview
    used: int = 0
    unused: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    records: list[str] = field(default_factory=list)
    players: set[str] = field(default_factory=set)

    def report(self) -> Report:
        """Return the counts and the set's statistics."""
        games = [("used", self.used)]
        games += [(f"left out: {why}", n) for why, n in sorted(self.unused.items())]
        blocks: list[Table | Text] = [Table(("games", ""), tuple(games))]
        if self.passed_over:
            rows = tuple(self.passed_over.most_common())
            blocks.append(Table(("positions that were drawn and passed over", ""), rows))
        return Report((*blocks, *self.overview.report().blocks))


def check_wanted(results: Results, wanted: Wanted) -> None:
    """Raise UsageError for an impossible set."""
    if results.game == "go":
        raise UsageError(
            f"labelled positions are for chess and shogi; {results.path} is for {results.game}"
        )
    games = WRITTEN.get(wanted.format)
    fitting = ", ".join(name for name, games in WRITTEN.items() if results.game in games)
    if games is None:
        raise UsageError(f"there is no format {wanted.format!r}; choose from {fitting}")
    if results.game not in games:
        raise UsageError(
            f"{wanted.format} is not for {results.game}, the game of {results.path}; "
            f"choose from {fitting}"
        )
    if wanted.rules.noise == "resolved" and variant_of(results) not in ("standard", "chess960"):
        raise UsageError(
            f"--resolve is for standard chess and shogi only, not for {variant_of(results)}"
        )


def write_labelled(results: Results, wanted: Wanted, stream: BinaryIO) -> Made:
    """Write the set; return the counts.  A random sample needs eight bytes a position.

    Raises UsageError for players without games, RingmasterError for an empty set, StoreError,
    OSError.
    """
    smallest = Smallest(wanted.most)
    if wanted.most is not None:
        every = _positions(results, wanted, Made(Overview(results.game)))
        smallest.add(np.fromiter((draw for _, draw in every), np.uint64))
        smallest.finish()
    counts = Made(Overview(results.game))
    positions = _positions(results, wanted, counts)
    format = FORMATS[wanted.format]

    def written() -> Iterator[Record]:
        for record, draw in positions:
            if draw <= smallest.limit:
                stream.write(format.write(record, results.game))
                yield record

    for batch in batches_of(written()):
        counts.overview.add(examined(batch, results.game, variant_of(results)))
    unknown = sorted(wanted.players - counts.players)
    if unknown and counts.players:
        raise UsageError(
            f"the player {unknown[0]!r} has no games; players with games: "
            + ", ".join(sorted(counts.players))
        )
    if not counts.overview.positions:
        raise RingmasterError(_nothing(results, counts))
    return counts


def _nothing(results: Results, counts: Made) -> str:
    reasons = [f"{counted(n, 'game')} {why}" for why, n in counts.unused.most_common(3)]
    reasons += [
        f"{counted(n, 'drawn position')} {why}" for why, n in counts.passed_over.most_common(3)
    ]
    if WITHOUT_SCORE in counts.passed_over:
        other = "epd" if results.game == "chess" else "sfen"
        reasons.append(f"--format {other} needs no scores")
    reasons_text = "; ".join([*counts.records, *reasons]) or "no game has been recorded yet"
    return f"{results.path}: there is no position to write: {reasons_text}"


def _positions(results: Results, wanted: Wanted, counts: Made) -> Iterator[tuple[Record, int]]:
    """Yield positions in the order of the games' ends; count the games.

    Raises StoreError.
    """
    name, variant = results.game, variant_of(results)
    begin = beginning(name, variant=variant)
    scored = wanted.format not in UNSCORED
    picker = Picker(wanted.rules, name, chess960=variant == "chess960", scored=scored)
    records = results.records()
    for game, record in records.each(results.iter_games()):
        why = _why_unused(game)
        if why:
            counts.unused[why] += 1
            continue
        counts.players.update(game.players)
        chosen = wanted.players or set(game.players)
        sides = [i for i, code in enumerate(game.players) if code in chosen]
        if not sides:
            counts.unused["of other players"] += 1
            continue
        try:
            played = replay(read_game(results, record, game.id), name, begin)
        except (DataFileError, IllegalMove, ValueError):
            counts.unused["with an unreadable record"] += 1
            continue
        counts.used += 1
        yield from picker.pick(played, game.id, RESULTS[game.score], sides)
    counts.passed_over = picker.left_out
    counts.records = records.missing()


def _why_unused(game: Game) -> str:
    # these results do not depend on the position
    if game.is_forfeit or game.reason in TIME_LOSSES:
        return "lost by a fault or on time"
    return "" if game.score in RESULTS else "without a result"


def format_of(output: Path | None) -> str:
    """Return the format of a file's suffix, else the default.

    Raises UsageError for a suffix of game records or packed files.
    """
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    if f".{suffix}" in PACKED:
        raise UsageError(f"{output} would not be packed; leave out .{suffix}")
    if suffix in RECORD_SUFFIXES:
        raise UsageError(f"{output} would be mistaken for a .{suffix} file; rename --output")
    return suffix if suffix in WRITTEN else next(iter(WRITTEN))


def variant_of(results: Results) -> str:
    """Return the variant of chess of all games, "standard" for other games."""
    return str(results.settings.get("variant", "standard"))


def read_game(results: Results, record: bytes, id: str) -> RecordedGame:
    """Return the only game of a record.  Raises DataFileError, ValueError."""
    source = Source(id, results.game, variant_of(results), data=record)
    games = list(read_record(source))
    source.finish()
    if not games:
        raise ValueError("there is no game")
    return games[0]
