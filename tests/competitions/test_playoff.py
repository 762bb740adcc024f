"""Playoffs: order of games, results, refused settings."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import StoreError
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.reporting.tables import render_report
from ringmaster.stats.elo import from_games
from tests.competitions.settings_of import (
    Refused,
    again,
    call,
    codes,
    drawn,
    make,
    uci,
    void,
    void_often,
    won,
)

GO = {"players": {"a": call("Player", "a"), "b": call("Player", "b")}, "board_size": 9, "komi": 6.5}
CHESS = {"game": "chess", "players": {"a": uci(), "b": uci(), "c": uci()}}


def go(*matchups: Any, **settings: Any) -> Any:
    return make("playoff", **{**GO, "matchups": list(matchups), **settings})


def chess(*matchups: Any, **settings: Any) -> Any:
    return make("playoff", **{**CHESS, "matchups": list(matchups), **settings})


def jobs_of(playoff: Any) -> list[GameJob]:
    jobs = []
    while (job := playoff.next_job()) is not None:
        jobs.append(job)
    return jobs


def test_first_player_takes_black_in_go_unless_colours_alternate() -> None:
    fixed = go(call("Matchup", "a", "b", number_of_games=2))
    assert [codes(j) for j in jobs_of(fixed)] == [("a", "b"), ("a", "b")]
    swapped = go(call("Matchup", "a", "b", number_of_games=2, alternating=True))
    assert [codes(j) for j in jobs_of(swapped)] == [("a", "b"), ("b", "a")]


def test_matchup_with_the_fewest_games_comes_first() -> None:
    playoff = chess(
        call("Matchup", "a", "b", number_of_games=3),
        call("Matchup", "b", "c", number_of_games=2, id="bc"),
    )
    assert [j.id for j in jobs_of(playoff)] == ["0_0", "bc_0", "0_1", "bc_1", "0_2"]


def test_matchup_settings_override_the_top_level() -> None:
    playoff = go(
        call("Matchup", "a", "b", board_size=13, komi=0, handicap=2, number_of_games=1),
        call("Matchup", "a", "b", number_of_games=1),
    )
    first, second = jobs_of(playoff)
    assert (first.settings.board_size, first.settings.komi, first.settings.handicap) == (13, 0, 2)
    assert (second.settings.board_size, second.settings.komi) == (9, 6.5)


def test_records_name_the_pair_as_round_and_the_matchup_in_the_event() -> None:
    jobs = jobs_of(
        chess(
            call("Matchup", "a", "b", number_of_games=3, name="the final"),
            call("Matchup", "a", "c", number_of_games=2, alternating=False, id="ac"),
        )
    )
    assert [(j.id, j.round, j.event, j.competition) for j in sorted(jobs, key=lambda j: j.id)] == [
        ("0_0", 1, "event (the final)", "event"),
        ("0_1", 1, "event (the final)", "event"),
        ("0_2", 2, "event (the final)", "event"),
        ("ac_0", 1, "event", "event"),
        ("ac_1", 2, "event", "event"),
    ]


def test_a_stall_is_reported_with_its_detail_as_a_crash_is() -> None:
    playoff = chess(call("Matchup", "a", "b", number_of_games=2))
    job = playoff.next_job()
    detail = "b: no answer in 1.05 s, and none when told to stop in 5 s more\nthe last it said: x"
    stall = msgspec.structs.replace(won(job, "a"), reason="stall", forfeit=True, detail=detail)
    line = playoff.record_result(job.ticket, stall).line
    assert line == f"game 0_0: a beat b 1-0 ({detail.splitlines()[0]})"


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
        playoff.record_result(job.ticket, result)
    assert playoff.finished()
    assert playoff.summary().data() == {
        "withdrawn": [],
        "stopped": [],
        "matchups": [
            {
                "id": "0",
                "name": "a v b",
                "players": ["a", "b"],
                "games": 4,
                "wins": [2, 1],
                "draws": 1,
                "unknown": 0,
                "unknown_by_kind": {},
                "forfeits": [0, 0],
                "forfeits_by_kind": [{}, {}],
                "void": 0,
                "repeats": 0,
                "disputes": [0, 0],
                "void_by_kind": {},
                "endings": {"mate": 3, "stalemate": 1},
                "elo": pytest.approx(88.74, abs=0.01),
                # two pairs say nothing of the spread
                "elo_low": None,
                "elo_high": None,
                "los": 0.5,
                "nelo": None,
                "nelo_error": None,
                "draw_ratio": 0.25,
                "pentanomial": [0, 1, 0, 0, 1],
                "pairs_ratio": 1.0,
                "sprt": None,
                "handicap_ladder": None,
                "stage": None,
                "state": None,
                "remark": None,
                "doubts": [],
            }
        ],
    }


def test_void_game_is_played_again_until_too_many_suspend_the_matchup() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    one, two = playoff.next_job(), playoff.next_job()
    assert playoff.record_result(one.ticket, won(one, "a")).warning == ""
    *reactions, last = void_often(playoff, two, 11)
    assert all(reaction.replay and not reaction.warning for reaction in reactions)
    assert last.warning.startswith("matchup 0: 11 of the last 20 games ended by faults")
    assert playoff.next_job() is None
    assert not playoff.finished()


def test_nothing_is_left_to_play_when_one_of_two_players_fails_from_the_start() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    job = playoff.next_job()
    *reactions, last = void_often(playoff, job, 5, "b")
    assert not any(reaction.warning for reaction in reactions)
    assert last.warning.startswith("player b: the first 5 games all ended by faults (crash)")
    assert playoff.next_job() is None
    assert playoff.make_job(job.id, 0, job.ticket) is None
    assert 'withdrawn = ["b"]' in playoff.summary().waiting[-1]


def test_run_after_a_kill_forgets_the_faults_that_were_stored_after_the_last_state() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    job = playoff.next_job()
    void_often(playoff, job, 5, "b")
    assert playoff.next_job() is None
    playoff.apply_edits([job.ticket])
    playoff.watch.clear()
    assert playoff.resume(job.ticket)
    assert playoff.make_job(job.id, 5, job.ticket) is not None


def test_standstill_is_nobodys_fault_and_suspends_nothing() -> None:
    playoff = chess(call("Matchup", "a", "b"))
    job = playoff.next_job()
    pause = GameResult(job.id, 20, "void", reason="standstill", detail="the computer stood still")
    reactions = [playoff.record_result(job.ticket, pause) for _ in range(20)]
    assert all(reaction.replay and not reaction.warning for reaction in reactions)


@pytest.mark.parametrize(
    "matchups",
    [
        (call("Matchup", "a", "c"), call("Matchup", "b", "c", id="x")),
        (call("Matchup", "a", "b"), call("Matchup", "a", "b", id="x")),
        (call("Matchup", "a", "c"), call("Matchup", "a", "b"), call("Matchup", "b", "c", id="x")),
    ],
    ids=["other player", "other player under an id", "inserted before"],
)
def test_other_players_in_a_matchup_are_refused(matchups: tuple[Any, ...]) -> None:
    playoff = chess(call("Matchup", "a", "b"), call("Matchup", "b", "c", id="x"))
    with pytest.raises(StoreError, match="was played between"):
        again(playoff, chess(*matchups))


def test_players_of_a_matchup_may_exchange_places() -> None:
    playoff = chess(call("Matchup", "a", "b"), call("Matchup", "b", "c", id="x"))
    later = again(playoff, chess(call("Matchup", "b", "a"), call("Matchup", "c", "b", id="x")))
    assert [matchup.codes for matchup in later.matchups.values()] == [("b", "a"), ("c", "b")]


def test_deleted_matchup_is_in_the_report_only_and_is_described_still() -> None:
    playoff = chess(call("Matchup", "a", "b", id="x"), call("Matchup", "b", "c", id="y"))
    job = playoff.next_job()
    playoff.record_result(job.ticket, won(job, "a"))
    later = again(playoff, chess(call("Matchup", "b", "c", id="y")))
    assert [row[0] for row in later.summary(live=True).report.blocks[0].rows] == ["b v c"]
    assert later.describe(job.ticket).players == ("a", "b")
    assert later.describe(job.ticket).matchup == "x"
    assert not later.resume(job.ticket)
    # the outstanding game returns with the matchup
    assert again(later, chess(call("Matchup", "a", "b", id="x"))).next_job().id == "x_1"


def test_result_of_a_matchup_that_was_deleted_meanwhile_is_counted() -> None:
    playoff = chess(call("Matchup", "a", "b", id="x"), call("Matchup", "b", "c", id="y"))
    job = playoff.next_job()
    later = again(playoff, chess(call("Matchup", "b", "c", id="y")))
    assert later.record_result(job.ticket, won(job, "b")).line.endswith("b beat a 1-0 (mate)")
    assert later.summary().data()["matchups"][1]["wins"] == [0, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
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
            {"matchups": [call("Matchup", "a", "b", handicap=5, board_size=8)]},
            "matchups.0.handicap: fixed handicap 5 is too large",
        ),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        go(**{"matchups": [call("Matchup", "a", "b")], **settings})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("type_name", "settings"),
    [
        ("playoff", {"matchups": [call("Matchup", "a", "b")]}),
        ("swiss", {"competitors": ["a", "b"], "rounds": 1}),
    ],
)
def test_shogi_without_openings_is_warned_of_and_go_is_not(
    type_name: str, settings: dict[str, Any]
) -> None:
    players = {"a": call("Player", "x"), "b": call("Player", "y")}
    shogi = {c: call("Player", p, nodes=10) for c, p in (("a", "x"), ("b", "y"))}
    warned = make(type_name, game="shogi", players=shogi, **settings).summary().warnings
    assert any("without openings" in line for line in warned)
    bare = make(type_name, players=players, board_size=9, komi=0, **settings).summary().warnings
    assert not any("without openings" in line for line in bare)


def test_games_before_colours_alternated_count_for_elo() -> None:
    fixed = chess(call("Matchup", "a", "b", number_of_games=20, alternating=False))
    for _ in range(20):
        job = fixed.next_job()
        fixed.record_result(job.ticket, won(job, "a") if job.id != "0_03" else won(job, "b"))
    longer = again(fixed, chess(call("Matchup", "a", "b", number_of_games=22)))
    for _ in range(2):
        job = longer.next_job()
        longer.record_result(job.ticket, drawn(job))
    assert longer.tallies["0"].estimate().games == 22


def test_games_with_fixed_colours_print_no_elo() -> None:
    for settings, printed in (
        ({}, True),
        ({"handicap": 2}, True),
        ({"alternating": False}, False),
        ({"alternating": False, "handicap": 2}, False),
    ):
        playoff = go(
            call("Matchup", "a", "b", number_of_games=2, **{"alternating": True, **settings})
        )
        job = playoff.next_job()
        playoff.record_result(job.ticket, won(job, "a"))
        assert ("Elo" in render_report(playoff.summary().report)) is printed


def win_of_colour(job: GameJob, colour: int) -> GameResult:
    return won(job, job.players[colour].code)


def test_handicap_to_each_in_turn_is_counted_by_pairs() -> None:
    matchup = call("Matchup", "a", "b", number_of_games=40, handicap=4, alternating=True)
    playoff = go(matchup, sprt=call("SPRT", 0, 20))
    for number in range(40):
        # the stones win, except for two games of b
        job = playoff.next_job()
        playoff.record_result(job.ticket, win_of_colour(job, number in (4, 8)))
    results = results_of(playoff)
    assert results["pentanomial"] == results["sprt"]["counts"] == [2, 0, 18, 0, 0]
    games = from_games(18, 0, 22)
    assert results["elo_high"] - results["elo_low"] < 0.7 * (games.high - games.low)
    assert "after 40 games with 4 handicap stones to each in turn" in playoff.summary().result


def test_handicap_of_one_player_is_no_strength_after_colours_alternate_either() -> None:
    fixed = go(call("Matchup", "a", "b", number_of_games=20, handicap=4))
    for _ in range(20):
        job = fixed.next_job()
        fixed.record_result(job.ticket, win_of_colour(job, 0))
    longer = again(fixed, go(call("Matchup", "a", "b", handicap=4, alternating=True)))
    job = longer.next_job()
    longer.record_result(job.ticket, drawn(job))
    assert results_of(longer)["elo"] is None
    assert "better" not in longer.summary().result


def test_games_with_fixed_colours_are_no_strength_after_colours_alternate() -> None:
    fixed = go(call("Matchup", "a", "b", number_of_games=20, handicap=4))
    for _ in range(20):
        job = fixed.next_job()
        fixed.record_result(job.ticket, win_of_colour(job, 0))
    longer = again(fixed, go(call("Matchup", "a", "b", alternating=True)))
    for _ in range(10):
        job = longer.next_job()
        longer.record_result(job.ticket, drawn(job))
    assert results_of(longer)["elo"] is None


def test_half_a_pair_with_a_handicap_is_warned_of() -> None:
    for games, warned in ((7, True), (8, False)):
        playoff = go(call("Matchup", "a", "b", number_of_games=games, handicap=2, alternating=True))
        assert ("the handicap once more" in "\n".join(playoff.summary().warnings)) is warned


def results_of(playoff: Any) -> Any:
    (matchup,) = playoff.summary().data()["matchups"]
    return matchup


def test_player_meets_itself_under_a_second_code() -> None:
    playoff = chess(call("Matchup", "a", "a", number_of_games=2))
    jobs = jobs_of(playoff)
    assert [codes(j) for j in jobs] == [("a", "a#2"), ("a#2", "a")]
    assert jobs[0].players[0].command == jobs[0].players[1].command
    for job in jobs:
        playoff.record_result(job.ticket, won(job, "a#2"))
    assert results_of(playoff)["wins"] == [0, 2]
    assert [check.player.code for check in playoff.setup().checks] == ["a"]


def test_forfeits_are_counted_by_kind() -> None:
    playoff = chess(call("Matchup", "a", "b", number_of_games=4))
    for reason in ("time", "illegal move", "time", "mate"):
        job = playoff.next_job()
        result = GameResult(
            job.id,
            0,
            "win",
            winner=codes(job).index("b"),
            reason=reason,
            forfeit=reason != "mate",
            score="0-1",
        )
        playoff.record_result(job.ticket, result)
    assert results_of(playoff)["forfeits"] == [3, 0]
    assert results_of(playoff)["forfeits_by_kind"] == [{"time": 2, "illegal move": 1}, {}]


def test_jigo_is_half_a_win_and_an_unknown_result_is_nothing() -> None:
    playoff = go(call("Matchup", "a", "b", number_of_games=4))
    for outcome, reason in (
        ("draw", "score"),
        ("unknown", "move limit"),
        ("unknown", "score"),
        ("unknown", "move limit"),
    ):
        job = playoff.next_job()
        playoff.record_result(job.ticket, GameResult(job.id, 0, outcome, reason=reason))
    results = results_of(playoff)
    assert (results["wins"], results["draws"], results["unknown"]) == ([0, 0], 1, 3)
    assert results["unknown_by_kind"] == {"move limit": 2, "not scored": 1}


def test_unknown_results_do_not_count_for_elo() -> None:
    playoff = go(call("Matchup", "a", "b", alternating=True))
    for number in range(60):
        job = playoff.next_job()
        result = won(job, "a" if number % 4 else "b")
        if number >= 40:
            result = GameResult(job.id, 0, "unknown", reason="move limit")
        playoff.record_result(job.ticket, result)
    estimate = playoff.tallies["0"].estimate()
    assert estimate.games == 40
    assert estimate.elo == pytest.approx(190.8, abs=0.1)


def test_game_ids_stay_unique_after_a_change_of_number_of_games() -> None:
    def matchup(count: int | None) -> Any:
        return chess(call("Matchup", "a", "b", number_of_games=count))

    playoff = matchup(20)
    ids: dict[int, str] = {}
    tickets: dict[int, Any] = {}
    for count in (1000, 5, None, 100, 3, 12):
        for _ in range(2):
            job = playoff.next_job()
            if job is None:
                continue
            number = job.ticket["i"]
            assert number not in ids
            ids[number], tickets[number] = job.id, job.ticket
        playoff = again(playoff, matchup(count))
        for number, ticket in tickets.items():
            # as at the start of a run
            if playoff.resume(ticket):
                assert playoff.make_job(ids[number], 0, ticket).id == ids[number]
    assert list(ids.values()) == [
        *("0_00", "0_01", "0_002", "0_003", "0_4", "0_5", "0_6", "0_07", "0_08")
    ]


def test_number_of_games_can_be_raised_and_lowered() -> None:
    def matchup(count: int) -> Any:
        return chess(call("Matchup", "a", "b", number_of_games=count))

    playoff = matchup(2)
    for job in jobs_of(playoff):
        playoff.record_result(job.ticket, won(job, "a"))
    assert playoff.finished()
    more = again(playoff, matchup(3))
    assert not more.finished()
    assert [job.id for job in jobs_of(more)] == ["0_2"]
    fewer = again(playoff, matchup(1))
    assert fewer.finished()
    assert fewer.next_job() is None
    assert (fewer.summary().progress.completed, fewer.summary().progress.total) == (2, 2)


def test_void_games_without_a_faulty_player_are_counted_by_matchup() -> None:
    playoff = chess(call("Matchup", "a", "b"), call("Matchup", "b", "c"))
    for _ in range(2):
        job = playoff.next_job()
        playoff.record_result(job.ticket, won(job, "b"))
    one, two = playoff.next_job(), playoff.next_job()
    assert playoff.record_result(one.ticket, void(one)).warning == ""
    assert playoff.record_result(two.ticket, void(two)).warning == ""
    assert playoff.record_result(one.ticket, won(one, "a")).warning == ""
    assert playoff.record_result(one.ticket, void(one)).warning == ""


def test_players_that_change_places_in_a_matchup_keep_their_results() -> None:
    playoff = go(call("Matchup", "a", "b"))
    for _ in range(3):
        job = playoff.next_job()
        playoff.record_result(job.ticket, won(job, "a"))
    open_job = playoff.next_job()
    later = again(playoff, go(call("Matchup", "b", "a")))
    # outstanding games keep their colours, new games have the new ones
    assert later.resume(open_job.ticket)
    assert codes(later.make_job(open_job.id, 0, open_job.ticket)) == ("a", "b")
    job = later.next_job()
    assert (job.id, codes(job)) == ("0_4", ("b", "a"))
    assert later.record_result(job.ticket, won(job, "b")).line.startswith("game 0_4: b beat a")
    (table,) = later.summary().report.blocks
    assert [row[:3] for row in table.rows[:2]] == [("b", "1", "25.00%"), ("a", "3", "75.00%")]
    # black, white: b won its only game as Black and lost three as White
    assert table.rows[0][3:7] == ("1", "100.00%", "0", "0.00%")
    assert table.rows[1][3:7] == ("3", "100.00%", "0", "0.00%")


def test_game_keeps_the_opening_of_its_pair_when_colours_stop_alternating(tmp_path: Any) -> None:
    book = tmp_path / "book.epd"
    book.write_text(
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n"
        "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -\n"
    )
    openings = call("Openings", str(book))
    playoff = chess(call("Matchup", "a", "b"), openings=openings)
    playoff.prepare()
    jobs = [playoff.next_job() for _ in range(4)]
    later = again(playoff, chess(call("Matchup", "a", "b", alternating=False), openings=openings))
    later.prepare()
    for job in jobs:
        assert later.resume(job.ticket)
        assert later.make_job(job.id, 0, job.ticket).opening == job.opening


def test_tournament_is_not_over_while_a_game_below_its_limit_is_out() -> None:
    playoff = go(call("Matchup", "a", "b", number_of_games=10))
    jobs = jobs_of(playoff)
    for job in (*jobs[:5], *jobs[7:]):
        playoff.record_result(job.ticket, won(job, "a"))
    later = again(playoff, go(call("Matchup", "a", "b", number_of_games=7)))
    assert [later.resume(job.ticket) for job in jobs[5:7]] == [True, True]
    assert not later.finished()
    assert (later.summary().progress.completed, later.summary().progress.total) == (8, 10)
    for job in jobs[5:7]:
        later.record_result(job.ticket, won(job, "a"))
    assert later.finished()
    assert (later.summary().progress.completed, later.summary().progress.total) == (10, 10)


@given(st.lists(st.tuples(st.sampled_from("wdlu"), st.booleans()), max_size=40))
def test_results_turned_round_twice_are_the_same(games: list[tuple[str, bool]]) -> None:
    playoff = go(call("Matchup", "a", "b", alternating=True))
    for letter, forfeit in games:
        # forfeits may make the matchup wait
        if (job := playoff.next_job()) is None:
            break
        result = {
            "w": GameResult(job.id, 0, "win", winner=0, forfeit=forfeit, reason="time"),
            "l": GameResult(job.id, 0, "win", winner=1, forfeit=forfeit, reason="time"),
            "d": drawn(job),
            "u": GameResult(job.id, 0, "unknown", reason="move limit"),
        }[letter]
        playoff.record_result(job.ticket, result)
    tally = playoff.tallies["0"]
    assert tally.turned().turned() == tally
    assert tally.turned().points(0) == tally.points(1)
    assert tally.turned().estimate().elo == pytest.approx(-tally.estimate().elo)


def test_players_on_the_same_terms_get_a_cross_table() -> None:
    def report(**settings: Any) -> str:
        playoff = chess(
            call("Matchup", "a", "b", number_of_games=2),
            call("Matchup", "b", "c", number_of_games=2),
            call("Matchup", "a", "c", number_of_games=2, **settings),
        )
        for job in jobs_of(playoff):
            playoff.record_result(
                job.ticket, won(job, min(codes(job))) if job.ticket["i"] else drawn(job)
            )
        return render_report(playoff.summary().report)

    assert "± (95 %)" in report()
    for other in ({"move_limit": 70}, {"alternating": False}):
        assert "± (95 %)" not in report(**other)
