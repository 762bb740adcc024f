"""`show --format`: the results of matches in the format of fastchess or OpenBench.

Words and order are theirs, for programs that parse this output; the numbers are those of `show`.
Formats as of fastchess 1.8 (`output_fastchess.hpp`) and OpenBench of 2026 (`mytags.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ringmaster.competitions.competition import Summary
from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.tally import Tally
from ringmaster.errors import UsageError, nearest
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.players import HASH, Player, given_option, threads_of
from ringmaster.model.time_control import number
from ringmaster.results.matchups import MatchupResults, matchups_of
from ringmaster.stats.elo import pairs_ratio

_RULE = "-" * 50
_NULL = "NULL"


class _Counts(NamedTuple):
    """Games of the first player; of complete pairs only, like fastchess, where all are paired.

    pairs  by its points (0, ½, 1, 1½, 2), None without pairs
    """

    wins: int
    losses: int
    draws: int
    pairs: list[int] | None

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws


def _counts(tally: Tally) -> _Counts:
    wins, losses, draws = (tally.total(column) for column in range(3))
    if not tally.in_pairs:
        return _Counts(wins, losses, draws, None)
    half = list(tally.pairs.half.values())
    wins, losses, draws = wins - half.count(1), losses - half.count(0), draws - half.count(0.5)
    return _Counts(wins, losses, draws, tally.pairs.counts)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _elo(match: MatchupResults) -> tuple[float, float]:
    """Return Elo with its error, NaN where the score does not measure strength."""
    return (math.nan, math.nan) if match.elo is None else (match.elo.elo, match.elo.error)


def _bounds(sprt: SprtReport) -> str:
    low, high = sprt.bounds
    return f"({low:.2f}, {high:.2f}) [{sprt.test.elo0:.2f}, {sprt.test.elo1:.2f}]"


# fastchess


def _fastchess(match: MatchupResults) -> list[str]:
    counts = _counts(match.info.tally)
    pairs = counts.pairs
    elo, error = _elo(match)
    nelo, nelo_error = math.nan, math.nan
    if match.nelo is not None and math.isfinite(match.nelo.error):
        nelo, nelo_error = match.nelo.nelo, match.nelo.error
    los = math.nan if match.elo is None else match.elo.los
    drawn = _ratio(counts.draws, counts.games) if pairs is None else _ratio(pairs[2], sum(pairs))
    likelihood = f"LOS: {100 * los:.2f} %, DrawRatio: {100 * drawn:.2f} %"
    if pairs is not None:
        won_to_lost = pairs_ratio(pairs)
        if won_to_lost is None:
            won_to_lost = math.inf if any(pairs[3:]) else math.nan
        likelihood += f", PairsRatio: {won_to_lost:.2f}"
    points = counts.wins + counts.draws / 2
    first, second = match.players
    lines = [
        f"Results of {first} vs {second} ({', '.join(_fastchess_conditions(match))}):",
        f"Elo: {elo:.2f} +/- {error:.2f}, nElo: {nelo:.2f} +/- {nelo_error:.2f}",
        likelihood,
        f"Games: {counts.games}, Wins: {counts.wins}, Losses: {counts.losses}, "
        f"Draws: {counts.draws}, Points: {points:.1f} "
        f"({100 * _ratio(points, counts.games):.2f} %)",
    ]
    if pairs is not None:
        won_and_lost = counts.wins - 2 * pairs[4] - pairs[3]
        ratio = _ratio(won_and_lost, pairs[2] - won_and_lost)
        lines.append(f"Ptnml(0-2): {pairs}, WL/DD Ratio: {ratio:.2f}")
    sprt = match.sprt
    if sprt is not None:
        low, high = sprt.bounds
        share = sprt.llr / high if sprt.llr >= 0 else -sprt.llr / low
        lines.append(f"LLR: {sprt.llr:.2f} ({100 * share:.1f}%) {_bounds(sprt)}")
    return [_RULE, *lines, _RULE]


def _fastchess_conditions(match: MatchupResults) -> list[str]:
    """Return limit, threads and hash, those of both players where they differ, and the book."""
    columns = [("", _NULL, _NULL)] * 2
    if match.info.sides is not None:
        columns = [
            (
                _fastchess_limit(player),
                _with_unit(threads_of(player), "t"),
                _with_unit(given_option(player, HASH), "MB"),
            )
            for player in match.info.sides
        ]
    texts = [a if a == b else f"{a} - {b}" for a, b in zip(*columns, strict=True)]
    return [*texts, match.info.book] if match.info.book else texts


def _fastchess_limit(player: Player) -> str:
    control = player.time_control
    if control is not None:
        if control.overtime:
            return str(control)
        moves = f"{control.moves}/" if control.moves else ""
        increment = f"+{control.increment:.2g}" if control.increment else ""
        return f"{moves}{number(control.base)}{increment}"
    if player.move_time is not None:
        return f"{number(player.move_time)}/move"
    if player.depth is not None:
        return f"{player.depth} plies"
    return "" if player.nodes is None else f"{player.nodes} nodes"


def _with_unit(value: object, unit: str) -> str:
    return _NULL if value is None else f"{value}{unit}"


# OpenBench


def _openbench(match: MatchupResults) -> list[str]:
    counts, sprt = _counts(match.info.tally), match.sprt
    elo, error = _elo(match)
    setup = []
    if match.info.sides is not None:
        player = match.info.sides[0]
        hash = given_option(player, HASH)
        setup = [_openbench_limit(player), f"Threads={threads_of(player) or 1}"]
        setup += [] if hash is None else [f"Hash={hash}MB"]
    lines = [
        f"Elo   | {elo:.2f} +- {error:.2f} (95%)",
        f"{'Conf' if sprt is None else 'SPRT'}  | {' '.join(filter(None, setup))}",
    ]
    if sprt is not None:
        lines.append(f"LLR   | {sprt.llr:.2f} {_bounds(sprt)}")
    lines.append(f"Games | N: {counts.games} W: {counts.wins} L: {counts.losses} D: {counts.draws}")
    if counts.pairs is not None:
        lines.append(f"Penta | {counts.pairs}")
    return lines


def _openbench_limit(player: Player) -> str:
    control = player.time_control
    if control is not None:
        if control.overtime:
            return f"{control}s"
        moves = f"{control.moves}/" if control.moves else ""
        return f"{moves}{control.base:.1f}+{control.increment:.2f}s"
    if player.move_time is not None:
        return f"MT={round(1000 * player.move_time)}"
    if player.depth is not None:
        return f"D={player.depth}"
    return "" if player.nodes is None else f"N={player.nodes}"


#: Lines of a matchup, and the text between two matchups.
FORMATS: dict[str, tuple[Callable[[MatchupResults], list[str]], str]] = {
    "fastchess": (_fastchess, "\n"),
    "openbench": (_openbench, "\n\n"),
}


def result_blocks(loaded: LoadedCompetition, summary: Summary, format: str) -> str:
    """Return the results of a restored competition's matches in a format of another program.

    Raises UsageError for an unknown format, and for a competition without matches.
    """
    if format not in FORMATS:
        raise UsageError(
            f"show has no format {format!r}; expected {nearest(format, list(FORMATS))}"
        )
    matchups = matchups_of(summary, loaded.control_file.values["game"])
    if not matchups:
        raise UsageError(
            f"{loaded.code} has no match for the format {format}: its type is "
            f"{loaded.competition.type_name}, and it has no closing match yet"
        )
    lines_of, between = FORMATS[format]
    return between.join("\n".join(lines_of(matchup)) for matchup in matchups.values()) + "\n"
