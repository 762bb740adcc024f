"""Statistics of labelled positions: results by score, plies, duplicates, balance."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ringmaster.datasets.boards import Words
from ringmaster.datasets.ingest import Examined, checked_batches, povs
from ringmaster.datasets.points_of_view import SIDES, Labels, contradiction
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.errors import DataFileError, UsageError
from ringmaster.formats.registry import Pov, format_of
from ringmaster.formats.source import MATE, Progress, Source
from ringmaster.model.players import GameName
from ringmaster.model.report import Report, Table, Text

#: Edges of the buckets of scores, in centipawns from the side that moves first.
_EDGES = np.array([-1000, -600, -300, -150, -75, -25, 25, 75, 150, 300, 600, 1000], float)
#: Plies of a bucket, and number of buckets.
_PLIES, _PLY_BUCKETS = 20, 12
_BAR = 40


class DistinctCount:
    """Counts different keys: exactly up to a million, then by a sample of the keys.

    The sample has the keys whose lowest bits are 0 (adaptive sampling: Wegman; Flajolet, "On
    adaptive sampling", 1990).  The standard error is 1.2/sqrt(a million) = 0.12 %.
    """

    LIMIT = 1 << 20

    def __init__(self) -> None:
        self._mask = 0
        self._keys: list[Words] = []
        self._waiting = 0

    def add(self, keys: Words) -> None:
        """Add keys, whose bits are random."""
        if self._mask:
            keys = keys[keys & np.uint64(self._mask) == 0]
        self._keys.append(keys)
        self._waiting += len(keys)
        if self._waiting > 2 * self.LIMIT:
            self._sample()

    def _sample(self) -> Words:
        keys = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *self._keys]))
        while len(keys) > self.LIMIT:
            self._mask = 2 * self._mask + 1
            keys = keys[keys & np.uint64(self._mask) == 0]
        self._keys, self._waiting = [keys], len(keys)
        return keys

    @property
    def is_exact(self) -> bool:
        """Return whether all keys are in the sample."""
        return self._mask == 0

    def count(self) -> int:
        """Return the number of different keys."""
        return len(self._sample()) * (self._mask + 1)


class Overview:
    """Statistics of labelled positions, in bounded memory."""

    def __init__(self, game: GameName, result: Pov = "first", score: Pov = "first") -> None:
        """Begin without positions; `result` and `score` are the file's points of view."""
        self._game: GameName = game
        self._povs = result, score
        self._distinct = DistinctCount()
        self.positions = 0
        self._sides = np.zeros(2, int)
        #: Results: lost, drawn, won by the first side; averaged; unknown.
        self._results = np.zeros(5, int)
        self._unscored = self._mates = 0
        self._sum_of_results = np.zeros((2, len(_EDGES) + 1))
        self._scored = np.zeros((2, len(_EDGES) + 1), int)
        self._plies = np.zeros(_PLY_BUCKETS + 1, int)
        self._labels = Labels()

    def add(self, positions: Examined) -> None:
        """Add positions."""
        batch, side = positions.batch, positions.side
        count, result, score, ply = len(batch), batch.result, batch.teacher, batch.ply
        self.positions += count
        self._distinct.add(positions.keys)
        self._sides += np.bincount(side, minlength=2)
        unknown = np.isnan(result)
        kind = np.select([unknown, result == 0, result == 0.5, result == 1], [4, 0, 1, 2], 3)
        self._results += np.bincount(kind, minlength=5)
        missing = np.isnan(score)
        self._unscored += int(missing.sum())
        self._mates += int((np.abs(score) >= MATE).sum())
        both = ~missing & ~unknown
        s, r = score[both], result[both]
        buckets = np.searchsorted(_EDGES, s) + side[both] * (len(_EDGES) + 1)
        size = self._scored.size
        self._scored += np.bincount(buckets, minlength=size).reshape(2, -1)
        self._sum_of_results += np.bincount(buckets, r, minlength=size).reshape(2, -1)
        known = ply >= 0
        plies = np.minimum(ply[known].astype(int) // _PLIES, _PLY_BUCKETS - 1)
        self._plies[:-1] += np.bincount(plies, minlength=_PLY_BUCKETS)
        self._plies[-1] += count - int(known.sum())
        self._labels.add(result, score, positions.material, side)

    def warnings(self) -> list[str]:
        """Return a sentence for each doubt about the labels."""
        warnings = []
        known = self._results[:4].sum()
        if known and max(self._results[:4]) == known and known > 1:
            warnings.append("all results are equal: they hold no information")
        wrong, _ = contradiction(self._labels, self._game, *self._povs)
        return [*warnings, wrong] if wrong else warnings

    def report(self) -> Report:
        """Return the tables of the statistics."""
        if not self.positions:
            return Report((Text(("no positions",)),))
        blocks: list[Table | Text] = [self._balance()]
        if self._scored.sum():
            blocks.append(self._by_score())
        blocks.append(self._by_ply())
        if warnings := self.warnings():
            blocks.append(Text(tuple(f"WARNING: {text}" for text in warnings)))
        return Report(tuple(blocks))

    def _balance(self) -> Table:
        first, second = SIDES[self._game]
        lost, drawn, won, between, unknown = map(int, self._results)
        count = self.positions
        rows = [
            ("positions", count, ""),
            (f"{first} to move", int(self._sides[0]), _share(self._sides[0], count)),
            (f"{second} to move", int(self._sides[1]), _share(self._sides[1], count)),
            (f"won by {first}", won, _share(won, count)),
            ("drawn", drawn, _share(drawn, count)),
            (f"won by {second}", lost, _share(lost, count)),
        ]
        optional = [
            ("averaged results", between),
            ("without a result", unknown),
            ("without a score", self._unscored),
            ("mate scores", self._mates),
        ]
        rows += [(name, number, _share(number, count)) for name, number in optional if number]
        duplicates = max(count - self._distinct.count(), 0)
        name = "duplicates" if self._distinct.is_exact else "duplicates (about)"
        rows.append((name, duplicates, _share(duplicates, count)))
        return Table(("", "", ""), tuple(rows))

    def _by_score(self) -> Table:
        first, second = SIDES[self._game]
        rows = []
        labels = [f"below {_EDGES[0]:+.0f}"]
        labels += [f"{low:+.0f} to {high:+.0f}" for low, high in itertools.pairwise(_EDGES)]
        labels += [f"above {_EDGES[-1]:+.0f}"]
        for at, label in enumerate(labels):
            counts, sums = self._scored[:, at], self._sum_of_results[:, at]
            if counts.sum():
                rows.append(
                    (
                        label,
                        int(counts.sum()),
                        _share(sums.sum(), counts.sum()),
                        _share(sums[0], counts[0]),
                        _share(sums[1], counts[1]),
                    )
                )
        notes = [
            f"correlation of score and result: {self._labels.correlation(0, 0):+.3f} with {first} "
            f"to move, {self._labels.correlation(1, 0):+.3f} with {second} to move"
        ]
        return Table(
            (
                f"score ({first}'s, cp)",
                "positions",
                "mean result",
                f"{first} moves",
                f"{second} moves",
            ),
            tuple(rows),
            title=f"mean result of {first} by score, all and by who is to move",
            notes=tuple(notes),
        )

    def _by_ply(self) -> Table:
        most = max(1, int(self._plies.max()))
        rows = []
        for at, number in enumerate(map(int, self._plies)):
            low = at * _PLIES
            label = f"{low}-{low + _PLIES - 1}"
            if at == _PLY_BUCKETS - 1:
                label = f"{low} or more"
            elif at == _PLY_BUCKETS:
                label = "unknown"
            if number:
                rows.append((label, number, "#" * max(1, round(_BAR * number / most))))
        return Table(("plies", "positions", ""), tuple(rows), align=("left", "right", "left"))


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


#: Number of files that a report lists.
_LISTED = 10


@dataclass
class Survey:
    """Statistics of some files.

    files   names and formats
    counts  numbers of omitted games and positions, by reason in words
    notes   sentences about the reading, and the first bad position of each file
    """

    overview: Overview
    files: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    in_check: int = 0
    notes: list[str] = field(default_factory=list)

    def report(self) -> Report:
        """Return the list of files, and the statistics of all files together."""
        rows: list[tuple[str, str | int]] = [*self.files[:_LISTED]]
        if len(self.files) > _LISTED:
            rows.append((f"and {len(self.files) - _LISTED} more", ""))
        rows += [(f"left out: {what}", n) for what, n in sorted(self.counts.items())]
        if self.in_check:
            rows.append(("in check", self.in_check))
        files = Table(("file", "format"), tuple(rows), notes=tuple(self.notes[:_LISTED]))
        return Report((files, *self.overview.report().blocks))


def survey(
    settings: PositionSettings,
    game: GameName | None = None,
    variant: str = "standard",
    say: Callable[[str], None] = lambda line: None,
) -> Survey:
    """Read files and return their statistics.

    settings  files, format and points of view; filters are ignored
    game      None to guess the game
    say       gets reports of progress

    Raises DataFileError for unreadable files, UsageError for files of two games.
    """
    game = game or _game_of(settings.paths)
    sources = [settings.source(path, game, variant) for path in settings.paths]
    formats = [format_of(source, settings.format) for source in sources]
    names = [(source.path, format.name) for source, format in zip(sources, formats, strict=True)]
    total = Survey(Overview(game, *povs(formats[0], settings)), names)
    progress = Progress(say)
    for source, format in zip(sources, formats, strict=True):
        for positions, in_check in checked_batches(source, format, settings):
            total.in_check += int(np.count_nonzero(in_check))
            total.overview.add(positions)
            progress.report(f"{source.path}: {total.overview.positions:,} positions read")
        total.counts += source.counts
        total.notes += source.notes
        if source.first_bad:
            total.notes.append(f"the first bad position: {source.first_bad}")
    return total


def _game_of(paths: Sequence[str]) -> GameName:
    """Return the game that the formats of files are of; chess for an unknown format."""
    games: dict[str, GameName] = dict.fromkeys(paths, "chess")
    for path, game in itertools.product(paths, reversed(SIDES)):
        with suppress(DataFileError):
            format_of(Source(path, game))
            games[path] = game
    if len(set(games.values())) > 1:
        guesses = ", ".join(f"{path} {game}" for path, game in games.items())
        raise UsageError(f"the files are of more than one game: {guesses}; name one by --game")
    return next(iter(games.values()), "chess")
