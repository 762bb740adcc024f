"""Playoffs: what is played next, what results mean, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.errors import StoreError
from ringmaster.model.jobs import GameJob
from ringmaster.model.report import Table
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import Refused, again, call, drawn, make, uci, void, won

GO = {"players": {"a": call("Player", "a"), "b": call("Player", "b")}, "board_size": 9, "komi": 6.5}
CHESS = {"game": "chess", "players": {"a": uci(), "b": uci(), "c": uci()}}


def go(*matchups: Any, **settings: Any) -> Any:
    return make("playoff", **{**GO, "matchups": list(matchups), **settings})


def chess(*matchups: Any, **settings: Any) -> Any:
    return make("playoff", **{**CHESS, "matchups": list(matchups), **settings})


def codes(job: GameJob) -> list[str]:
    return [player.code for player in job.players]


def jobs_of(playoff: Any) -> list[GameJob]:
    jobs = []
    while (job := playoff.next_job()) is not None:
        jobs.append(job)
    return jobs


def test_first_player_takes_black_in_go_unless_colours_alternate() -> None:
    fixed = go(call("Matchup", "a", "b", number_of_games=2))
    assert [codes(j) for j in jobs_of(fixed)] == [["a", "b"], ["a", "b"]]
    swapped = go(call("Matchup", "a", "b", number_of_games=2, alternating=True))
    assert [codes(j) for j in jobs_of(swapped)] == [["a", "b"], ["b", "a"]]


def test_colours_alternate_in_chess_by_default() -> None:
    assert [codes(j) for j in jobs_of(chess(call("Matchup", "a", "b", number_of_games=2)))] == [
        ["a", "b"],
        ["b", "a"],
    ]


def test_matchup_with_the_fewest_games_comes_first() -> None:
    playoff = chess(
        call("Matchup", "a", "b", number_of_games=3),
        call("Matchup", "b", "c", number_of_games=2, id="bc"),
    )
    assert [j.id for j in jobs_of(playoff)] == ["0_0", "bc_0", "0_1", "bc_1", "0_2"]


def test_game_ids_are_as_wide_as_the_largest_number() -> None:
    playoff = chess(call("Matchup", "a", "b", number_of_games=101))
    assert jobs_of(playoff)[7].id == "0_007"


def test_matchup_settings_override_the_top_level() -> None:
    playoff = go(
        call("Matchup", "a", "b", board_size=13, komi=0, handicap=2, number_of_games=1),
        call("Matchup", "a", "b", number_of_games=1),
    )
    first, second = jobs_of(playoff)
    assert (first.settings.board_size, first.settings.komi, first.settings.handicap) == (13, 0, 2)
    assert (second.settings.board_size, second.settings.komi) == (9, 6.5)


def test_pair_shares_its_opening_with_colours_swapped(tmp_path: Any) -> None:
    book = tmp_path / "book.epd"
    book.write_text(
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n"
        "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -\n"
    )
    playoff = chess(
        call("Matchup", "a", "b", number_of_games=6), openings=call("Openings", str(book))
    )
    playoff.prepare()
    sources = [j.opening.source for j in jobs_of(playoff)]
    assert sources == [f"book.epd:{n}" for n in (1, 1, 2, 2, 1, 1)]


def test_results_are_counted_by_player_and_colour() -> None:
    playoff = chess(call("Matchup", "a", "b", number_of_games=4))
    jobs = jobs_of(playoff)
    for job, result in zip(
        jobs,
        [won(jobs[0], "a"), won(jobs[1], "a"), won(jobs[2], "b"), drawn(jobs[3])],
        strict=True,
    ):
        playoff.take(job.ticket, result)
    assert playoff.finished()
    assert playoff.summary() == {
        "matchups": [
            {
                "id": "0",
                "players": ["a", "b"],
                "wins": [2, 1],
                "draws": 1,
                "unknown": 0,
                "forfeits": [0, 0],
            }
        ]
    }
    text = render_report(playoff.report())
    lines = [line.split() for line in text.splitlines()]
    assert "a v b (4/4 games)" in text
    # a won as White and as Black and drew as Black; b won as Black
    assert ["a", "2.5", "62.50%", "1", "50.00%", "1.5", "75.00%"] in lines
    assert ["b", "1.5", "37.50%", "0.5", "25.00%", "1", "50.00%"] in lines


def test_players_that_did_not_alternate_show_their_colour() -> None:
    playoff = go(call("Matchup", "a", "b", number_of_games=1))
    (job,) = jobs_of(playoff)
    playoff.take(job.ticket, won(job, "b"))
    (table,) = playoff.report().blocks
    assert isinstance(table, Table)
    assert [(row[0], row[3]) for row in table.rows] == [("a", "(black)"), ("b", "(white)")]


def test_void_game_is_played_again_and_the_second_in_a_row_ends_the_run() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    one, two = playoff.next_job(), playoff.next_job()
    assert playoff.take(one.ticket, won(one, "a")).halt == ""
    verdict = playoff.take(two.ticket, void(two))
    assert (verdict.replay, verdict.halt) == (True, "")
    assert "two games in a row" in playoff.take(two.ticket, void(two)).halt


def test_run_ends_when_the_first_game_of_a_matchup_is_void() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    job = playoff.next_job()
    assert "first game of matchup 0" in playoff.take(job.ticket, void(job)).halt


def test_state_goes_on_where_it_was() -> None:
    make_it = lambda: chess(call("Matchup", "a", "b", number_of_games=10))  # noqa: E731
    playoff = make_it()
    for _ in range(3):
        job = playoff.next_job()
        playoff.take(job.ticket, won(job, "a"))
    later = again(playoff, make_it())
    assert later.state() == playoff.state()
    assert later.next_job() == playoff.next_job()


def test_results_taken_again_give_the_same_state_as_never_having_stopped() -> None:
    make_it = lambda: chess(call("Matchup", "a", "b", number_of_games=10))  # noqa: E731
    playoff, later = make_it(), make_it()
    jobs = [playoff.next_job() for _ in range(4)]
    for job in (jobs[2], jobs[0]):
        playoff.take(job.ticket, won(job, "b"))
        later.take(job.ticket, won(job, "b"))
    for job in (jobs[1], jobs[3]):
        assert later.resume(job.ticket)
        assert later.make_job(job.id, 0, job.ticket) == job
    assert later.state() == playoff.state()
    assert later.next_job() == playoff.next_job()


def test_other_players_in_a_matchup_are_refused() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    with pytest.raises(StoreError, match="was played between a and b"):
        again(playoff, chess(call("Matchup", "a", "c")))


def test_deleted_matchup_keeps_its_results_in_the_report() -> None:
    playoff = chess(call("Matchup", "a", "b"), call("Matchup", "b", "c"))
    job = playoff.next_job()
    playoff.take(job.ticket, won(job, "a"))
    later = again(playoff, chess(call("Matchup", "b", "c", id="1")))
    assert "not in the control file any more" in render_report(later.report())


def test_disabled_matchup_plays_no_more_and_keeps_its_open_games_for_later() -> None:
    playoff = chess(call("Matchup", "a", "b", number_of_games=4))
    job = playoff.next_job()
    disabled = chess(call("Matchup", "a", "b", number_of_games=0))
    assert not disabled.resume(job.ticket)
    assert disabled.next_job() is None
    assert disabled.check_jobs() == []
    assert chess(call("Matchup", "a", "b", number_of_games=4)).resume(job.ticket)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"matchups": []}, "matchups: the list has 0 items"),
        ({"matchups": [call("Matchup", "a", "x")]}, "matchups.0.p2: there is no player 'x'"),
        (
            {"matchups": [call("Matchup", "a", "b", id="i"), call("Matchup", "b", "a", id="i")]},
            "matchups.1.id: matchup id 'i' is used twice",
        ),
        (
            {"matchups": [call("Matchup", "a", "b", id=".i")]},
            "matchups.0.id: matchup id '.i' cannot be part of a file name",
        ),
        (
            {"matchups": [call("Matchup", "a", "b", id="i" * 51)]},
            "matchups.0.id: matchup id",
        ),
        ({"komi": None}, "komi: 'komi' is missing"),
        (
            {"matchups": [call("Matchup", "a", "b", handicap=5, board_size=8)]},
            "matchups.0.handicap: fixed handicap 5 is too large",
        ),
        (
            {"matchups": [call("Matchup", "a", "b", komi="x")]},
            "matchups.0.komi: 'x' is not a number",
        ),
        (
            {"players": {"a": call("Player", "a", nodes=3), "b": call("Player", "b")}},
            "players.a.nodes: nodes has no meaning over GTP",
        ),
        ({"openings": "x.epd"}, "openings"),
        ({"game": "shogi"}, "game: shogi cannot be played yet"),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        go(**{"matchups": [call("Matchup", "a", "b")], **settings})
    assert message in str(refused.value)


def test_chess_player_without_a_limit_is_refused() -> None:
    with pytest.raises(Refused, match="nothing limits the moves of player 'a'"):
        make(
            "playoff",
            game="chess",
            players={"a": call("Player", "x"), "b": uci()},
            matchups=[call("Matchup", "a", "b")],
        )


def test_chess_without_openings_is_warned_of() -> None:
    assert "without openings" in chess(call("Matchup", "a", "b")).warnings()[0]


def test_every_wrong_matchup_is_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        chess(call("Matchup", "a", "x"), call("Matchup", "y", "b"))
    assert "matchups.0.p2" in str(refused.value)
    assert "matchups.1.p1" in str(refused.value)


def test_games_before_colours_alternated_count_for_elo() -> None:
    fixed = chess(call("Matchup", "a", "b", number_of_games=20, alternating=False))
    for _ in range(20):
        job = fixed.next_job()
        fixed.take(job.ticket, won(job, "a") if job.id != "0_03" else won(job, "b"))
    longer = again(fixed, chess(call("Matchup", "a", "b", number_of_games=22)))
    for _ in range(2):
        job = longer.next_job()
        longer.take(job.ticket, drawn(job))
    assert longer.tallies["0"].estimate().games == 22


def test_handicap_games_print_no_elo() -> None:
    for settings, printed in (
        ({}, True),
        ({"handicap": 2}, False),
        ({"alternating": False}, False),
    ):
        playoff = go(
            call("Matchup", "a", "b", number_of_games=2, **{"alternating": True, **settings})
        )
        job = playoff.next_job()
        playoff.take(job.ticket, won(job, "a"))
        assert ("Elo" in render_report(playoff.report())) is printed
