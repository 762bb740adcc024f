"""Tables and JSON data of matchups, and their table on the live display."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.result_lines import finite, reasons_text, repeats_line, void_line
from ringmaster.competitions.tally import Tally, doubts_of
from ringmaster.errors import counted
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import GameName
from ringmaster.model.report import LEFT, RIGHT, Cell, Column, Listing, Table
from ringmaster.stats.elo import pairs_ratio, probability, share_interval


def matchup_table(info: MatchupInfo, game: GameName, heading: str, details: str = "") -> Table:
    """Return a matchup's results, under a heading with text about the settings."""
    tally, limit, sprt = info.tally, info.number_of_games, info.sprt
    completed = tally.completed
    count = counted(completed, "game") if limit is None else f"{completed}/{counted(limit, 'game')}"
    state = ", switched off" if limit == 0 else info.state and f", {info.state}"
    title = f"{heading} ({count}{state})"
    first, second = ("white", "black") if game == "chess" else ("black", "white")
    played = [sum(tally.by_colour[c]) for c in (0, 1)]
    alternated = all(played)
    # of each player, by colouring
    points = [[counts[i] + counts[2] / 2 for counts in tally.by_colour] for i in (0, 1)]
    rows: list[tuple[Cell, ...]] = []
    for player in (0, 1):
        row: list[Cell] = [tally.players[player], *_score(tally.points(player), completed)]
        if alternated:
            # player i moved first in colouring i
            row += _score(points[player][player], played[player])
            row += _score(points[player][1 - player], played[1 - player])
        else:
            moved_first = (player == 0) == (played[1] == 0)
            row.append(f"({first if moved_first else second})")
        timed = tally.timed[player]
        rows.append((*row, f"{tally.cpu[player] / timed:.2f}" if timed else ""))
    if alternated:
        moving_first, moving_second = points[0][0] + points[1][1], points[0][1] + points[1][0]
        rows.append(
            ("", "", "", *_score(moving_first, completed), *_score(moving_second, completed), "")
        )
    headers = ["", "wins" if game == "go" and not tally.total(2) else "points", ""]
    headers += [first, "", second, ""] if alternated else [""]
    return Table(
        headers=(*headers, "avg cpu s"),
        rows=tuple(rows),
        title="\n".join(
            filter(None, (title, details, info.remark, *(sprt.lines() if sprt else ())))
        ),
        notes=tuple(_notes(info, game)),
        align=(LEFT, *([RIGHT] * len(headers))),
    )


def describe_settings(settings: GameSettings, *, in_turn: bool = False) -> str:
    """Return the settings of Go games as text, "" for other games.

    in_turn  whether each player has each colour in turn
    """
    if settings.game != "go":
        return ""
    text = f"board size: {settings.board_size}   komi: {settings.komi:g}"
    if settings.handicap:
        turns = ", to each in turn" if in_turn else ""
        text += f"   handicap: {settings.handicap} ({settings.handicap_style}{turns})"
    if settings.rules.name:
        text += f"   rules: {settings.rules}"
    if settings.referee is not None:
        text += f"   referee: {settings.referee.code}"
    return text


def ladder_table(ladder: Mapping[str, Any], first: str) -> Table:
    """Return the results of the first player by level."""
    rows = [
        (name, f"{wins}-{losses}-{halves}", f"{(wins + halves / 2) / (losses + halves + wins):.0%}")
        for name, (losses, halves, wins) in ladder["levels"].items()
    ]
    return Table(("level", f"{first} won-lost-jigo", "score"), tuple(rows))


def _score(points: float, games: int) -> tuple[str, str]:
    return f"{points:g}", f"{points / games:.2%}" if games else ""


def _notes(info: MatchupInfo, game: GameName) -> Iterator[str]:
    tally = info.tally
    first, second = tally.players
    completed, draws = tally.completed, tally.total(2)
    if completed and (game != "go" or draws):
        share = f" ({draws / completed:.1%})" if draws else ""
        won, lost = counted(tally.total(0), "win"), counted(tally.total(1), "loss")
        drawn = counted(draws, "jigo" if game == "go" else "draw")
        yield f"{first}: {won}, {drawn}{share}, {lost}"
    yield from fault_notes(tally)
    if tally.endings:
        yield f"ended by: {reasons_text(tally.endings)}"
    if tally.known and not info.even and info.ladder is None:
        yield f"{first} scores {share_interval(tally.points(0), tally.known)}"
    elif tally.known and info.even:
        yield f"{first} over {second}: {tally.estimate()}"
        spread = _spread(tally)
        if spread:
            yield spread


def fault_notes(tally: Tally) -> Iterator[str]:
    """Yield lines about unknown results, forfeits, void games and repeated games."""
    completed, unknown = tally.completed, tally.total(3)
    if unknown:
        kinds = reasons_text(tally.unknown_kinds)
        yield f"unknown results: {unknown} {unknown / completed:.2%} ({kinds})"
    for player in (0, 1):
        if tally.forfeits[player]:
            kinds = reasons_text(tally.forfeit_kinds[player])
            yield f"{tally.players[player]} forfeited: {tally.forfeits[player]} ({kinds})"
        if extra := tally.extra_moves[player]:
            yield f"{tally.players[player]} sent moves without a search: {counted(extra, 'game')}"
        if disputes := tally.disputes[player]:
            code = tally.players[player]
            yield f"{code} named another winner than the referee: {counted(disputes, 'game')}"
    if tally.void:
        yield void_line(tally.void_kinds)
    if tally.repeats:
        yield repeats_line(tally.repeats, completed)


def _spread(tally: Tally) -> str:
    parts = []
    normalized = tally.normalized()
    if math.isfinite(normalized.error) and tally.estimate().is_telling:
        parts.append(str(normalized))
    if tally.in_pairs:
        counts = tally.pairs.counts
        kinds = zip(("LL", "LD", "DD/WL", "WD", "WW"), counts, strict=True)
        text = "pairs: " + ", ".join(f"{count} {kind}" for kind, count in kinds)
        ratio = pairs_ratio(counts)
        parts.append(text if ratio is None else f"{text} (won/lost {ratio:.2f})")
    return ", ".join(parts)


def matchup_data(info: MatchupInfo) -> dict[str, Any]:
    """Return a matchup for `show --json`.

    The first player's strength is None where it is infinite or unknown.
    """
    tally = info.tally
    estimate, normalized = tally.estimate(), tally.normalized()
    is_known = tally.known > 0 and info.even
    has_error = is_known and math.isfinite(normalized.error)
    return {
        "id": info.id,
        "name": info.name,
        "players": list(tally.players),
        "games": tally.completed,
        "wins": [tally.total(0), tally.total(1)],
        "draws": tally.total(2),
        "unknown": tally.total(3),
        "unknown_by_kind": dict(tally.unknown_kinds),
        "forfeits": list(tally.forfeits),
        "forfeits_by_kind": [dict(kinds) for kinds in tally.forfeit_kinds],
        "void": tally.void,
        "repeats": tally.repeats,
        "disputes": list(tally.disputes),
        "void_by_kind": tally.void_kinds,
        "endings": dict(tally.endings),
        "elo": finite(estimate.elo) if is_known else None,
        "elo_low": finite(estimate.low) if is_known else None,
        "elo_high": finite(estimate.high) if is_known else None,
        "los": estimate.los if is_known else None,
        "nelo": normalized.nelo if has_error else None,
        "nelo_error": normalized.error if has_error else None,
        "draw_ratio": tally.total(2) / tally.known if tally.known else None,
        "pentanomial": list(tally.pairs.counts) if sum(tally.pairs.counts) else None,
        "pairs_ratio": pairs_ratio(tally.pairs.counts),
        "sprt": None if info.sprt is None else info.sprt.summary(),
        "handicap_ladder": info.ladder,
        "stage": info.stage or None,
        "state": info.state or None,
        "remark": info.remark or None,
        "doubts": [doubt.sentence for doubt in doubts_of([tally])],
    }


# the live display: one line a matchup


def live_table(matchups: Mapping[str, MatchupInfo], game: GameName, title: str = "") -> Table:
    """Return a row for each matchup by heading, the most important columns first."""
    drawn = any(info.tally.total(2) for info in matchups.values())
    score = "wins" if game == "go" and not drawn else "points"
    names = ("even at (95 %)", "Elo (95 %)", "LOS", "LLR", "LL-LD-DD-WD-WW", score, "games")
    columns = (Column("matchup", "matchup", align=LEFT), *(Column(name, name) for name in names))
    rows = tuple(
        {"matchup": heading, **dict(zip(names, _live_cells(info), strict=True))}
        for heading, info in matchups.items()
    )
    notes = [
        note if len(matchups) == 1 else f"{heading}: {note}"
        for heading, info in matchups.items()
        for note in fault_notes(info.tally)
    ]
    return Listing(columns, rows).table(title, notes)


def _live_cells(info: MatchupInfo) -> tuple[str | None, ...]:
    tally, limit, ladder = info.tally, info.number_of_games, info.ladder
    elo = los = None
    estimate = tally.estimate()
    if info.even and estimate.is_telling:
        # the header has the level
        elo = estimate.interval().replace("95 %: ", "").replace(" (95 %)", "")
        los = probability(estimate.los).replace("above ", ">").replace("below ", "<")
    return (
        None if ladder is None else "{:.1f} ({:.1f} to {:.1f})".format(*ladder["even"]),
        elo,
        los,
        None if info.sprt is None else _llr(info.sprt),
        "-".join(map(str, tally.pairs.counts)) if sum(tally.pairs.counts) else None,
        f"{tally.points(0):g}-{tally.points(1):g}",
        f"{tally.completed}" if limit is None else f"{tally.completed}/{limit}",
    )


def _llr(sprt: SprtReport) -> str:
    if sprt.accepted:
        return f"{sprt.llr:.2f}: {sprt.accepted}"
    low, high = (f"{bound:.2f}" for bound in sprt.bounds)
    return f"{sprt.llr:.2f} of {low}/{high}"
