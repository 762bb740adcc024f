"""Gauntlets: who meets whom, the field, what may be changed."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.competitors import only_appended
from ringmaster.competitions.gauntlet import Gauntlet, added_up
from ringmaster.competitions.tally import Tally
from ringmaster.errors import StoreError
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.reporting.tables import render_report
from ringmaster.stats import elo
from tests.competitions.interruptions import Play
from tests.competitions.settings_of import Refused, again, call, drawn, make, uci, void, won


def chess(
    challengers: Any = ("a", "b"), opponents: Any = ("x", "y"), rounds: Any = None, **settings: Any
) -> Any:
    return make(
        "gauntlet",
        **{
            "game": "chess",
            "players": {code: uci() for code in "abcxyz"},
            "challengers": challengers,
            "opponents": opponents,
            "rounds": rounds,
            **settings,
        },
    )


def go(rounds: int | None = None) -> Any:
    return chess(
        rounds=rounds,
        game="go",
        players={code: call("Player", code) for code in "abxy"},
        board_size=9,
        komi=6,
    )


def codes(job: GameJob) -> tuple[str, str]:
    first, second = job.players
    return first.code, second.code


def play(competition: Any, **results: str) -> None:
    """Play these games of these pairings, as their challengers see them: w, l, d,
    u; games of other pairings do not come back."""
    left = {pairing: list(letters) for pairing, letters in results.items()}
    while any(left.values()):
        job = competition.next_job()
        pairing = job.ticket["m"]
        if not left.get(pairing):
            continue
        challenger, opponent = competition.matchups[pairing].codes
        result = {
            "w": won(job, challenger),
            "l": won(job, opponent),
            "d": drawn(job),
            "u": GameResult(job.id, 0, "unknown", reason="move limit"),
        }[left[pairing].pop(0)]
        competition.take(job.ticket, result)


def test_each_challenger_meets_each_opponent_with_colours_alternating() -> None:
    tournament = chess(rounds=2)
    jobs = []
    while (job := tournament.next_job()) is not None:
        jobs.append((job.id, codes(job)))
    assert jobs == [
        ("Av1_0", ("a", "x")),
        ("Av2_0", ("a", "y")),
        ("Bv1_0", ("b", "x")),
        ("Bv2_0", ("b", "y")),
        ("Av1_1", ("x", "a")),
        ("Av2_1", ("y", "a")),
        ("Bv1_1", ("x", "b")),
        ("Bv2_1", ("y", "b")),
    ]
    assert tournament.progress().total == 8


def test_one_challenger_and_one_opponent_will_do() -> None:
    tournament = chess(["a"], ["x"], rounds=1)
    assert codes(tournament.next_job()) == ("a", "x")
    assert tournament.next_job() is None


def test_grid_has_a_column_for_each_challenger_and_the_field_last() -> None:
    tournament = chess(rounds=4)
    play(tournament, Av1="wdlw", Av2="wwwd", Bv1="ud")
    text = render_report(tournament.live_report())
    rows = [line.split() for line in text.splitlines()]
    assert rows[:5] == [
        ["A", "a", "B", "b"],
        ["1", "x", "2.5-1.5", "0.5-0.5"],
        ["2", "y", "3.5-0.5", "0-0"],
        ["the", "field", "6-2", "0.5-0.5"],
        ["75.0%", "50.0%"],
    ]


def test_elo_over_the_field_is_that_of_all_pairs_together() -> None:
    tournament = chess(["a"], ["x", "y"], rounds=6)
    # pairs of 1½, 1, ½ and 2, 1½, 1 points
    play(tournament, Av1="wdwldl", Av2="wwwddd")
    expected = elo.from_pairs([0, 1, 2, 2, 1])
    (challenger,) = tournament.summary()["challengers"]
    assert challenger == {
        "code": "a",
        "letters": "A",
        "points": 7.5,
        "games": 12,
        "elo": expected.elo,
        "low": expected.low,
        "high": expected.high,
        "los": expected.los,
    }
    assert f"a over the field: {expected}" in render_report(tournament.report())


def test_unknown_bounds_of_elo_are_null_in_data() -> None:
    (challenger,) = chess(["a"], ["x"]).summary()["challengers"]
    assert (challenger["low"], challenger["high"], challenger["games"]) == (None, None, 0)


def test_results_of_several_tallies_are_added_up_from_the_players_side() -> None:
    first, second = Tally(("p", "q")), Tally(("r", "p"))
    win = GameResult("1", 0, "win", winner=0)
    first.take(win, 0, 0)  # p, moving first, beats q
    first.take(win, 1, 0)  # q, moving first, beats p
    second.take(win, 0, 0)  # r, moving first, beats p
    whole = added_up("p", [first, second])
    assert whole.players == ("p", "the field")
    assert whole.by_colour == [[1, 0, 0, 0], [0, 2, 0, 0]]
    assert whole.pairs.counts == [0, 0, 1, 0, 0]
    assert whole.pairs.games == 3
    assert (first.completed, second.completed) == (2, 1)


def test_report_has_ratings_and_each_pairing_played() -> None:
    tournament = chess(rounds=4)
    play(tournament, Av1="wdlw")
    text = render_report(tournament.report())
    assert "no ratings yet" in text
    assert "a v x (4/4 games)" in text
    assert "b v x" not in text
    tournament = chess(rounds=4)
    play(tournament, Av1="wdlw", Av2="wl", Bv1="wl")
    assert [rating["code"] for rating in tournament.summary()["ratings"]] == ["a", "b", "x", "y"]
    assert "± 95%" in render_report(tournament.report())


def test_everybody_is_checked_once() -> None:
    assert [check.player.code for check in chess().check_jobs()] == ["a", "x", "y", "b"]


def test_competitors_are_added_at_the_end_of_either_list_and_ids_stay() -> None:
    tournament = chess(rounds=2)
    job = tournament.next_job()
    tournament.take(job.ticket, won(job, "a"))
    later = again(tournament, chess(["a", "b", "c"], ["x", "y", "z"], rounds=2))
    assert later.summary()["grid"]["points"][0][3] == 1
    upcoming = [later.next_job().id for _ in range(8)]
    assert upcoming == [f"{c}v{o}_0" for c in "ABC" for o in "123"][1:]
    assert later.matchups["Av1"].codes == ("a", "x")


@pytest.mark.parametrize(
    ("challengers", "opponents", "message"),
    [
        (["a"], ["x", "y"], "b took part before and must stay in the list"),
        (["b", "a"], ["x", "y"], "the earlier competitors must keep their places"),
        (["a", "b"], ["y"], "x took part before and must stay"),
        (["a", "b"], ["z", "x", "y"], "new ones can be added at its end only"),
    ],
)
def test_competitors_may_not_be_removed_or_moved(
    challengers: list[str], opponents: list[str], message: str
) -> None:
    with pytest.raises(StoreError, match=message):
        again(chess(), chess(challengers, opponents))
    rules = {setting.name: setting.rule for setting in Gauntlet.table}
    assert rules["challengers"] is rules["opponents"] is only_appended


def test_rounds_can_be_raised_and_lowered() -> None:
    tournament = go(rounds=1)
    for _ in range(4):
        job = tournament.next_job()
        tournament.take(job.ticket, drawn(job))
    assert tournament.finished()
    assert again(tournament, go(rounds=2)).next_job().id == "Av1_1"
    assert again(tournament, go(rounds=0)).finished()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"challengers": []}, "challengers: the list has 0 items"),
        ({"opponents": []}, "opponents: the list has 0 items"),
        ({"opponents": ["x", "a"]}, "opponents.1: competitor 'a' is listed twice"),
        ({"challengers": ["a", "a"]}, "challengers.1: competitor 'a' is listed twice"),
        ({"opponents": ["x", "q"]}, "opponents.1: there is no player 'q'"),
        ({"rounds": -1}, "rounds: -1 is out of range"),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        chess(**settings)
    assert message in str(refused.value)


def test_wrong_competitors_of_both_lists_are_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        chess(["a", "q"], ["x", "r"])
    assert "challengers.1" in str(refused.value)
    assert "opponents.1" in str(refused.value)


@hypothesis.settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(["first", "second", "draw", "void"])),
        min_size=1,
        max_size=30,
    ),
    st.sets(st.integers(0, 30)),
    st.sets(st.integers(0, 30)),
)
def test_interrupted_gauntlet_is_as_one_that_never_was(
    steps: list[tuple[int, str]], stops: set[int], saves: set[int]
) -> None:
    plays = Play(chess), Play(chess)
    for step, (which, outcome) in enumerate(steps):
        for one in plays:
            while len(one.issued) < 5:
                one.issue()
            job = list(one.issued.values())[which]
            result = {
                "first": won(job, codes(job)[0]),
                "second": won(job, codes(job)[1]),
                "draw": drawn(job),
                "void": void(job),
            }[outcome]
            one.finish(job.id, result)
        if step in saves:
            plays[1].save()
        if step in stops:
            plays[1].interrupt()
    assert plays[1].competition.state() == plays[0].competition.state()
    assert plays[1].competition.next_job() == plays[0].competition.next_job()
