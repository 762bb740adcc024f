"""Statistics of labelled positions: results by score, plies, duplicates, balance."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from ringmaster.datasets.ingest import Examined, Smallest, checked_batches, povs
from ringmaster.datasets.labels import SIDES, Correlations, LabelCounts, contradiction
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
#: Different positions that are counted exactly.
_COUNTED = 1 << 20


class Overview:
    """Statistics of labelled positions, in bounded memory."""

    def __init__(self, game: GameName, result: Pov = "first", score: Pov = "first") -> None:
        """Begin without positions; `result` and `score` are the file's points of view."""
        self._game: GameName = game
        self._povs = result, score
        self._distinct = Smallest(_COUNTED)
        self._counts, self._correlations = LabelCounts(), Correlations()
        self._sides = np.zeros(2, int)
        self._mates = 0
        self._sum_of_results = np.zeros((2, len(_EDGES) + 1))
        self._scored = np.zeros((2, len(_EDGES) + 1), int)
        self._plies = np.zeros(_PLY_BUCKETS + 1, int)

    @property
    def positions(self) -> int:
        return self._counts.positions

    def add(self, positions: Examined) -> None:
        batch, side = positions.batch, positions.side
        result, score, ply = batch.result, batch.teacher, batch.ply
        self._distinct.add(positions.keys)
        self._counts.add(result, score)
        self._correlations.add(result, score, positions.material, side)
        self._sides += np.bincount(side, minlength=2)
        self._mates += int((np.abs(score) >= MATE).sum())
        both = ~np.isnan(score) & ~np.isnan(result)
        s, r = score[both], result[both]
        buckets = np.searchsorted(_EDGES, s) + side[both] * (len(_EDGES) + 1)
        size = self._scored.size
        self._scored += np.bincount(buckets, minlength=size).reshape(2, -1)
        self._sum_of_results += np.bincount(buckets, r, minlength=size).reshape(2, -1)
        known = ply >= 0
        plies = np.minimum(ply[known].astype(int) // _PLIES, _PLY_BUCKETS - 1)
        self._plies[:-1] += np.bincount(plies, minlength=_PLY_BUCKETS)
        self._plies[-1] += len(batch) - int(known.sum())

    def warnings(self) -> list[str]:
        """Return a sentence for each doubt about the labels."""
        warnings = []
        if self._counts.constant is not None and self._counts.known > 1:
            warnings.append("all results are equal: they hold no information")
        wrong, _ = contradiction(self._correlations, self._game, *self._povs)
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
        counts, count = self._counts, self.positions
        lost, drawn, won, between, unknown = map(int, counts.results)
        distinct, is_exact = self._distinct.count()
        numbers = {
            f"{first} to move": int(self._sides[0]),
            f"{second} to move": int(self._sides[1]),
            f"won by {first}": won,
            "drawn": drawn,
            f"won by {second}": lost,
        }
        optional = {
            "averaged results": between,
            "without a result": unknown,
            "without a score": count - counts.scored,
            "mate scores": self._mates,
        }
        numbers |= {name: number for name, number in optional.items() if number}
        name = "duplicates" if is_exact else "duplicates (about)"
        numbers[name] = max(count - distinct, 0)
        rows = [(name, number, _share(number, count)) for name, number in numbers.items()]
        return Table(("", "", ""), (("positions", count, ""), *rows))

    def _by_score(self) -> Table:
        first, second = SIDES[self._game]
        rows: list[tuple[str | int, ...]] = []
        labels = [f"below {_EDGES[0]:+.0f}"]
        labels += [f"{low:+.0f} to {high:+.0f}" for low, high in itertools.pairwise(_EDGES)]
        labels += [f"above {_EDGES[-1]:+.0f}"]
        for label, counts, sums in zip(labels, self._scored.T, self._sum_of_results.T, strict=True):
            if total := int(counts.sum()):
                shares = (_share(*pair) for pair in zip(sums, counts, strict=True))
                rows.append((label, total, _share(sums.sum(), total), *shares))
        signs = [f"{self._correlations.correlation(mover, 0):+.3f}" for mover in (0, 1)]
        notes = (
            f"correlation of score and result: {signs[0]} with {first} to move, {signs[1]} with "
            f"{second} to move",
        )
        title = f"mean result of {first} by score, all and by who is to move"
        headers: tuple[str, ...] = (f"score ({first}'s, cp)", "positions", "mean result")
        headers += (f"{first} moves", f"{second} moves")
        return Table(headers, tuple(rows), title=title, notes=notes)

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


def survey(
    settings: PositionSettings,
    game: GameName | None = None,
    variant: str = "standard",
    say: Callable[[str], None] = lambda line: None,
) -> Report:
    """Read files; return the list of files, and the statistics of all files together.

    settings  files, format and points of view; filters are ignored
    game      None to guess the game
    say       gets reports of progress

    Raises DataFileError for unreadable files, UsageError for files of two games.
    """
    game = game or _game_of(settings.paths)
    sources = [settings.source(path, game, variant) for path in settings.paths]
    formats = [format_of(source, settings.format) for source in sources]
    overview = Overview(game, *povs(formats[0], settings))
    checks, counts, notes = 0, Counter[str](), list[str]()
    progress = Progress(say)
    for source, format in zip(sources, formats, strict=True):
        for positions, in_check in checked_batches(source, format, settings):
            checks += int(np.count_nonzero(in_check))
            overview.add(positions)
            progress.report(f"{source.path}: {overview.positions:,} positions read")
        counts += source.counts
        notes += source.notes
        if source.first_bad:
            notes.append(f"the first bad position: {source.first_bad}")
    names = [(source.path, format.name) for source, format in zip(sources, formats, strict=True)]
    rows: list[tuple[str, str | int]] = [*names[:_LISTED]]
    if len(names) > _LISTED:
        rows.append((f"and {len(names) - _LISTED} more", ""))
    rows += [(f"left out: {what}", n) for what, n in sorted(counts.items())]
    if checks:
        rows.append(("in check", checks))
    files = Table(("file", "format"), tuple(rows), notes=tuple(notes[:_LISTED]))
    return Report((files, *overview.report().blocks))


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
