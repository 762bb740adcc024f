"""What is told of closing matches."""

from __future__ import annotations

import textwrap
from typing import Any

from ringmaster.competitions.closing_match.match import Match
from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_report import matchup_data, matchup_table
from ringmaster.competitions.series import Series
from ringmaster.model.jobs import GameSettings
from ringmaster.model.report import Table


def match_id(number: int) -> str:
    """Return the id of a match, counted from 1."""
    return f"verify{number}"


def match_table(
    match: Match, series: Series, settings: GameSettings, told: int, counted: str
) -> Table:
    """Return a match's results; told: iterations (or what is counted) of the tune now."""
    values = ", ".join(f"{code}={_shown(value)}" for code, value in match.tuned.items())
    lines = textwrap.wrap(f"tuned: {values}", 100, subsequent_indent="    ", break_on_hyphens=False)
    details = [*lines, match.conditions.describe()]
    if match.told != told:
        details.append("the tune has gone on since")
    if match.earlier:
        details.append("begun by an earlier version, which did not count by colours")
    return matchup_table(
        match.tally,
        settings.game,
        name=f"closing match after {match.told} {counted}: {_name(match)}",
        limit=series.limit,
        details="\n".join(filter(None, details)),
        even=settings.handicap is None,
        sprt=series.report(),
    )


def match_info(match: Match, number: int, series: Series, settings: GameSettings) -> MatchupInfo:
    """Return what is known of a match beside its games."""
    return MatchupInfo(
        match_id(number),
        match.tally.players,
        _name(match),
        settings,
        True,
        series.limit,
        series.report(),
    )


def match_data(
    match: Match, number: int, series: Series, settings: GameSettings, counted: str
) -> dict[str, Any]:
    """Return a match as `show --json` has it."""
    report = series.report()
    return {
        **matchup_data(
            match.tally,
            id=match_id(number),
            name=_name(match),
            even=settings.handicap is None,
            sprt=report,
        ),
        "number_of_games": series.limit,
        counted: match.told,
        "parameters": [dict(match.values(player)) for player in (0, 1)],
    }


def _name(match: Match) -> str:
    return " v ".join(match.tally.players)


def _shown(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
