"""Settings of a game of Go, and of its players."""

from __future__ import annotations

from typing import Any

import pytest

from tests.competitions.settings_of import Refused, call, make, uci


def job(first: Any = None, **settings: Any) -> Any:
    """Return the first job of a playoff of two Go players."""
    return make(
        "playoff",
        players={"a": first or call("Player", "a"), "b": call("Player", "b")},
        matchups=[call("Matchup", "a", "b")],
        **{"board_size": 9, "komi": 6.5, **settings},
    ).next_job()


def refusal(first: Any = None, **settings: Any) -> str:
    with pytest.raises(Refused) as refused:
        job(first, **settings)
    return str(refused.value)


def test_rules_are_gomills_unless_set() -> None:
    settings = job().settings
    assert (settings.ko_rule, settings.suicide, settings.cleanup) == ("simple", True, False)
    assert (settings.scoring, settings.scorer) == ("area", "players")
    assert settings.internal_scorer_handicap_compensation == "full"


def test_rules_are_set() -> None:
    settings = job(ko_rule="situational", suicide=False, cleanup=True).settings
    assert (settings.ko_rule, settings.suicide, settings.cleanup) == ("situational", False, True)


@pytest.mark.parametrize(
    ("given", "scoring", "compensation"),
    [
        (None, "area", "full"),
        (None, "territory", "no"),
        ("short", "territory", "short"),
        ("no", "area", "no"),
    ],
)
def test_handicap_is_compensated_under_territory_scoring_only_when_asked_for(
    given: str | None, scoring: str, compensation: str
) -> None:
    settings = job(
        scorer="internal", scoring=scoring, internal_scorer_handicap_compensation=given
    ).settings
    assert settings.internal_scorer_handicap_compensation == compensation


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ko_rule": "super"}, "ko_rule: 'super' is not a valid choice"),
        ({"scoring": "territory"}, "scoring: the players score as they like"),
        (
            {"scoring": "territory", "scorer": "internal", "cleanup": True},
            "cleanup: under territory scoring",
        ),
        ({"suicide": "no"}, "suicide: 'no' is not a truth value"),
        ({"board_size": 1}, "board_size"),
        ({"board_size": 26}, "board_size"),
        ({"handicap": 1}, "handicap: 1 is out of range"),
        ({"handicap": 5, "board_size": 8}, "fixed handicap 5 is too large"),
        ({"handicap": 81, "handicap_style": "free"}, "free handicap 81 is too large"),
    ],
)
def test_rules_that_do_not_go_together_are_refused(settings: dict[str, Any], message: str) -> None:
    assert message in refusal(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"ko_rule": "positional"}, {"suicide": False}, {"cleanup": True}, {"scoring": "territory"}],
)
def test_rules_of_go_have_no_meaning_in_chess(settings: dict[str, Any]) -> None:
    (name,) = settings
    chess = {"game": "chess", "players": {"a": uci(), "b": uci()}}
    matchups = [call("Matchup", "a", "b")]
    with pytest.raises(Refused, match=f"'{name}' has no meaning in chess"):
        make("playoff", matchups=matchups, **chess, **settings)


def test_clock_and_move_time_are_taken_for_go() -> None:
    players = job(call("Player", "a", time_control="600+5x30", move_time=10)).players
    assert str(players[0].time_control) == "600+5x30"
    assert players[0].move_time == 10
    assert players[1].time_control is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"time_control": "40/60"},
            "players.a.time_control: GTP has no time control such as 40/60; "
            "expected Canadian byo-yomi, '0+40/60'",
        ),
        ({"nodes": 5}, "players.a.nodes: nodes has no meaning over GTP"),
        ({"depth": 5}, "players.a.depth: depth has no meaning over GTP"),
        ({"time_control": "600+5y30"}, "players.a.time_control: '600+5y30' is not a time control"),
        ({"gtp_aliases": {"genmove": "reg genmove"}}, "'reg genmove' is not one word"),
        ({"gtp_aliases": {"genmove": ""}}, "'' is not one word"),
    ],
)
def test_player_settings_that_gtp_does_not_have_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    assert message in refusal(call("Player", "a", **arguments))


@pytest.mark.parametrize("text", ["600+5x30", "600+30byo", "600+25/300"])
def test_byo_yomi_is_refused_over_uci(text: str) -> None:
    players = {"a": call("Player", "a", time_control=text), "b": uci()}
    with pytest.raises(Refused, match=r"players.a.time_control: UCI has no byo-yomi"):
        make("playoff", game="chess", players=players, matchups=[call("Matchup", "a", "b")])
