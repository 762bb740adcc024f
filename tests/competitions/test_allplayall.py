"""All-play-all tournaments: pairings, the grid, ratings, edits."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.competitions.tournaments.playoff import Playoff
from ringmaster.errors import StateRefused
from ringmaster.model.results import GameResult
from tests.competitions.settings_of import Refused, again, call, codes, drawn, make, uci, won

CODES = ["a", "b", "c"]


def go(competitors: Any = CODES, rounds: int | None = None, **settings: Any) -> Any:
    players = {code: call("Player", code) for code in "abcd"}
    return make(
        "allplayall",
        **{
            "players": players,
            "board_size": 9,
            "komi": 6,
            "competitors": competitors,
            "rounds": rounds,
            **settings,
        },
    )


def chess(competitors: Any = CODES, rounds: int | None = None, **settings: Any) -> Any:
    players = {code: uci() for code in "abcd"}
    return make(
        "allplayall",
        game="chess",
        players=players,
        competitors=competitors,
        rounds=rounds,
        **settings,
    )


def play(competition: Any, results: str, pairing: str) -> None:
    """Play games of one pairing: "w" is a win of its first competitor, "l" of its second,
    "d" a draw, "u" an unknown result."""
    winners = dict(zip("wl", competition.matchups[pairing].codes, strict=True))
    for letter in results:
        while (job := competition.next_job()).ticket["m"] != pairing:
            pass
        if letter in winners:
            result = won(job, winners[letter])
        elif letter == "d":
            result = drawn(job)
        else:
            result = GameResult(job.id, 0, "unknown", reason="move limit")
        competition.record_result(job.ticket, result)


def test_every_pairing_plays_every_round_with_colours_alternating() -> None:
    tournament = go(rounds=3)
    jobs = []
    while (job := tournament.next_job()) is not None:
        jobs.append(job)
    assert [job.id for job in jobs] == [
        *("AvB_0", "AvC_0", "BvC_0"),
        *("AvB_1", "AvC_1", "BvC_1"),
        *("AvB_2", "AvC_2", "BvC_2"),
    ]
    assert [codes(job) for job in jobs if job.ticket["m"] == "AvC"] == [
        ("a", "c"),
        ("c", "a"),
        ("a", "c"),
    ]
    assert tournament.summary().progress.total == 9


def test_games_have_the_settings_of_the_tournament() -> None:
    settings = go(move_limit=77, scorer="internal", handicap=4).next_job().settings
    assert (settings.board_size, settings.komi, settings.handicap) == (9, 6, 4)
    assert (settings.move_limit, settings.scorer) == (77, "internal")


def test_matchup_with_other_players_is_refused_at_its_roster() -> None:
    tournament = go()
    state = tournament.state()
    state["matchups"]["AvB"]["players"] = ["a", "x"]
    with pytest.raises(StateRefused) as refused:
        go().restore(state)
    assert refused.value.path == ("competitors",)


def test_thirty_competitors_have_matchups_with_ids_of_their_own() -> None:
    names = [f"p{i}" for i in range(30)]
    tournament = make(
        "allplayall",
        players={name: call("Player", name) for name in names},
        competitors=names,
        board_size=9,
        komi=0,
    )
    assert len(tournament.matchups) == 435
    assert tournament.matchups["ZvAA"].codes == ("p25", "p26")


def test_grid_is_sorted_by_score_and_equal_scores_share_a_rank() -> None:
    tournament = go()
    play(tournament, "ll", "AvB")
    play(tournament, "ll", "AvC")
    play(tournament, "wl", "BvC")
    ranking = tournament.summary().data()["ranking"]
    assert [(row["rank"], row["code"], row["score"]) for row in ranking] == [
        (1, "b", 0.75),
        (1, "c", 0.75),
        (3, "a", 0),
    ]


def test_player_without_a_point_leaves_the_others_their_ratings() -> None:
    tournament = go()
    play(tournament, "wwwl", "AvB")
    play(tournament, "wwww", "AvC")
    play(tournament, "wwww", "BvC")
    summary = tournament.summary().data()
    assert summary["ratings_prior"]["drawn_games"] == 1
    elo = {row["code"]: row["elo"] for row in summary["ratings"]}
    assert elo["a"] > elo["b"] > elo["c"]


def test_player_without_a_game_has_no_rating_and_leaves_the_others_theirs() -> None:
    tournament = go()
    play(tournament, "wwwl", "AvB")
    summary = tournament.summary().data()
    assert [row["elo"] is None for row in summary["ratings"]] == [False, False, True]
    assert summary["covariance"][0][2] is summary["covariance"][2][2] is None
    assert summary["ratings_prior"] is None


def test_summary_has_the_grid_and_the_ratings() -> None:
    tournament = chess()
    assert tournament.summary().data()["ratings"] is None
    play(tournament, "wwld", "AvB")
    play(tournament, "wd", "AvC")
    summary = tournament.summary().data()
    assert summary["grid"] == {
        "competitors": ["a", "b", "c"],
        "letters": ["A", "B", "C"],
        "points": [[None, 2.5, 1.5], [1.5, None, 0], [0.5, 0, None]],
    }
    assert [rating["code"] for rating in summary["ratings"]] == ["a", "b", "c"]
    assert sum(rating["elo"] for rating in summary["ratings"]) == pytest.approx(0, abs=1e-6)
    assert [matchup["id"] for matchup in summary["matchups"]] == ["AvB", "AvC", "BvC"]


def test_new_competitor_is_appended_and_the_others_keep_letters_and_results() -> None:
    tournament = go(rounds=2)
    job = tournament.next_job()
    tournament.record_result(job.ticket, won(job, "b"))
    later = again(tournament, go([*CODES, "d"], rounds=2))
    assert later.summary().data()["ranking"][0]["code"] == "b"
    upcoming = [later.next_job().id for _ in range(7)]
    assert upcoming == ["AvC_0", "AvD_0", "BvC_0", "BvD_0", "CvD_0", "AvB_1", "AvC_1"]


def test_removed_competitor_stops_playing_and_keeps_its_results() -> None:
    tournament = go(rounds=2)
    for _ in range(3):
        job = tournament.next_job()
        tournament.record_result(job.ticket, won(job, min(codes(job))))
    later = again(tournament, go(["a", "c"], rounds=2))
    assert later.next_job().id == "AvC_1"
    assert later.next_job() is None
    assert later.summary().data()["withdrawn"] == ["b"]
    assert later.summary().data()["grid"]["points"][0] == [None, 1, 1]
    assert later.summary().progress.total == 1 + 1 + 2


def test_competitor_removed_with_its_player_leaves_its_results() -> None:
    tournament = go(rounds=2)
    for _ in range(3):
        job = tournament.next_job()
        tournament.record_result(job.ticket, won(job, "b" if "b" in codes(job) else "a"))
    players = {code: call("Player", code) for code in "ac"}
    later = again(tournament, go(["a", "c"], rounds=2, players=players))
    assert later.next_job().id == "AvC_1"
    assert later.summary().data()["ranking"][0]["code"] == "b"
    back = again(later, go(rounds=2))
    assert [back.next_job().id for _ in range(2)] == ["AvB_1", "BvC_1"]


def test_competitors_keep_their_letters_wherever_they_stand_in_the_list() -> None:
    tournament = go(rounds=1)
    job = tournament.next_job()
    tournament.record_result(job.ticket, won(job, "b"))
    later = again(tournament, go(["d", "c", "b", "a"], rounds=1))
    assert later.competitors == ("a", "b", "c", "d")
    assert later.summary().data()["grid"]["points"][1][0] == 1
    assert [later.next_job().id for _ in range(5)] == [
        f"{pair}_0" for pair in ("AvC", "AvD", "BvC", "BvD", "CvD")
    ]


def test_withdrawn_competitor_is_neither_played_nor_checked() -> None:
    tournament = go(rounds=1, withdrawn=["b"])
    assert [check.player.code for check in tournament.setup().checks] == ["a", "c"]
    assert tournament.next_job().id == "AvC_0"
    assert tournament.next_job() is None
    assert tournament.summary().progress.total == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"competitors": ["a", "b", "a"]}, "competitors.2: competitor 'a' is listed twice"),
        ({"competitors": ["a", "x"]}, "competitors.1: there is no player 'x'"),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        go(**settings)
    assert message in str(refused.value)


def test_playoff_of_the_same_pairs_gives_the_same_results() -> None:
    tournament = chess(rounds=4)
    playoff = make(
        "playoff",
        game="chess",
        players={code: uci() for code in CODES},
        number_of_games=4,
        matchups=[
            call("Matchup", "a", "b", id="AvB"),
            call("Matchup", "a", "c", id="AvC"),
            call("Matchup", "b", "c", id="BvC"),
        ],
    )
    assert isinstance(playoff, Playoff)
    while (job := tournament.next_job()) is not None:
        other = playoff.next_job()
        assert (other.id, codes(other), other.ticket) == (job.id, codes(job), job.ticket)
        result = won(job, max(codes(job)))
        assert tournament.record_result(job.ticket, result) == playoff.record_result(
            other.ticket, result
        )
    assert playoff.summary().data()["matchups"] == tournament.summary().data()["matchups"]


def test_anchor_puts_all_ratings_on_its_scale() -> None:
    for anchor in (call("Anchor", "b", 2800), ("b", 2800)):
        tournament = chess(anchor=anchor)
        for pairing in ("AvB", "AvC", "BvC"):
            play(tournament, "wwlddwlw", pairing)
        elo = {row["code"]: row["elo"] for row in tournament.summary().data()["ratings"]}
        assert elo["a"] > elo["b"] == 2800 > elo["c"]
        assert tournament.summary().data()["anchor"] == {"code": "b", "elo": 2800}


def test_likelihood_of_superiority_is_of_each_two_players() -> None:
    tournament = chess()
    for pairing in ("AvB", "AvC", "BvC"):
        play(tournament, "wwlddwlw", pairing)
    los = tournament.summary().data()["los"]
    assert los[0][2] == pytest.approx(1 - los[2][0])
    assert los[1][1] is None


@pytest.mark.parametrize(
    ("anchor", "message"),
    [
        (("d", 2800), "anchor: 'd' does not take part"),
        (("b", "strong"), "anchor.elo: 'strong' is not a number"),
        (2800, "anchor: 2800 is not a Anchor definition"),
    ],
)
def test_wrong_anchor_is_refused(anchor: Any, message: str) -> None:
    with pytest.raises(Refused) as refused:
        chess(anchor=anchor)
    assert message in str(refused.value)
