"""The report of one matchup: who won how often, with which colour, and what went
wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ringmaster.competitions.tally import Tally
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import GameName
from ringmaster.model.report import LEFT, RIGHT, Cell, Table


def matchup_table(
    tally: Tally,
    game: GameName,
    *,
    name: str,
    limit: int | None = None,
    details: str = "",
    even: bool = True,
) -> Table:
    """Return a matchup's results.

    limit    games to play, None for no limit
    details  the settings that the results do not show, as text
    even     whether the score says how strong the players are
    """
    completed = tally.completed
    count = f"{completed}" if limit is None else f"{completed}/{limit}"
    title = f"{name} ({count} games{', switched off' if limit == 0 else ''})"
    first, second = ("white", "black") if game == "chess" else ("black", "white")
    played = [sum(tally.by_colour[c]) for c in (0, 1)]
    alternated = all(played)
    rows: list[tuple[Cell, ...]] = []
    for player in (0, 1):
        row: list[Cell] = [tally.players[player], *_score(tally.points(player), completed)]
        if alternated:
            # a player moved first in the colouring that bears its number
            row += _score(_points(tally, player, player), played[player])
            row += _score(_points(tally, player, 1 - player), played[1 - player])
        else:
            moved_first = (player == 0) == (played[1] == 0)
            row.append(f"({first if moved_first else second})")
        timed = tally.timed[player]
        rows.append((*row, f"{tally.cpu[player] / timed:.2f}" if timed else ""))
    if alternated:
        moving_first = _points(tally, 0, 0) + _points(tally, 1, 1)
        moving_second = _points(tally, 0, 1) + _points(tally, 1, 0)
        rows.append(
            ("", "", "", *_score(moving_first, completed), *_score(moving_second, completed), "")
        )
    headers = ["", "wins" if game == "go" else "points", ""]
    headers += [first, "", second, ""] if alternated else [""]
    return Table(
        headers=(*headers, "avg cpu s"),
        rows=tuple(rows),
        title=f"{title}\n{details}" if details else title,
        notes=tuple(_notes(tally, game, even)),
        align=(LEFT, *([RIGHT] * len(headers))),
    )


def describe_settings(settings: GameSettings) -> str:
    """Return the settings of a game that its results do not show."""
    if settings.game != "go":
        return ""
    text = f"board size: {settings.board_size}   komi: {settings.komi:g}"
    if settings.handicap:
        text += f"   handicap: {settings.handicap} ({settings.handicap_style})"
    return text


def _points(tally: Tally, player: int, colouring: int) -> float:
    counts = tally.by_colour[colouring]
    return counts[player] + counts[2] / 2


def _score(points: float, games: int) -> tuple[str, str]:
    return f"{points:g}", f"{points / games:.2%}" if games else ""


def _notes(tally: Tally, game: GameName, even: bool) -> Iterator[str]:
    first, second = tally.players
    completed, draws, unknown = tally.completed, tally.total(2), tally.total(3)
    if game != "go" and completed:
        yield f"{first}: {tally.total(0)} wins, {draws} draws, {tally.total(1)} losses"
    elif draws:
        yield f"jigos: {draws}"
    if unknown:
        yield f"unknown results: {unknown} {unknown / completed:.2%}{_kinds(tally.unknown_kinds)}"
    for player in (0, 1):
        if tally.forfeits[player]:
            kinds = _kinds(tally.forfeit_kinds[player])
            yield f"{tally.players[player]} forfeited: {tally.forfeits[player]}{kinds}"
    if tally.void:
        yield f"void games (not counted): {tally.void}"
    if tally.known and even:
        yield f"{first} over {second}: {tally.estimate()}"


def _kinds(kinds: Mapping[str, int]) -> str:
    """Return " (2 time, 1 illegal move)", the most frequent first."""
    order = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    return f" ({', '.join(f'{count} {kind}' for kind, count in order)})" if order else ""
