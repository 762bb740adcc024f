"""Settings of time and failure, from a control file to the job."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.competitions.players import PLAYER, PlayerDefinition
from ringmaster.errors import SettingError
from ringmaster.event import Event
from ringmaster.model.players import Player
from ringmaster.model.settings import INVALID, Context
from ringmaster.model.time_control import TimeControl
from tests.competitions.settings_of import Refused, call, make, uci


def shogi_player(tmp_path: Any, **settings: Any) -> Player:
    context = Context(tmp_path)
    value = PLAYER.interpret(call("Player", "engine", **settings), (), context)
    assert value is not INVALID, context.problems
    assert isinstance(value, PlayerDefinition)
    return value.make("p", "shogi")


def playoff(*, player: dict[str, Any] | None = None, **settings: Any) -> Any:
    return make(
        "playoff",
        game="chess",
        players={"a": uci(**(player or {})), "b": uci()},
        matchups=[call("Matchup", "a", "b")],
        **settings,
    )


def test_limits_margin_and_pondering_reach_the_job() -> None:
    given = {"time_control": "10+0.1", "depth": 9, "move_time": 2, "margin": 0.2}
    job = playoff(
        player={**given, "ponder": True, "ready_timeout": 300}, failures="loss"
    ).next_job()
    player = next(player for player in job.players if player.code == "a")
    other = next(player for player in job.players if player.code == "b")
    assert (player.nodes, player.depth, player.move_time, player.margin) == (100, 9, 2, 0.2)
    assert player.time_control == TimeControl(10, 0.1)
    assert (player.ponder, player.ready_timeout) == (True, 300)
    assert (other.ponder, other.ready_timeout, other.margin) == (False, None, None)
    assert job.settings.failures == "loss"
    assert playoff().next_job().settings.failures == "void"


@pytest.mark.parametrize(
    ("player", "problem"),
    [
        ({"margin": -1}, "players.a.margin"),
        ({"score_pov": "engine"}, "players.a.score_pov"),
        ({"ready_timeout": 0}, "players.a.ready_timeout"),
        ({"ponder": "yes"}, "players.a.ponder"),
        ({"time_control": "0+10byo"}, "players.a.time_control: UCI has no byo-yomi"),
    ],
)
def test_what_makes_no_sense_is_refused(player: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        playoff(player=player)


def test_view_of_scores_reaches_the_job_and_go_engines_have_none() -> None:
    job = playoff(player={"score_pov": "white"}).next_job()
    assert {player.code: player.score_pov for player in job.players} == {"a": "white", "b": "mover"}
    with pytest.raises(Refused, match=r"players\.a\.score_pov: GTP has no scores"):
        make(
            "playoff",
            game="go",
            board_size=9,
            komi=6.5,
            players={"a": call("Player", "gnugo", score_pov="white"), "b": call("Player", "x")},
            matchups=[call("Matchup", "a", "b")],
        )


def test_unknown_treatment_of_failures_is_refused() -> None:
    with pytest.raises(Refused, match="failures"):
        playoff(failures="draw")


def test_go_engine_cannot_be_told_to_ponder() -> None:
    with pytest.raises(Refused, match=r"players\.a\.ponder: GTP has no pondering"):
        make(
            "playoff",
            game="go",
            board_size=9,
            komi=6.5,
            players={"a": call("Player", "gnugo", ponder=True), "b": call("Player", "gnugo")},
            matchups=[call("Matchup", "a", "b")],
        )


@pytest.mark.parametrize("control", ["600", "600+10", "600+10byo", "0+10byo", "600+1x10"])
def test_clocks_of_usi(tmp_path: Any, control: str) -> None:
    player = shogi_player(tmp_path, time_control=control)
    assert player.time_control == TimeControl.parse(control)


@pytest.mark.parametrize(
    ("control", "problem"),
    [
        ("40/60", "USI has no time control for a number of moves such as 40/60"),
        ("600+5x30", "USI has no byo-yomi of several periods such as 600[+]5x30"),
        ("600+25/300", "USI has no Canadian byo-yomi such as 600[+]25/300"),
    ],
)
def test_clocks_that_usi_has_no_word_for_are_refused(
    tmp_path: Any, control: str, problem: str
) -> None:
    with pytest.raises(SettingError, match=problem) as refused:
        shogi_player(tmp_path, time_control=control)
    assert refused.value.path == ("time_control",)


def test_shogi_player_without_any_limit_is_refused(tmp_path: Any) -> None:
    with pytest.raises(SettingError, match="nothing limits the moves"):
        shogi_player(tmp_path)


MARGINS = """competition_type = "mc_tuner"
game = "chess"
margin = {top}
players = {{"opp": Player("engine", nodes=9,
                        margin={own})}}
opponent = "opp"
candidate_colour = "alternating"
def make_candidate(x):
    return Player("engine", nodes=9, margin={made})
parameters = [Parameter("x", split=3, scale=LINEAR(1, 9))]
exploration_coefficient = 0.4
initial_visits = 2
initial_wins = 1
"""


def test_margin_of_ten_seconds_and_more_is_asked_about_at_its_line(tmp_path: Any) -> None:
    control = tmp_path / "tune.ctl"
    control.write_text(MARGINS.format(top=50, own=10, made=200))
    said = [line for line in Event(control).warnings() if "margin" in line.splitlines()[0]]
    heads = sorted(line.splitlines()[0].partition("tune.ctl:")[2] for line in said)
    assert heads == [
        "3:10: warning: margin: 50 seconds: are milliseconds meant?  Then write 0.05; with 50 s "
        "hardly any game is lost on time",
        "5:32: warning: players['opp'].margin: 10 seconds: are milliseconds meant?  Then write "
        "0.01; with 10 s hardly any game is lost on time",
        "8:5: warning: make_candidate: margin: 200 seconds: are milliseconds meant?  Then write "
        "0.2; with 200 s hardly any game is lost on time",
    ]
    assert "    3 | margin = 50" in said[0] + said[1]


def test_smaller_margins_are_taken_without_a_word(tmp_path: Any) -> None:
    control = tmp_path / "tune.ctl"
    control.write_text(MARGINS.format(top=9.9, own=0, made=1))
    assert not any("margin" in line for line in Event(control).warnings())
