"""What files of labelled positions are like, without making a data set of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ringmaster.datasets.formats import FORMATS, format_of
from ringmaster.datasets.intake import checked_batches, povs
from ringmaster.datasets.notation import other_game
from ringmaster.datasets.overview import Overview
from ringmaster.datasets.settings import PositionSettings
from ringmaster.datasets.source import Source
from ringmaster.errors import UsageError
from ringmaster.model.players import GameName
from ringmaster.model.report import Report, Table

#: What a record of shogi in CSA begins with.
_CSA_BEGINNINGS = (b"V2", b"V3", b"N+", b"N-", b"'", b"P1-", b"PI", b"$")
_LOOK = 1 << 12
#: Files that the report names.
_NAMED = 10


@dataclass
class Survey:
    """Files that were looked through.

    files   their names with their formats
    counts  what was left out in reading, in words
    bad     the first bad position of each file that has one, with its place
    """

    overview: Overview
    files: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    in_check: int = 0
    bad: list[str] = field(default_factory=list)

    def report(self) -> Report:
        """Return what the files are, and the statistics of all together."""
        rows: list[tuple[str, str | int]] = [*self.files[:_NAMED]]
        if len(self.files) > _NAMED:
            rows.append((f"and {len(self.files) - _NAMED} more", ""))
        rows += [(f"left out: {what}", n) for what, n in sorted(self.counts.items())]
        if self.in_check:
            rows.append(("in check", self.in_check))
        notes = tuple(f"the first that was bad: {text}" for text in self.bad[:_NAMED])
        files = Table(("file", "format"), tuple(rows), notes=notes)
        return Report((files, *self.overview.report().blocks))


def survey(
    settings: PositionSettings, game: GameName | None = None, variant: str = "standard"
) -> Survey:
    """Read files through and return what they hold.

    settings  files, format and sides; filters are not used
    game      None to tell it by the first file

    Raises DatasetError for what cannot be read, UsageError for files of two games.
    """
    game = game or _game_of(settings.paths)
    found: Survey | None = None
    for path in settings.paths:
        source = Source(path, game, variant, skip_bad=settings.skip_bad)
        format = format_of(source, settings.format)
        if found is None:
            result, score = povs(format, settings)
            found = Survey(Overview(game, result, score))
        found.files.append((path, format.name))
        for batch, boards, side in checked_batches(source, format, settings):
            if boards is not None:
                found.in_check += int(np.count_nonzero(boards.in_check(side)))
            material = None if boards is None else boards.material()
            found.overview.add(batch.texts, batch.result, batch.teacher, batch.ply, material)
        found.counts += source.counts
        if source.first_bad:
            found.bad.append(source.first_bad)
    if found is None:
        raise UsageError("there is no file of positions")
    return found


def _game_of(paths: Sequence[str]) -> GameName:
    games = {path: _guessed(path) for path in paths}
    if len(set(games.values())) > 1:
        said = ", ".join(f"{path} {game}" for path, game in games.items())
        raise UsageError(f"the files are of more than one game: {said}; say which by --game")
    return next(iter(games.values()), "chess")


def _guessed(path: str) -> GameName:
    """Return the game that a file seems to be of."""
    source = Source(path, "chess")
    suffix = source.suffix
    for format in FORMATS.values():
        if suffix in format.suffixes and len(format.games) == 1:
            return format.games[0]
    start = next(source.pieces(_LOOK), b"").removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"\0" in start or start.startswith(_CSA_BEGINNINGS) or b"sfen " in start.split(b"\n")[0]:
        return "shogi"
    lines = [line.strip() for line in start.split(b"\n")]
    line = next((line for line in lines if line and line[:1] not in b"#;"), b"")
    board = line.removeprefix(b"fen ").split(b",")[0].split(b"|")[0].strip(b'" ')
    return "shogi" if other_game(board, "chess") == "shogi" else "chess"
