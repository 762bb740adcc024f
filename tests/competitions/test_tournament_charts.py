"""Numbers in charts of tournaments."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.competition import Competition
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tournaments.game_charts import GameCharts
from ringmaster.competitions.tournaments.matchup_charts import MOST_COURSES, MOST_POINTS
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import GameJob, Ticket
from ringmaster.model.report import Bars, Chart, ChartGroup, Comparison, HeatMap
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.stats.elo import elo_of_score, wilson
from tests.recorded import CHESS, GO, won, write

History = list[tuple[Ticket, GameResult]]
#: Returns the winning seat of a job, None for a draw.
Winner = Callable[[GameJob], int | None]

MATCH = """competition_type = "playoff"
game = "chess"
players = {"new": Player("engine", nodes=1), "old": Player("engine", nodes=2)}
matchups = [Matchup("new", "old", number_of_games=%d%s)]
"""
ALL = """competition_type = "allplayall"
game = "chess"
players = {c: Player("engine", nodes=1) for c in %r}
competitors = list(players)
rounds = %d
"""


def made(folder: Path, source: str) -> Competition:
    return LoadedCompetition(write(folder, source)).competition


def drawn(game_id: str, **changes: Any) -> GameResult:
    return won(game_id, None, outcome="draw", reason="repetition", **changes)


def play(competition: Competition, games: int, winner: Winner, **changes: Any) -> History:
    history: History = []
    while len(history) < games and (job := competition.next_job()) is not None:
        assert isinstance(job, GameJob)
        seat = winner(job)
        result = drawn(job.id, **changes) if seat is None else won(job.id, seat, **changes)
        competition.record_result(job.ticket, result)
        history.append((job.ticket, result))
    return history


def seat_of(job: GameJob, code: str) -> int:
    return [player.code for player in job.players].index(code)


def always(code: str) -> Winner:
    return lambda job: seat_of(job, code)


def chance(seed: int) -> Winner:
    random_ = random.Random(seed)
    return lambda job: random_.choice((0, 1, None))


def by_key(groups: list[ChartGroup]) -> dict[str, ChartGroup]:
    keys = {group.key: group for group in groups}
    assert len(keys) == len(groups)
    return keys


def bars(group: ChartGroup, number: int = 0) -> dict[str, dict[str, float | None]]:
    """Return the values of bars by series and name."""
    chart = group.charts[number]
    assert isinstance(chart, Bars)
    return {s.name: dict(zip(chart.names, s.values, strict=True)) for s in chart.series}


def comparison(group: ChartGroup, number: int = 0) -> Comparison:
    chart = group.charts[number]
    assert isinstance(chart, Comparison)
    return chart


def line(group: ChartGroup, number: int = 0) -> Chart:
    chart = group.charts[number]
    assert isinstance(chart, Chart)
    return chart


def piece(chart: Chart, name: str) -> Any:
    (selected,) = [piece for piece in chart.pieces if piece.name == name]
    return selected


def test_tournament_without_results_has_nothing_to_draw(tmp_path: Path) -> None:
    assert made(tmp_path, CHESS).charts([]) == []


def test_elo_of_a_matchup_is_that_of_its_report(tmp_path: Path) -> None:
    competition = made(tmp_path, MATCH % (40, ""))
    groups = by_key(competition.charts(play(competition, 40, chance(3))))
    elo = comparison(groups["elo"])
    (row,) = elo.rows
    summary = competition.summary().data()["matchups"][0]
    assert (row.value, row.low, row.high) == (
        summary["elo"],
        summary["elo_low"],
        summary["elo_high"],
    )
    course = line(groups["course"])
    assert piece(course, "Elo").points[-1] == (40, row.value)
    assert piece(course, "95 % interval").points[-1] == (40, row.low, row.high)
    assert groups["pairs"].charts[0].series[0].values == tuple(summary["pentanomial"])  # type: ignore[union-attr]


def test_matchup_won_by_all_games_has_an_elo_with_an_open_end(tmp_path: Path) -> None:
    competition = made(tmp_path, MATCH % (12, ""))
    groups = by_key(competition.charts(play(competition, 12, always("new"))))
    (row,) = comparison(groups["elo"]).rows
    summary = competition.summary().data()["matchups"][0]
    assert (row.low, row.high) == (summary["elo_low"], math.inf)
    assert row.value == elo_of_score(sum(wilson(6, 6)) / 2)
    assert row.text == f"at least {row.low:+.0f} (95 %), 12 games"
    (score,) = comparison(groups["elo"], 1).rows
    assert (score.value, score.high) == (100, 100)
    course = line(groups["course"])
    assert course.y_label == "score, %"
    assert piece(course, "score").points[-1] == (12, 100)
    # pairs are the observations from the first one on
    ends = [low for _, low, _ in piece(course, "95 % interval").points]
    assert all(after > before - 5 for before, after in pairwise(ends))


def test_matchups_with_fixed_colours_have_their_score_only(tmp_path: Path) -> None:
    competition = made(tmp_path, CHESS)
    groups = by_key(competition.charts(play(competition, 20, chance(3))))
    assert [row.name for row in comparison(groups["elo"]).rows] == ["a v b"]
    assert [row.name for row in comparison(groups["elo"], 1).rows] == [
        "a v b",
        "the old and the new",
    ]
    assert [line(groups["course"], i).y_label for i in (0, 1)] == ["Elo", "score, %"]
    handicap = made(tmp_path, GO)
    groups = by_key(handicap.charts(play(handicap, 4, chance(1))))
    assert comparison(groups["elo"]).x_label == "score of the first player, %"
    assert line(groups["course"]).y_label == "score, %"


def test_course_keeps_some_hundred_points_of_many_games(tmp_path: Path) -> None:
    competition = made(tmp_path, MATCH % (3000, ""))
    history = play(competition, 3000, chance(1))
    points = piece(line(by_key(competition.charts(history))["course"]), "Elo").points
    assert MOST_POINTS / 3 < len(points) <= MOST_POINTS + 1
    assert points[-1][0] == 3000
    steps = {b[0] - a[0] for a, b in pairwise(points[:-1])}
    assert len(steps) == 1


def test_walk_of_a_test_ends_at_the_ratio_of_the_report(tmp_path: Path) -> None:
    competition = made(tmp_path, MATCH % (400, ", sprt=SPRT(0, 60)"))
    history = play(competition, 400, chance(5))
    walk = line(by_key(competition.charts(history))["llr"])
    sprt = competition.summary().data()["matchups"][0]["sprt"]
    points = piece(walk, "LLR").points
    assert points[0] == (0, 0)
    assert points[-1] == (len(history), pytest.approx(sprt["llr"]))
    assert piece(walk, "H1: 60 nElo").value == sprt["upper_bound"]
    assert piece(walk, "H0: 0 nElo").value == sprt["lower_bound"]
    assert walk.note.startswith(("H0: ", "H1: ", "undecided"))


def test_ratings_are_from_the_highest_down(tmp_path: Path) -> None:
    competition = made(tmp_path, ALL % ("abc", 20) + 'anchor = Anchor("b", 2500)\n')
    random_ = random.Random(4)

    def later_is_stronger(job: GameJob) -> int:
        first, second = (player.code for player in job.players)
        return int((first < second) == (random_.random() < 0.7))

    groups = by_key(competition.charts(play(competition, 60, later_is_stronger)))
    ratings = comparison(groups["ratings"])
    assert [row.name for row in ratings.rows] == ["c", "b", "a"]
    assert ratings.mark == 2500
    assert ratings.rows[1].value == 2500


def test_cross_table_has_the_best_on_top_and_no_score_against_oneself(tmp_path: Path) -> None:
    competition = made(tmp_path, ALL % ("abc", 2))

    def later_wins(job: GameJob) -> int | None:
        codes = [player.code for player in job.players]
        return None if codes == ["b", "a"] else codes.index(max(codes))

    group = by_key(competition.charts(play(competition, 6, later_wins)))["crosstable"]
    (heat,) = group.charts
    assert isinstance(heat, HeatMap)
    assert heat.x_names == ("C", "B", "A")
    assert heat.y_names == ("A a", "B b", "C c")
    assert heat.values == ((0, 25, None), (0, None, 75), (None, 100, 100))
    assert heat.texts[0] == ("0-2", "0.5-1.5", "")


def test_many_matchups_are_left_to_ratings_and_cross_table(tmp_path: Path) -> None:
    competition = made(tmp_path, ALL % ("abcdefghij", 2))
    groups = by_key(competition.charts(play(competition, 90, chance(1))))
    assert len(competition.summary().matchups) > MOST_COURSES
    assert {"ratings", "crosstable"} <= groups.keys()
    assert {"elo", "course", "pairs"}.isdisjoint(groups)


# all games


def test_lengths_are_counted_in_bars_by_winner() -> None:
    games = GameCharts("chess", ("a", "b"))
    for plies in (0, 9, 10, 59, 59, 800):
        games.record_result(("a", "b"), "", won("x", 0, plies=plies))
    games.record_result(("b", "a"), "", drawn("x", plies=12))
    lengths = bars(by_key(games.charts([]))["lengths"])
    assert lengths["White won"]["0-49"] == 3
    assert lengths["White won"]["50-99"] == 2
    assert lengths["White won"]["800-849"] == 1
    assert lengths["drawn"]["0-49"] == 1
    assert "Black won" not in lengths


def test_endings_of_two_players_are_by_winner_and_those_of_more_by_colour() -> None:
    two, three = GameCharts("chess", ("a", "b")), GameCharts("chess", ("a", "b", "c"))
    for games in (two, three):
        games.record_result(("a", "b"), "", won("x", 0))
        games.record_result(("b", "a"), "", won("x", 1, reason="time", forfeit=True))
        games.record_result(("b", "a"), "", drawn("x"))
    endings = bars(by_key(two.charts([]))["endings"])
    assert endings["a won"] == {"mate": 1, "repetition": 0, "time": 1}
    assert endings["drawn"]["repetition"] == 1
    endings = bars(by_key(three.charts([]))["endings"])
    assert endings["Black won"]["time"] == 1


def test_bars_of_a_player_add_up_to_its_games(tmp_path: Path) -> None:
    competition = made(tmp_path, MATCH % (30, ""))
    history: History = []
    for forfeit in (True, False) * 15:
        history += play(competition, 1, chance(len(history)), forfeit=forfeit)
    outcomes = bars(by_key(competition.charts(history))["players"])
    for code in ("new", "old"):
        assert sum(series[code] or 0 for series in outcomes.values()) == 30
    assert outcomes["won by a fault"]["new"] == outcomes["lost by a fault"]["old"] != 0


def test_score_by_colour_is_of_all_games_and_of_each_player() -> None:
    games = GameCharts("go", ("a", "b"))
    for codes, winner in ((("a", "b"), 0), (("b", "a"), 0), (("a", "b"), 1), (("b", "a"), 0)):
        games.record_result(codes, "", won("x", winner))
    rows = comparison(by_key(games.charts([]))["colours"]).rows
    assert {row.name: row.value for row in rows} == {
        "Black, all games": 75,
        "a as Black": 50,
        "a as White": 0,
        "b as Black": 100,
        "b as White": 50,
    }


def test_score_by_opening_is_of_the_first_mover_and_of_the_first_player() -> None:
    games = GameCharts("chess", ("a", "b"))
    for i in range(8):
        # White wins from opening 1, player a from opening 2
        games.record_result(("a", "b") if i % 2 else ("b", "a"), "book:1", won("x", 0))
        games.record_result(("a", "b") if i % 2 else ("b", "a"), "book:2", won("x", 1 - i % 2))
    games.record_result(("a", "b"), "book:3", won("x", 1))
    group = by_key(games.charts([]))["openings"]
    white, own = comparison(group), comparison(group, 1)
    assert (white.title, own.title) == ("White's score", "a's score")
    assert {row.name: row.value for row in white.rows} == {"book:1": 100, "book:2": 50}
    assert {row.name: row.value for row in own.rows} == {"book:1": 50, "book:2": 100}


def test_resources_are_by_player_in_fitting_units() -> None:
    games = GameCharts("chess", ("a", "b"))
    fast, slow = EngineUsage("", 1.0, 5_000_000, 0.4, 0.02), EngineUsage("", 9.0, None, 40.0, 2.5)
    for _ in range(2):
        games.record_result(("a", "b"), "", won("x", 0, plies=40, usage=(fast, slow)))
    tally = Tally(("a", "b"), cpu=[3.0, 0.0], timed=[2, 0])
    group = by_key(games.charts([tally]))["time"]
    units = {chart.title: chart.y_label for chart in group.charts if isinstance(chart, Bars)}
    assert units == {
        "Thinking per move": "s",
        "Slowest move": "s",
        "CPU per game": "s",
        "Peak memory": "MB",
    }
    assert bars(group, 0)["Thinking per move"] == {"a": 0.02, "b": 2}
    assert bars(group, 2)["CPU per game"] == {"a": 1.5, "b": None}
    assert bars(group, 3)["Peak memory"] == {"a": 5, "b": None}


def test_faults_are_by_player_and_kind_and_absent_without_any() -> None:
    games = GameCharts("chess", ("a", "b"))
    games.record_result(("a", "b"), "", won("x", 0))
    assert "faults" not in by_key(games.charts([Tally(("a", "b"))]))
    tally = Tally(
        ("a", "b"),
        forfeit_kinds=[{}, {"time": 3, "illegal move": 1}],
        void_kinds={"a": {"crash": 2}, "": {"start": 1}},
    )
    faults = bars(by_key(games.charts([tally]))["faults"])
    assert faults["lost: time"] == {"a": 0, "b": 3, "no player at fault": 0}
    assert faults["void: crash"]["a"] == 2
    assert faults["void: start"]["no player at fault"] == 1
