"""Labelled positions of a competition's own games, for tuning an evaluation: from the
game records, under the results that the status file has of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ringmaster.datasets.overview import Overview
from ringmaster.datasets.pgn import pgn_games
from ringmaster.datasets.picking import UNSCORED, Labelled, Picker, Rules
from ringmaster.datasets.recorded_game import RESULTS, RecordedGame
from ringmaster.datasets.replay import replay
from ringmaster.datasets.writers import FORMS
from ringmaster.errors import DatasetError, IllegalMove, RingmasterError, UsageError
from ringmaster.export.records import Records, shogi_format
from ringmaster.games.start import beginning
from ringmaster.model.report import Report, Table, Text
from ringmaster.results import Game, Results
from ringmaster.storage.paths import RECORD_SUFFIXES

#: Positions that are counted at a time.
_COUNTED = 4096
_SUFFIXES = {"chess": ("pgn",), "shogi": ("csa", "kifu")}
#: Reasons of results that say nothing of positions, beside all forfeits.
_FAULTS = ("time", "stall")


@dataclass(frozen=True)
class Wanted:
    """What set is made.

    format   one of FORMS
    rules    what is picked of each game
    players  codes whose moves are taken; empty for all
    most     positions in all, a random sample; None for no limit
    """

    format: str
    rules: Rules
    players: frozenset[str] = frozenset()
    most: int | None = None


@dataclass
class Made:
    """What became of the games and their positions.

    used      games that positions were looked for in
    unused    others, by the reason in words
    passed_over  positions that were drawn and not taken, likewise
    records   what is to be said of missing records, a line each
    """

    overview: Overview
    used: int = 0
    unused: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    records: list[str] = field(default_factory=list)
    players: set[str] = field(default_factory=set)

    def report(self) -> Report:
        """Return what was used, what was not and why, and the set's statistics."""
        games = [("used", self.used)]
        games += [(f"left out: {why}", n) for why, n in sorted(self.unused.items())]
        blocks: list[Table | Text] = [Table(("games", ""), tuple(games))]
        if self.passed_over:
            rows = tuple(self.passed_over.most_common())
            blocks.append(Table(("positions that were drawn and passed over", ""), rows))
        return Report((*blocks, *self.overview.report().blocks))


def check_wanted(results: Results, wanted: Wanted) -> Wanted:
    """Return what is wanted as it will be made.  Raises UsageError for what cannot be
    had of this competition."""
    if results.game not in _SUFFIXES:
        raise UsageError(
            f"labelled positions are of chess and shogi, and {results.path} is of {results.game}"
        )
    form = FORMS.get(wanted.format)
    fitting = ", ".join(name for name, form in FORMS.items() if results.game in form.games)
    if form is None:
        raise UsageError(f"there is no format {wanted.format!r}; choose from {fitting}")
    if results.game not in form.games:
        raise UsageError(
            f"{wanted.format} is not for {results.game}, which {results.path} is of; "
            f"choose from {fitting}"
        )
    if wanted.rules.noise == "resolved" and _variant(results) not in ("standard", "chess960"):
        raise UsageError(
            f"--resolve knows the men of chess and shogi only, not those of {_variant(results)}"
        )
    return replace(wanted, rules=replace(wanted.rules, scored=form.scored))


def write_labelled(results: Results, wanted: Wanted, stream: BinaryIO) -> Made:
    """Write the set; returns what it was made of.  Memory grows by eight bytes a
    position.

    wanted  as `check_wanted` has returned it

    Raises UsageError for players that have no games, RingmasterError when there is
    no position at all, StoreError, OSError.
    """
    most = wanted.most
    limit = None if most is None else _limit(_positions(results, wanted, _begun(results)), most)
    made = _begun(results)
    write = FORMS[wanted.format].write
    held: list[Labelled] = []
    written = 0
    for position in _positions(results, wanted, made):
        if limit is not None and (position.draw > limit or written == most):
            continue
        written += 1
        stream.write(write(position))
        held.append(position)
        if len(held) == _COUNTED:
            _count(made.overview, held)
            held = []
    _count(made.overview, held)
    unknown = sorted(wanted.players - made.players)
    if unknown and made.players:
        raise UsageError(
            f"no game is of the player {unknown[0]!r}; there are games of "
            + ", ".join(sorted(made.players))
        )
    if not written:
        raise RingmasterError(_nothing(results, made))
    return made


def _begun(results: Results) -> Made:
    return Made(Overview(results.game))


def _limit(positions: Iterable[Labelled], most: int) -> int | None:
    """Return the largest draw among the `most` smallest, None when there are no more."""
    draws = np.fromiter((position.draw for position in positions), np.uint64)
    return int(np.partition(draws, most - 1)[most - 1]) if len(draws) > most else None


def _count(overview: Overview, positions: list[Labelled]) -> None:
    count = len(positions)
    side = np.fromiter((p.side for p in positions), bool, count)
    result = np.fromiter((p.result for p in positions), np.float32, count)
    score = np.fromiter((p.score for p in positions), np.float32, count)
    overview.add(
        [p.text.encode() for p in positions],
        np.where(side, 1 - result, result),
        np.where(side, -score, score),
        np.fromiter((p.ply for p in positions), np.int32, count),
    )


def _nothing(results: Results, made: Made) -> str:
    reasons = [f"{n} games {why}" for why, n in made.unused.most_common(3)]
    reasons += [f"{n} drawn positions {why}" for why, n in made.passed_over.most_common(3)]
    if UNSCORED in made.passed_over:
        other = "epd" if results.game == "chess" else "sfen"
        reasons.append(f"--format {other} can do without scores")
    said = "; ".join([*made.records, *reasons]) or "no game has been recorded yet"
    return f"{results.path}: there is no position to write: {said}"


def _variant(results: Results) -> str:
    return str(results.settings.get("variant", "standard"))


def _positions(results: Results, wanted: Wanted, made: Made) -> Iterator[Labelled]:
    """Yield positions in the order in which the games finished; counts in `made` what
    becomes of the games.  Raises StoreError."""
    name, variant = results.game, _variant(results)
    begin = beginning(name, variant=variant)
    picker = Picker(wanted.rules, name, chess960=variant == "chess960")
    records = Records(results, _SUFFIXES[name])
    for game, record in records.each(False):
        why = _why_unused(game)
        if why:
            made.unused[why] += 1
            continue
        made.players.update(game.players)
        sides = [i for i, code in enumerate(game.players) if _is_wanted(code, wanted.players)]
        if not sides:
            made.unused["of other players"] += 1
            continue
        try:
            read = _read(record, name, variant, game.id)
            played = replay(read, name, begin)
        except (DatasetError, IllegalMove, ValueError):
            made.unused["whose record cannot be read"] += 1
            continue
        made.used += 1
        yield from picker.pick(played, game.id, RESULTS[game.score], sides)
    made.passed_over = picker.left_out
    made.records = records.missing()


def _is_wanted(code: str, players: frozenset[str]) -> bool:
    return not players or code in players


def _why_unused(game: Game) -> str:
    if game.is_forfeit or game.reason in _FAULTS:
        return "lost by a fault or on time"
    return "" if game.score in RESULTS else "without a result"


def _read(record: bytes, name: str, variant: str, id: str) -> RecordedGame:
    """Return the only game of a record.  Raises DatasetError, ValueError."""
    lines = record.decode(errors="replace").split("\n")
    if name == "chess":
        games = pgn_games(lines, id, variant)
    else:
        # rsshogi's tables take a while to import
        from ringmaster.datasets.shogi_games import csa_games, kif_games

        games = (csa_games if shogi_format(record) == "csa" else kif_games)(lines, id)
    found = next(games, None)
    if found is None:
        raise ValueError("there is no game")
    return found


def default_output(control: Path, format: str) -> Path:
    """Return the file that a set is written to when none is named."""
    return control.with_name(f"{control.stem}.positions.{format}")


def format_of(output: Path | None) -> str:
    """Return the format that a file's name asks for, else the usual one.  Raises
    UsageError for a name that game records have."""
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    if suffix in RECORD_SUFFIXES:
        raise UsageError(f"{output} would be taken for a .{suffix} file; rename --output")
    return suffix if suffix in FORMS else next(iter(FORMS))
