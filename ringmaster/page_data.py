"""Collect the contents of a competition's page from its control file and its store."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ringmaster.errors import RingmasterError, UsageError
from ringmaster.export.parameters import FORMATS, render
from ringmaster.export.tuned import tuned_values
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import Report
from ringmaster.reporting.page import CopyText, GameRow, Page
from ringmaster.results.games import Game, make_game
from ringmaster.storage.lock import is_locked
from ringmaster.storage.store import Store

#: Rows of the table of games, and bytes of their data.
MOST_GAMES, MOST_BYTES = 5000, 1_200_000


def make_page(
    loaded: LoadedCompetition,
    store: Store | None,
    *,
    charts: bool = True,
    most_games: int = MOST_GAMES,
) -> Page:
    """Return the page of a restored competition.

    store       None before the first run
    charts      whether to draw charts, which reads all results
    most_games  rows of the table of games

    Raises StoreError.
    """
    competition = loaded.competition
    counts = (0, 0) if store is None else store.counts()
    games = [] if store is None else list(_games(loaded, store, most_games))
    history = () if store is None else ((g.ticket, g.result) for g in store.games())
    total = sum(counts) if competition.unit == "games" else len(games)
    return Page(
        title=f"{competition.type_name}: {loaded.code}",
        verdict=competition.verdict(),
        description=(loaded.control_file.values["description"] or "").strip(),
        state=_state(loaded, store),
        facts=tuple(_facts(loaded, store, counts)),
        report=competition.report(),
        conditions=Report(tuple(loaded.conditions.blocks())),
        groups=competition.charts(history) if charts else (),
        games=games,
        games_total=total,
        copies=tuple(_parameter_texts(loaded)),
        generated=time.strftime("%Y-%m-%d %H:%M:%S"),
    )


def _state(loaded: LoadedCompetition, store: Store | None) -> str:
    if store is None:
        return "not started"
    if loaded.competition.finished():
        return "complete"
    return "running" if is_locked(loaded.paths.log) else "stopped"


def _facts(
    loaded: LoadedCompetition, store: Store | None, counts: tuple[int, int]
) -> Iterator[tuple[str, str]]:
    """Yield key figures."""
    progress = loaded.competition.progress()
    done = f"{progress.completed:,}"
    if progress.total is not None:
        done += f" of {progress.total:,}"
    yield progress.label, done
    if progress.phase:
        yield "phase", progress.phase
    if counts[1]:
        yield f"void {loaded.competition.unit}", f"{counts[1]:,}"


def _games(loaded: LoadedCompetition, store: Store, most: int) -> Iterator[GameRow]:
    """Yield the newest games, the newest first."""
    newest = list(store.games(max(0, sum(store.counts()) - most)))
    competition = loaded.competition
    kind = loaded.control_file.values["game"]
    folders = str(loaded.paths.games), str(loaded.paths.void)
    for recorded in reversed(newest):
        game = make_game(recorded, competition.describe(recorded.ticket), kind, *folders)
        yield _row(game)


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
    )


def _parameter_texts(loaded: LoadedCompetition) -> Iterator[CopyText]:
    """Yield the tuned values in every format that applies."""
    try:
        tuned = tuned_values(loaded)
    except RingmasterError:
        return
    for format in FORMATS if tuned else ():
        try:
            text, _ = render(format, tuned, loaded)
        except UsageError:  # not for these parameters
            continue
        yield CopyText(format, text, f"export-parameters --format {format}")
