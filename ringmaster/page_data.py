"""Collect the contents of a competition's page from its control file and its store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import msgspec

from ringmaster.competitions.competition import Summary
from ringmaster.errors import RingmasterError, StoreError, UsageError, counted
from ringmaster.export.output import open_output
from ringmaster.export.parameters import FORMATS, render, tuned_values
from ringmaster.export.result_block import FORMATS as BLOCKS
from ringmaster.export.result_block import result_blocks
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import Progress, Report, Table
from ringmaster.reporting.page import CopyText, GameRow, Page, render_page
from ringmaster.reporting.progress import format_duration
from ringmaster.results.boards import board_game
from ringmaster.results.figures import figures
from ringmaster.results.games import RECORD_SUFFIXES, Game, GameReader
from ringmaster.results.records import TAIL, Records
from ringmaster.storage.entries import StoredGame
from ringmaster.storage.lock import is_locked
from ringmaster.storage.store import Store

#: Rows of the table of games, older games with faults among them, and bytes of all boards.
MOST_GAMES, MOST_FAULTS, MOST_BYTES = 2000, 200, 900_000
#: The share of the bytes for games with faults.
_FAULTS_SHARE = 0.2
#: Most matchups whose result blocks are copied.
_MOST_BLOCKS = 50
#: The time before the last game that tells the rate of games.
_RECENT = timedelta(minutes=20)


def make_page(
    loaded: LoadedCompetition,
    store: Store | None,
    summary: Summary | None = None,
    *,
    charts: bool = True,
    most_games: int = MOST_GAMES,
    boards: bool = True,
) -> Page:
    """Return the page of a restored competition.

    store       None before the first run
    summary     the present one, if it is known
    charts      whether to draw charts and to make texts for the clipboard, which read all results
    most_games  rows of the table of games
    boards      whether to read game records

    Raises StoreError.
    """
    competition = loaded.competition
    summary = summary or competition.summary()
    counts = (0, 0) if store is None else store.counts()
    games = [] if store is None else _games(loaded, store, most_games)
    rows = _with_boards(loaded, store, games) if boards else [_row(game) for game in games]
    total = sum(counts) if competition.unit == "games" else len(rows)
    return Page(
        title=f"{competition.type_name}: {loaded.code}",
        verdict=summary.verdict,
        description=(loaded.control_file.values["description"] or "").strip(),
        state=_state(loaded, store),
        facts=tuple(_facts(loaded, store, summary.progress, counts[1], games)),
        report=Report(summary.blocks),
        conditions=Report(tuple(loaded.conditions.blocks(summary))),
        groups=tuple(loaded.charts(store)) if charts else (),
        games=rows,
        games_total=total,
        games_note=_games_note(loaded, min(len(rows), most_games), len(rows), total),
        copies=tuple(_copies(loaded, summary)) if charts else (),
        generated=time.strftime("%Y-%m-%d %H:%M"),
    )


def write_page(
    loaded: LoadedCompetition, store: Store | None, target: Path, summary: Summary | None = None
) -> tuple[Table, ...]:
    """Write the page of a restored competition to a file, with its figures, which are returned;
    `summary` is the present one, if it is known.  Raises StoreError."""
    page = make_page(loaded, store, summary)
    tables = figures(loaded, store, page.groups)
    report = Report((*page.report.blocks, *tables))
    text = render_page(msgspec.structs.replace(page, report=report))
    with open_output(target) as stream:
        stream.write(text.encode("utf-8", "replace"))
    return tables


def _state(loaded: LoadedCompetition, store: Store | None) -> str:
    if store is None:
        return "not started"
    if loaded.competition.finished():
        return "complete"
    return "running" if is_locked(loaded.paths.locked) else "stopped"


def _facts(
    loaded: LoadedCompetition,
    store: Store | None,
    progress: Progress,
    void: int,
    games: Sequence[Game],
) -> Iterator[tuple[str, str]]:
    """Yield key figures; durations are those of the newest games."""
    done = f"{progress.completed:,}"
    if progress.total is not None:
        done += f" of {progress.total:,}"
    yield progress.label, done
    if progress.total is not None and _state(loaded, store) == "running":
        rate = _rate(games)
        if rate is not None:
            left = (progress.total - progress.completed) / rate
            yield "time left", f"about {_duration(max(1.0, left))}"
    if progress.phase:
        yield "phase", progress.phase
    if void:
        yield f"void {loaded.competition.unit}", f"{void:,}"
    newest = [game for game in games[:MOST_GAMES] if not game.is_void]
    if newest:
        seconds = sum(game.seconds for game in newest) / len(newest)
        yield "a game takes", _duration(seconds)
        yield "plies a game", f"{sum(game.plies for game in newest) / len(newest):.0f}"
        if newest[0].finished is not None:
            yield "last game", newest[0].finished.strftime("%Y-%m-%d %H:%M UTC")


def _rate(games: Sequence[Game]) -> float | None:
    """Return the games a second of the last minutes, None if unknown."""
    times = [game.finished for game in games[:MOST_GAMES] if game.finished is not None]
    times = [finished for finished in times if times[0] - finished <= _RECENT]
    seconds = (times[0] - times[-1]).total_seconds() if times else 0.0
    # The date may have been set back.
    return (len(times) - 1) / seconds if seconds > 0 else None


def _duration(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else format_duration(seconds)


# games


def _games(loaded: LoadedCompetition, store: Store, most: int) -> list[Game]:
    """Return the newest games and older ones with faults, the newest first."""
    newest = list(store.games(max(0, sum(store.counts()) - most)))
    recorded: list[StoredGame] = newest
    if newest:
        recorded = [*store.faults(newest[0].seq, MOST_FAULTS), *newest]
    reader = GameReader(loaded)
    return [reader.game(each) for each in reversed(recorded)]


def _with_boards(
    loaded: LoadedCompetition, store: Store | None, games: Sequence[Game]
) -> list[GameRow]:
    """Return rows, with boards for the newest games and those with faults within the budget."""
    records = Records(loaded.paths, loaded.control_file.values["game"], store, TAIL)
    budgets = {True: MOST_BYTES * _FAULTS_SHARE, False: MOST_BYTES * (1 - _FAULTS_SHARE)}
    rows = []
    for game in games:
        fault = game.is_forfeit or game.is_void
        row = _row(game)
        if budgets[fault] > 0:
            with suppress(StoreError):  # something is in the place of the file
                record = records.get(game)
                if record is not None:
                    board = msgspec.structs.replace(board_game(game, record), nodes=())
                    row = msgspec.structs.replace(row, board=board)
                    budgets[fault] -= len(msgspec.json.encode(row.board))
        rows.append(row)
    return rows


def _row(game: Game) -> GameRow:
    return GameRow(
        number=game.number,
        id=game.id,
        players=game.players,
        result=game.score,
        why=game.reason,
        plies=game.plies,
        seconds=game.seconds,
        opening=game.opening,
        fault=game.is_forfeit or game.is_void,
        detail=game.detail,
    )


def _games_note(loaded: LoadedCompetition, newest: int, count: int, total: int) -> str:
    if count >= total:
        # evaluations of a tune from positions are results, too
        has_only_games = not count or loaded.competition.unit == "games"
        return "" if has_only_games else "Numbers count evaluations, too."
    note = f"The newest {newest:,} of {total:,} games"
    if count > newest:
        note += f", and the last {counted(count - newest, 'older one')} with a fault"
    values = loaded.control_file.values
    if not values["record_games"]:
        return f"{note}."
    suffix = RECORD_SUFFIXES[values["game"]][0]
    is_collected = values["record_files"] != "single"
    place = loaded.paths.collected(suffix) if is_collected else loaded.paths.games
    return f"{note}; all are in {place.name}."


# the clipboard


def _copies(loaded: LoadedCompetition, summary: Summary) -> Iterator[CopyText]:
    """Yield the result in every format that applies."""
    if 0 < len(summary.matchups) <= _MOST_BLOCKS:
        for format in BLOCKS:
            text = result_blocks(loaded, summary, format)
            yield CopyText(format, text, f"show --format {format}")
    try:
        tuned = tuned_values(loaded)
    except RingmasterError:  # a function of the control file fails
        return
    for format in FORMATS if tuned else ():
        try:
            text, _ = render(format, tuned, loaded)
        except UsageError:  # not for these parameters
            continue
        yield CopyText(format, text, f"export-parameters --format {format}")
