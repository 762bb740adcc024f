"""Reports of tournaments with many matchups."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.page_data import make_page
from tests.recorded import ticket, won, write

SOURCE = """competition_type = "playoff"
game = "chess"
players = {{f"p{{i}}": Player("./engine", nodes=1) for i in range({players})}}
number_of_games = 10
matchups = [{matchup} for i in range({matchups})]
"""
#: Matchups of few players, whose names repeat, and of one player with each other one.
MATCHUPS = {"few": 'Matchup("p0", f"p{1 + i % 4}")', "many": 'Matchup("p0", f"p{i + 1}")'}


def played(folder: Path, kind: str, matchups: int) -> LoadedCompetition:
    """Return a playoff in which each player has won and lost."""
    players = 5 if kind == "few" else matchups + 1
    source = SOURCE.format(players=players, matchup=MATCHUPS[kind], matchups=matchups)
    loaded = LoadedCompetition(write(folder, source))
    for game in range(4):
        for matchup in range(matchups):
            played_ticket = ticket(str(matchup), game, pair=game // 2)
            # both players win with White; in each third pair they draw points with Black
            winner = int(game == 3 and matchup % 3 == 0)
            loaded.competition.record_result(played_ticket, won(f"{matchup}_{game}", winner))
    return loaded


def calls(function: Callable[[], object]) -> int:
    """Return the number of calls of Python's and C's functions in a call."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("kind", MATCHUPS)
@pytest.mark.parametrize("page", [False, True], ids=["text", "page"])
def test_cost_of_a_report_grows_with_the_matchups_not_with_their_square(
    tmp_path: Path, kind: str, page: bool
) -> None:
    costs = []
    for matchups in (110, 110, 220):  # the first one imports modules
        loaded = played(tmp_path, kind, matchups)
        report = partial(make_page, loaded, None) if page else loaded.report_text
        costs.append(calls(report))
    assert costs[2] < 2.2 * costs[1]


def test_table_of_each_player_against_each_is_left_out_for_many_players(tmp_path: Path) -> None:
    few = played(tmp_path, "many", 20).report_text()
    assert "LOS" in few
    many = played(tmp_path, "many", 110)
    text = many.report_text()
    assert "\nLOS " not in text
    assert "Bradley-Terry" in text
    assert max(map(len, text.splitlines())) < 100
    assert many.competition.charts([])[0].key == "ratings"
    assert len(many.competition.summary().data()["los"]) == 111
