"""The table of matchups on the live display: one line a matchup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.tournaments.matchup import Tally
from ringmaster.competitions.tournaments.matchup_report import fault_notes
from ringmaster.model.players import GameName
from ringmaster.model.report import LEFT, RIGHT, Cell, Table
from ringmaster.stats.elo import EloEstimate, probability


class LiveMatchup(NamedTuple):
    """A matchup for the live display.

    limit  games to play, None for no limit
    even   whether the score measures strength
    sprt   state of its test
    """

    name: str
    tally: Tally
    limit: int | None
    even: bool = True
    sprt: SprtReport | None = None


def live_table(matchups: Iterable[LiveMatchup], game: GameName) -> Table:
    """Return a row for each matchup, the most important columns first; empty columns are
    omitted."""
    matchups = list(matchups)
    headers = ["matchup", "Elo (95 %)", "LOS", "LLR", "LL-LD-DD-WD-WW"]
    headers += ["wins" if game == "go" else "points", "games"]
    rows = [_row(matchup) for matchup in matchups]
    used = [i for i in range(len(headers)) if i == 0 or any(row[i] for row in rows)]
    notes = [
        note if len(matchups) == 1 else f"{matchup.name}: {note}"
        for matchup in matchups
        for note in (
            *fault_notes(matchup.tally),
            *(() if matchup.sprt is None else matchup.sprt.doubts),
        )
    ]
    return Table(
        tuple(headers[i] for i in used),
        tuple(tuple(row[i] for i in used) for row in rows),
        notes=tuple(notes),
        align=(LEFT, *[RIGHT] * (len(used) - 1)),
    )


def _row(matchup: LiveMatchup) -> list[Cell]:
    tally = matchup.tally
    elo = los = pairs = None
    estimate = tally.estimate()
    if matchup.even and estimate.is_telling:
        elo = _elo(estimate)
        los = probability(estimate.los).replace("above ", ">").replace("below ", "<")
    if sum(tally.pairs.counts):
        pairs = "-".join(map(str, tally.pairs.counts))
    count = f"{tally.completed}"
    return [
        matchup.name,
        elo,
        los,
        None if matchup.sprt is None else _llr(matchup.sprt),
        pairs,
        f"{tally.points(0):g}-{tally.points(1):g}",
        count if matchup.limit is None else f"{count}/{matchup.limit}",
    ]


def _elo(estimate: EloEstimate) -> str:
    # the header has the level
    return estimate.interval().replace("95 %: ", "").replace(" (95 %)", "")


def _llr(sprt: SprtReport) -> str:
    if sprt.accepted:
        return f"{sprt.llr:.2f}: {sprt.accepted}"
    low, high = (f"{bound:.2f}" for bound in sprt.bounds)
    return f"{sprt.llr:.2f} of {low}/{high}"
