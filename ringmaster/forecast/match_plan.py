"""The action `plan` of a tournament: length and outcome of its tests, precision of its games."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist, fmean
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.result_lines import finite
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.competitions.tournaments.tournament import Tournament
from ringmaster.errors import UsageError, counted
from ringmaster.forecast.forecast import (
    ForecastOptions,
    Timing,
    assumed_draws,
    by_code,
    recent_games,
)
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import LEFT, Column, Listing, Report, Table, Text
from ringmaster.reporting.progress import format_duration
from ringmaster.reporting.tables import render_report
from ringmaster.stats.elo import NELO, Z95, elo_of_score, score_of_elo, short_probability, spread
from ringmaster.stats.ladder import HandicapLadder
from ringmaster.stats.sprt import Sprt, fit_score, forecast, shares
from ringmaster.stats.stopping import FEWEST, Precision

#: Games of a matchup from which its results are the assumption.
_ENOUGH = 200
#: Probability of no decision from which a limit is called too low.
_UNDECIDED = 0.2
#: Standard errors of the 95 % interval, and of differences that it excludes from 0 with 80 % and
#: 95 % probability.
_WIDTHS = {"error": Z95, "shown_80": Z95 + 0.8416, "shown_95": Z95 + 1.6449}
#: Used part of the base time, and moves of a player: with them 10+0.1 and 60+0.6 take the 30 and
#: 180 seconds a game of fishtest's FAQ.
_USED, _MOVES = 0.9, 60
#: Widths of usual bounds: fishtest's, and OpenBench's for engines that still gain much.
_USUAL = {
    "gainer 0 to 2 or 0.5 to 2.5, simplification -1.75 to 0.25": 2,
    "young engine: gainer 0 to 5, simplification -5 to 0": 5,
    "big change 0 to 10": 10,
}


def run(
    options: ForecastOptions, loaded: LoadedCompetition
) -> tuple[Callable[[], str], dict[str, Any]]:
    """Plan a tournament; return a function that renders the text, and the data of --json.

    Raises UsageError, ControlFileError, StoreError.
    """
    competition = loaded.competition
    assert isinstance(competition, Tournament)
    if options.optimum:
        raise UsageError("--optimum is for tunes; --elo is the true difference of a match")
    with loaded.restored():
        recent = recent_games(loaded)
    if not competition.matchups:
        # a swiss pairs its first round
        loaded.prepare()
        competition.next_job()
    matchups = [matchup for matchup in competition.matchups.values() if matchup.limit != 0]
    if not matchups:
        raise UsageError(f"no matchup of {loaded.code} has games to play")
    if any(isinstance(matchup.test, HandicapLadder) for matchup in matchups):
        raise UsageError("a handicap ladder has no plan; number_of_games = 0 leaves it out")
    strengths = by_code(options.elo, [m.id for m in matchups], "--elo", "there is no matchup {!r}")
    plans: dict[str, dict[str, Any]] = {}
    timings: list[Timing] = []
    for matchup, elo in zip(matchups, strengths, strict=True):
        # all games of a roster have the same settings
        played = [g for g in recent if competition.rosters or g.ticket["m"] == matchup.id]
        timings.append(Timing.of(options, played, _clocked(matchup)))
        plan = _plan(options, matchup, timings[-1], elo)
        plans.setdefault(repr(plan), {"matchups": [], **plan})["matchups"].append(matchup.name)
    data = {"competition": loaded.code, "parallel": options.parallel, "plans": [*plans.values()]}
    seconds = [timing.seconds for timing in timings if timing.seconds is not None]
    mean = fmean(seconds) if len(seconds) == len(timings) else None
    timing = Timing(mean, "mean of the matchups", options.parallel)
    if competition.rosters:
        total = competition.summary(live=True).progress.total
        data |= {"games": total, "hours": total and timing.hours(total)}
    else:
        # bounds in nElo have the same length with any results
        pairs = tuple(shares([1, 4, 6, 4, 1]))
        data["usual"] = [
            {"tests": name, **_lengths(Sprt(0, width), pairs, None, None, timing)[0]}
            for name, width in _USUAL.items()
        ]
    return lambda: render_report(_report(data)), data


def _plan(
    options: ForecastOptions, matchup: Matchup, timing: Timing, elo: float | None
) -> dict[str, Any]:
    """Return the plan of a matchup as JSON data; `elo` is the value of --elo."""
    test = matchup.test if isinstance(matchup.test, Sprt) else None
    limit = matchup.limit
    results, origin = _results(options, matchup)
    deviation = spread(fit_score(results, 0.5))[1]
    if isinstance(matchup.test, Precision):
        games = math.ceil((deviation * Z95 / (score_of_elo(matchup.test.elo) - 0.5)) ** 2)
        # the results are pairs
        games = max(2 * FEWEST, games)
        limit = min(games, limit or games)
    plan: dict[str, Any] = {
        "sprt": test and msgspec.structs.asdict(test),
        "number_of_games": limit,
        "seconds_per_game": timing.seconds,
        "duration": str(timing),
        "assumed": [f"{origin}; 1 Elo is {0.5 / deviation:.2f} nElo"],
        "warnings": [],
    }
    if not matchup.alternating:
        plan["assumed"].append("fixed colours: Elo is of the score, not of strength")
    if limit is not None:
        error = deviation / math.sqrt(limit)
        for name, z in _WIDTHS.items():
            plan[name] = finite(elo_of_score(min(1.0, 0.5 + z * error)))
        if elo is not None:
            plan["shown_elo"] = NormalDist().cdf(abs(score_of_elo(elo) - 0.5) / error - Z95)
        plan["hours"] = timing.hours(limit)
    if test is not None:
        plan["tests"] = _lengths(test, results, limit, elo, timing)
        undecided = plan["tests"][2]["undecided"]
        if undecided > _UNDECIDED:
            enough = _lengths(test, results, None, None, timing)[2]["high"]
            plan["warnings"] = [
                f"{limit:,} games leave {undecided:.0%} of the tests undecided if the difference "
                f"is elo1; {enough:,.0f} decide 19 of 20"
            ]
    return plan


@lru_cache(maxsize=1024)
def _lengths(
    test: Sprt, results: Sequence[float], limit: int | None, elo: float | None, timing: Timing
) -> list[dict[str, Any]]:
    """Return the forecasts of a test at elo0, the middle, elo1 and `elo`."""
    cases = [test.fit(results, x) for x in (test.elo0, (test.elo0 + test.elo1) / 2, test.elo1)]
    if elo is not None:
        cases.append(fit_score(results, score_of_elo(elo)))
    rows = []
    for case in cases:
        score, deviation = spread(case)
        row = forecast(test, case, limit)
        for name in ("games", "low", "high"):
            # those in progress at the decision count, too
            row[name] = min(row[name] + timing.parallel - 1, limit or math.inf)
        nelo = (score - 0.5) / deviation * NELO
        hours = timing.hours(row["games"])
        rows.append({"elo": elo_of_score(score), "nelo": nelo, **row, "hours": hours})
    return rows


def _results(options: ForecastOptions, matchup: Matchup) -> tuple[tuple[float, ...], str]:
    """Return the assumed shares of results, worst to best, and their origin in words."""
    tally = matchup.results
    counts_games = isinstance(matchup.test, Sprt) and not matchup.test.pentanomial
    in_pairs = matchup.alternating and not counts_games
    if options.penta is not None and in_pairs:
        return tuple(shares(options.penta)), "pairs as in --penta"
    if options.draw_ratio is None and tally.known >= _ENOUGH:
        games = [tally.total(1), tally.total(2), tally.total(0)]
        counts = tally.pairs.counts if in_pairs else games
        return tuple(shares(counts)), f"results as in its {tally.known:,} games"
    draws, origin = assumed_draws(options.draw_ratio, matchup.settings.game)
    game = shares([(1 - draws) / 2, draws, (1 - draws) / 2])
    if not in_pairs:
        return tuple(game), origin
    return tuple(np.convolve(game, game).tolist()), f"{origin}, in independent pairs (--penta)"


def _clocked(matchup: Matchup) -> float | None:
    """Return the seconds of a game by the players' clocks, None without a clock."""
    total, settings = 0.0, matchup.settings
    # in Go two thirds of the board are played
    moves = settings.board_size**2 / 3 if settings.game == "go" else _MOVES
    for player in matchup.players:
        clock = player.time_control
        if clock is not None:
            each = clock.increment + clock.period / (clock.stones or 1)
            total += _USED * clock.base * (moves / clock.moves if clock.moves else 1) + moves * each
        elif player.move_time is not None:
            total += moves * player.move_time
        else:
            return None
    return total


_COUNT, _ELO = "{:,.0f}".format, "{:+z.1f}".format
_GAMES = Column("games", "games", _COUNT)
_TIME = Column("hours", "time", lambda hours: format_duration(3600 * hours))
_TESTS = (
    Column("elo", "Elo", _ELO),
    Column("nelo", "nElo", _ELO),
    _GAMES,
    Column("low", "5 %", _COUNT),
    Column("high", "95 %", _COUNT),
    Column("h1", "pass", short_probability),
    Column("h0", "fail", short_probability),
    Column("undecided", "undecided", short_probability),
    _TIME,
)
_FIXED = (
    Column("name", "matchup", align=LEFT),
    Column("number_of_games", "games", _COUNT),
    Column("error", "95 %", "± {:.1f} Elo".format),
    Column("shown_80", "80 % see", "{:.1f} Elo".format),
    Column("shown_95", "95 % see", "{:.1f} Elo".format),
    Column("shown_elo", "see --elo", short_probability),
    Column("seconds_per_game", "a game", "{:.3g} s".format),
    _TIME,
)


def _report(data: dict[str, Any]) -> Report:
    tests: list[Table] = []
    fixed: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for plan in data["plans"]:
        (name, *others), test, limit = plan["matchups"], plan["sprt"], plan["number_of_games"]
        name += f" and {len(others)} more" if others else ""
        duration = [] if test is None and plan["seconds_per_game"] else [plan["duration"]]
        notes = [f"assumed: {line}" for line in (*plan["assumed"], *duration)]
        if test is None:
            fixed[*notes].append({"name": name, **plan})
            continue
        unit = "nElo" if test["model"] == "normalized" else "Elo"
        most = f", at most {limit:,} games" if limit else ""
        title = f"{name}: SPRT {test['elo0']:g} to {test['elo1']:g} {unit}{most}"
        columns = tuple(c for c in _TESTS if limit or c.key != "undecided")
        about = "games: their mean; 5 % of tests end before, 5 % after; pass: H1 accepted; fail: H0"
        notes = [about, *notes, *(f"warning: {line}" for line in plan["warnings"])]
        tests.append(Listing(columns, plan["tests"]).table(title, notes))
    about = "± is the 95 % interval; it excludes 0 in 80 % or 95 % of matches at that difference"
    tables = [
        Listing(_FIXED, tuple(rows)).table(notes=[about, *notes]) for notes, rows in fixed.items()
    ]
    if "usual" in data:
        note = "games if the true difference is elo0 or elo1; in the middle 1.6 times as many"
        columns = (Column("tests", "usual SPRT in nElo", align=LEFT), _GAMES, _TIME)
        tables.append(Listing(columns, data["usual"]).table(notes=[note]))
    ends: list[Text] = []
    if data.get("hours"):
        ends.append(Text((f"all {data['games']:,} games: {_TIME.show(data['hours'])}",)))
    head = f"plan of {data['competition']}: {counted(data['parallel'], 'game')} at a time"
    return Report((Text((head,)), *tests, *tables, *ends))
