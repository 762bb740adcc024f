"""`show --format`: the results of matches in the format of fastchess or OpenBench.

The wording and the formulas are the same, including their errors, for programs that parse this
output.  Formats as of fastchess 1.8 (`output_fastchess.hpp`) and OpenBench of 2026
(`mytags.py`, `stats.py`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringmaster.competitions import competition_class
from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.tournaments.roster_tournaments import RosterTournament
from ringmaster.errors import UsageError, nearest
from ringmaster.model.time_control import TimeControl, number
from ringmaster.results import Results
from ringmaster.results.matchups import MatchupResults
from ringmaster.stats.elo import NELO, Z95

_RULE = "-" * 50
_NULL = "NULL"


@dataclass(frozen=True)
class _Counts:
    """Results of one side.

    pairs  by points (0, ½, 1, 1½, 2), None without pairs
    split  pairs with a win for each side
    """

    wins: int
    losses: int
    draws: int
    pairs: tuple[int, ...] | None
    split: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def samples(self) -> tuple[int, ...]:
        """Counts of independent results, pairs or games, from worst to best."""
        return (self.losses, self.draws, self.wins) if self.pairs is None else self.pairs

    def turned(self) -> _Counts:
        """Return the results of the other side."""
        pairs = None if self.pairs is None else self.pairs[::-1]
        return _Counts(self.losses, self.wins, self.draws, pairs, self.split)

    def __add__(self, other: _Counts) -> _Counts:
        pairs = None
        if self.pairs is not None and other.pairs is not None:
            pairs = tuple(a + b for a, b in zip(self.pairs, other.pairs, strict=True))
        return _Counts(
            self.wins + other.wins,
            self.losses + other.losses,
            self.draws + other.draws,
            pairs,
            self.split + other.split,
        )


def _counts(matchup: MatchupResults, sprt: SprtReport | None) -> _Counts:
    """Return the results of a matchup's first player: of complete pairs only, like fastchess, if
    all games belong to pairs."""
    has_pairs = sprt is None or len(sprt.counts) == 5
    if has_pairs and matchup.all_paired and any(matchup.pentanomial):
        ll, ld, even, wd, ww = matchup.pentanomial
        split = matchup.split_pairs
        wins, losses = 2 * ww + wd + split, 2 * ll + ld + split
        return _Counts(wins, losses, ld + wd + 2 * (even - split), (ll, ld, even, wd, ww), split)
    first, second = matchup.sides
    return _Counts(first.wins, second.wins, matchup.draws, None)


# fastchess


@dataclass(frozen=True)
class _Estimate:
    elo: float
    error: float
    nelo: float
    nelo_error: float
    los: float


def _ratio(over: float, under: float) -> float:
    """Divide like C++, with inf and nan."""
    if under:
        return over / under
    return math.copysign(math.inf, over) if over else math.nan


def _elo(score: float) -> float:
    """Return −400·log₁₀(1/score − 1), NaN outside of 0 to 1."""
    if not 0 <= score <= 1:
        return math.nan
    if score in (0, 1):
        return math.inf if score else -math.inf
    return -400 * math.log10(1 / score - 1)


def _mean_and_variance(samples: Sequence[int]) -> tuple[float, float]:
    count, top = sum(samples), len(samples) - 1
    if not count:
        return math.nan, math.nan
    mean = sum(n * i / top for i, n in enumerate(samples)) / count
    return mean, sum(n * (i / top - mean) ** 2 for i, n in enumerate(samples)) / count


def _estimate(counts: _Counts) -> _Estimate:
    """Return fastchess's estimates (`elo_pentanomial.cpp`, `elo_wdl.cpp`)."""
    samples = counts.samples
    mean, variance = _mean_and_variance(samples)
    deviation = math.sqrt(variance / sum(samples)) if sum(samples) else math.nan
    high, low = mean + Z95 * deviation, mean - Z95 * deviation
    # the mean of a pair has 1/√2 of a game's standard deviation
    scale = math.sqrt((2 if len(samples) == 5 else 1) * variance)
    sigmas = _ratio(mean - 0.5, deviation * math.sqrt(2))
    return _Estimate(
        _elo(mean),
        (_elo(high) - _elo(low)) / 2,
        _ratio(mean - 0.5, scale) * NELO,
        _ratio(Z95 * deviation, scale) * NELO,
        math.nan if math.isnan(sigmas) else (1 + math.erf(sigmas)) / 2,
    )


def _penta(pairs: Sequence[int]) -> str:
    return f"[{', '.join(map(str, pairs))}]"


def _percent_drawn(counts: _Counts) -> float:
    if counts.pairs is None:
        return 100 * _ratio(counts.draws, counts.games)
    return 100 * _ratio(counts.pairs[2], sum(counts.pairs))


def _fastchess_pair(conditions: _Conditions, counts: _Counts, sprt: SprtReport | None) -> list[str]:
    estimate = _estimate(counts)
    both = [conditions.of(code) for code in conditions.players]
    shown = [
        values[0] if values[0] == values[1] else " - ".join(values)
        for values in zip(
            *((_fastchess_limit(s), _with(s.threads, "t"), _with(s.hash, "MB")) for s in both),
            strict=True,
        )
    ]
    shown += [conditions.book] if conditions.book else []
    first, second = conditions.players
    los = f"LOS: {100 * estimate.los:.2f} %, DrawRatio: {_percent_drawn(counts):.2f} %"
    pairs = counts.pairs
    if pairs is not None:
        los += f", PairsRatio: {_ratio(pairs[3] + pairs[4], pairs[0] + pairs[1]):.2f}"
    lines = [
        f"Results of {first} vs {second} ({', '.join(shown)}):",
        f"Elo: {estimate.elo:.2f} +/- {estimate.error:.2f}, "
        f"nElo: {estimate.nelo:.2f} +/- {estimate.nelo_error:.2f}",
        los,
        f"Games: {counts.games}, Wins: {counts.wins}, Losses: {counts.losses}, "
        f"Draws: {counts.draws}, Points: {counts.points:.1f} "
        f"({100 * _ratio(counts.points, counts.games):.2f} %)",
    ]
    if pairs is not None:
        ratio = _ratio(counts.split, pairs[2] - counts.split)
        lines.append(f"Ptnml(0-2): {_penta(pairs)}, WL/DD Ratio: {ratio:.2f}")
    if sprt is not None:
        low, high = sprt.bounds
        share = sprt.llr / high if sprt.llr >= 0 else -sprt.llr / low
        lines.append(
            f"LLR: {sprt.llr:.2f} ({100 * share:.1f}%) ({low:.2f}, {high:.2f}) "
            f"[{sprt.test.elo0:.2f}, {sprt.test.elo1:.2f}]"
        )
    return lines


def _fastchess_table(counts: Mapping[str, _Counts]) -> list[str]:
    rows = sorted(
        ((code, own, _estimate(own)) for code, own in counts.items()),
        key=lambda row: (math.isnan(row[2].elo), -row[2].elo),
    )
    width = max(25, *(len(code) for code in counts))
    heads = ("Elo", "+/-", "nElo", "+/-", "Games", "Score", "Draw")
    lines = [
        f"{'Rank':<4} {'Name':<{width}} "
        + " ".join(f"{head:>10}" for head in heads)
        + f" {'Ptnml(0-2)':>20}"
    ]
    for rank, (code, own, estimate) in enumerate(rows, start=1):
        numbers = (estimate.elo, estimate.error, estimate.nelo, estimate.nelo_error)
        score = 100 * _ratio(own.points, own.games)
        lines.append(
            f"{rank:>4} {code:<{width}} "
            + " ".join(f"{value:>10.2f}" for value in numbers)
            + f" {own.games:>10} {score:>9.1f}% {_percent_drawn(own):>9.1f}% "
            + f"{'' if own.pairs is None else _penta(own.pairs):>20}"
        )
    return lines


def _fastchess_limit(side: _Side) -> str:
    if side.control is not None:
        control = side.control
        if control.overtime:
            return str(control)
        moves = f"{control.moves}/" if control.moves else ""
        increment = f"+{control.increment:.2g}" if control.increment else ""
        return f"{moves}{number(control.base)}{increment}"
    if side.move_time is not None:
        return f"{number(side.move_time)}/move"
    if side.depth is not None:
        return f"{side.depth} plies"
    return "" if side.nodes is None else f"{side.nodes} nodes"


def _with(value: object, unit: str) -> str:
    return _NULL if value is None else f"{value}{unit}"


# OpenBench


def _openbench(conditions: _Conditions, counts: _Counts, sprt: SprtReport | None) -> list[str]:
    side = conditions.of(conditions.players[0])
    elo, error = _openbench_elo(counts.samples)
    setup = [_openbench_limit(side), f"Threads={1 if side.threads is None else side.threads}"]
    setup += [] if side.hash is None else [f"Hash={side.hash}MB"]
    lines = [
        f"Elo   | {elo:.2f} +- {error:.2f} (95%)",
        f"{'Conf' if sprt is None else 'SPRT':<5} | {' '.join(filter(None, setup))}",
    ]
    if sprt is not None:
        low, high = sprt.bounds
        lines.append(
            f"LLR   | {sprt.llr:.2f} ({low:.2f}, {high:.2f}) "
            f"[{sprt.test.elo0:.2f}, {sprt.test.elo1:.2f}]"
        )
    lines.append(f"Games | N: {counts.games} W: {counts.wins} L: {counts.losses} D: {counts.draws}")
    if counts.pairs is not None:
        lines.append(f"Penta | {_penta(counts.pairs)}")
    return lines


def _openbench_elo(samples: Sequence[int]) -> tuple[float, float]:
    """Return OpenBench's Elo and error: bounds by Student's t, scores from 0.001 to 0.999."""
    from scipy.special import stdtrit

    count = sum(samples)
    if count < 2:
        return 0.0, 0.0
    mean, variance = _mean_and_variance(samples)
    half = float(stdtrit(count - 1, 0.975)) * math.sqrt(variance / count)
    low, elo, high = (
        _elo(min(max(score, 1e-3), 1 - 1e-3)) for score in (mean - half, mean, mean + half)
    )
    return elo, max(high - elo, elo - low)


def _openbench_limit(side: _Side) -> str:
    control = side.control
    if control is not None:
        if control.overtime:
            return f"{control}s"
        moves = f"{control.moves}/" if control.moves else ""
        return f"{moves}{control.base:.1f}+{control.increment:.2f}s"
    if side.move_time is not None:
        return f"MT={round(1000 * side.move_time)}"
    if side.depth is not None:
        return f"D={side.depth}"
    return "" if side.nodes is None else f"N={side.nodes}"


# conditions


@dataclass(frozen=True)
class _Side:
    """The limits, hash and threads of a player, None if not in the control file."""

    control: TimeControl | None
    move_time: float | None
    depth: int | None
    nodes: int | None
    threads: object
    hash: object


class _Conditions:
    """The settings of a matchup's players in the control file."""

    def __init__(self, results: Results, matchup: MatchupResults, players: tuple[str, str]) -> None:
        settings = results.settings
        self.players = players
        self._known = {code: info.settings for code, info in results.players.items()}
        # both sides of a closing match are the tuned player
        self._tuned = self._known.get(settings.get("player", ""), {})
        # `verify` is a setting of tunes only
        self._own: dict[str, Any] = settings.get("verify") or {}
        pairings = settings.get("matchups") or []
        ids = [str(i) if m["id"] is None else m["id"] for i, m in enumerate(pairings)]
        if matchup.id in ids:
            self._own = pairings[ids.index(matchup.id)]
        book = self._own.get("openings") or settings.get("openings")
        self.book = os.path.basename(book["path"]) if book else ""

    def of(self, code: str) -> _Side:
        """Return the settings of a player."""
        settings_of_player = self._known.get(code) or self._tuned
        limits = ("time_control", "move_time", "depth", "nodes")
        # limits of a closing match replace all limits of the player
        source = (
            self._own
            if any(self._own.get(name) is not None for name in limits)
            else settings_of_player
        )
        control, move_time, depth, nodes = map(source.get, limits)
        options = settings_of_player.get("options") or {}
        return _Side(
            None if control is None else TimeControl.parse(control),
            move_time,
            depth,
            nodes,
            options.get("Threads"),
            options.get("Hash", options.get("USI_Hash")),
        )


_Block = Callable[[_Conditions, _Counts, SprtReport | None], list[str]]
FORMATS: dict[str, _Block] = {"fastchess": _fastchess_pair, "openbench": _openbench}


def result_blocks(results: Results, format: str) -> str:
    """Return the results of a competition's matches in a format of another program.

    Raises UsageError for an unknown format, and for a competition without matches.
    """
    block = FORMATS.get(format)
    if block is None:
        raise UsageError(
            f"show has no format {format!r}; expected {nearest(format, list(FORMATS))}"
        )
    matchups = list(results.matchups.values())
    if not matchups:
        raise UsageError(
            f"{results.code} has no match for the format {format}: its type is "
            f"{results.competition_type}, and it has no closing match yet"
        )
    blocks = [*_blocks(results, matchups, block, table=format == "fastchess")]
    if format == "openbench":
        return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"
    return "".join("\n".join([_RULE, *lines, _RULE]) + "\n" for lines in blocks)


def _blocks(
    results: Results, matchups: Sequence[MatchupResults], block: _Block, table: bool
) -> Iterator[list[str]]:
    kind = competition_class(results.competition_type)
    has_roster = kind is not None and issubclass(kind, RosterTournament)
    # like fastchess with three engines
    if table and len(matchups) > 1 and has_roster:
        sums: dict[str, _Counts] = {}
        for matchup in matchups:
            own = _counts(matchup, None)
            for code, counts in zip(matchup.players, (own, own.turned()), strict=True):
                sums[code] = sums[code] + counts if code in sums else counts
        yield _fastchess_table(sums)
        return
    for matchup in matchups:
        counts = _counts(matchup, matchup.sprt)
        players = matchup.players
        if matchup.sprt is not None and matchup.sprt.players != players:
            players, counts = matchup.sprt.players, counts.turned()
        yield block(_Conditions(results, matchup, players), counts, matchup.sprt)
