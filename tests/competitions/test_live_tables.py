"""The table of matchups on the live display."""

from __future__ import annotations

from ringmaster.competitions.matchup_sprt import Decision, SprtReport
from ringmaster.competitions.tournaments.live_tables import LiveMatchup, live_table
from ringmaster.competitions.tournaments.matchup import Pairs, Tally
from ringmaster.model.report import Table
from ringmaster.stats.sprt import Sprt

TALLY = Tally(
    ("new", "base"),
    by_colour=[[30, 20, 50, 0], [20, 30, 50, 0]],
    pairs=Pairs([5, 20, 45, 25, 5]),
)
TEST = SprtReport(Sprt(0, 5), ("new", "base"), (5, 20, 45, 25, 5), 1.234)


def cells(table: Table, row: int = 0) -> dict[str, object]:
    return dict(zip(table.headers, table.rows[row], strict=True))


def test_a_row_has_elo_los_ratio_pairs_points_and_games() -> None:
    table = live_table([LiveMatchup("new v base", TALLY, 4000, True, TEST)], "chess")
    assert table.headers == (
        "matchup",
        "Elo (95 %)",
        "LOS",
        "LLR",
        "LL-LD-DD-WD-WW",
        "points",
        "games",
    )
    row = cells(table)
    assert row["LLR"] == "1.23 of -2.94/2.94"
    assert row["LL-LD-DD-WD-WW"] == "5-20-45-25-5"
    assert row["points"] == "100-100"
    assert row["games"] == "200/4000"
    assert row["Elo (95 %)"] == TALLY.estimate().interval().replace(" (95 %)", "")


def test_columns_without_entries_are_omitted() -> None:
    handicap = LiveMatchup("a v b", Tally(("a", "b"), by_colour=[[3, 1, 0, 0], [0] * 4]), None)
    table = live_table([handicap._replace(even=False)], "go")
    assert table.headers == ("matchup", "wins", "games")
    assert table.rows == (("a v b", "3-1", "4"),)


def test_decided_test_names_its_hypothesis() -> None:
    decided = SprtReport(Sprt(0, 5, beta=0.1), ("a", "b"), (0, 9), 2.9, Decision("H1", 2.9, [0, 9]))
    open_ = SprtReport(Sprt(0, 5, beta=0.1), ("a", "b"), (0, 9), -0.5)
    table = live_table(
        [LiveMatchup("a v b", TALLY, None, True, r) for r in (decided, open_)], "chess"
    )
    assert cells(table)["LLR"] == "2.90: H1"
    assert cells(table, 1)["LLR"] == "-0.50 of -2.25/2.89"


def test_faults_are_notes_with_the_matchup_where_there_are_several() -> None:
    faulty = Tally(("a", "b"), by_colour=[[1, 0, 0, 0], [0] * 4], forfeits=[0, 1])
    one, two = LiveMatchup("a v b", faulty, None), LiveMatchup("new v base", TALLY, None)
    assert live_table([one], "chess").notes == ("b forfeited: 1",)
    assert live_table([one, two], "chess").notes == ("a v b: b forfeited: 1",)
