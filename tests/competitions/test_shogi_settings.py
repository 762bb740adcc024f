"""Settings of a game of shogi."""

from __future__ import annotations

from typing import Any

import pytest

from tests.competitions.settings_of import Refused, call, make


def job(game: str = "shogi", **settings: Any) -> Any:
    """Return the first job of a playoff of two players."""
    player = call("Player", "x", nodes=1)
    return make(
        "playoff",
        game=game,
        players={"a": player, "b": player},
        matchups=[call("Matchup", "a", "b")],
        **settings,
    ).next_job()


def test_shogi_is_played_over_usi_by_the_27_point_rule_and_recorded_as_csa() -> None:
    made = job()
    assert made.players[0].protocol == "usi"
    assert made.settings.entering_king == "27"
    assert made.settings.record_format is None


@pytest.mark.parametrize("rule", ["27", "24", "trial", "none"])
def test_the_rule_of_entering_kings_is_set(rule: str) -> None:
    assert job(entering_king=rule).settings.entering_king == rule


@pytest.mark.parametrize("format", ["csa", "kif"])
def test_the_format_of_records_is_set(format: str) -> None:
    assert job(record_format=format).settings.record_format == format


def test_the_format_that_a_game_has_anyway_may_be_said() -> None:
    assert job("chess", record_format="pgn").settings.record_format == "pgn"
    assert job("chess", entering_king="27").settings.entering_king == "27"


@pytest.mark.parametrize(
    ("game", "settings", "message"),
    [
        ("shogi", {"entering_king": "28"}, "entering_king: '28'"),
        ("shogi", {"entering_king": 27}, "entering_king: 27"),
        ("shogi", {"record_format": "pgn"}, "games of shogi are not recorded in pgn"),
        ("shogi", {"record_format": "sgf"}, "'csa' or 'kif'"),
        ("shogi", {"komi": 6.5}, "komi: 'komi' has no meaning in shogi"),
        ("shogi", {"board_size": 9}, "board_size: 'board_size' has no meaning in shogi"),
        ("shogi", {"suicide": False}, "suicide: 'suicide' has no meaning in shogi"),
        ("chess", {"entering_king": "24"}, "'entering_king' has no meaning in chess"),
        ("chess", {"record_format": "kif"}, "games of chess are not recorded in kif"),
    ],
)
def test_what_a_game_does_not_have_is_refused(
    game: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(Refused) as refused:
        job(game, **settings)
    assert message in str(refused.value)
