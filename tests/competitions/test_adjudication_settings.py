"""The settings of adjudication, of the move limit's result and of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.adjudication import check_files
from ringmaster.errors import SettingError
from ringmaster.model.adjudication import DrawAdjudication, ResignAdjudication, Tablebases
from ringmaster.model.jobs import GameSettings
from tests.competitions.settings_of import Refused, call, make, uci

TABLES = Path(__file__).parent.parent / "data" / "syzygy"


def settings_of(
    game: str = "chess", directory: Path = Path("/nowhere"), **given: Any
) -> GameSettings:
    players = {"a": uci(), "b": uci()} if game != "go" else {}
    players = players or {"a": call("Player", "a"), "b": call("Player", "b")}
    if game == "go":
        given = {"board_size": 9, "komi": 7.5, **given}
    made = make(
        "playoff",
        directory,
        game=game,
        players=players,
        matchups=[call("Matchup", "a", "b")],
        **given,
    )
    settings: GameSettings = made.next_job().settings
    return settings


def test_nothing_is_adjudicated_by_default() -> None:
    settings = settings_of()
    assert settings.draw_adjudication is settings.resign_adjudication is settings.tablebases is None
    assert (settings.move_limit_result, settings.record_info) == (None, ())


def test_adjudication_is_set_with_the_fields_defaults() -> None:
    settings = settings_of(
        draw_adjudication=call("DrawAdjudication"),
        resign_adjudication=call("ResignAdjudication", 4, two_sided=True),
        move_limit_result="unknown",
        record_info=["nps", "pv"],
    )
    assert settings.draw_adjudication == DrawAdjudication(40, 8, 10)
    assert settings.resign_adjudication == ResignAdjudication(4, 600, True)
    assert settings.move_limit_result == "unknown"
    assert settings.record_info == ("nps", "pv")


def test_tablebases_are_folders_of_the_competition_directory(tmp_path: Path) -> None:
    assert settings_of(directory=tmp_path, tablebases="tb").tablebases == Tablebases(
        (str(tmp_path / "tb"),)
    )
    several = call("Tablebases", ["/a", "b"], pieces=5, ignore_50_moves=True)
    assert settings_of(directory=tmp_path, tablebases=several).tablebases == Tablebases(
        ("/a", str(tmp_path / "b")), 5, True
    )
    assert settings_of(tablebases="/a:/b").tablebases == Tablebases(("/a", "/b"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draw_adjudication": call("DrawAdjudication", score=-1)}, "score: -1 is out of range"),
        ({"draw_adjudication": call("DrawAdjudication", move_count=0)}, "0 is out of range"),
        ({"resign_adjudication": call("ResignAdjudication", score=0)}, "0 is out of range"),
        ({"resign_adjudication": call("ResignAdjudication", sides=2)}, "no argument 'sides'"),
        ({"resign_adjudication": 600}, "600 is not a ResignAdjudication definition"),
        ({"tablebases": call("Tablebases", [])}, "tablebases.path"),
        ({"tablebases": 5}, "tablebases.path: 5 is not a folder"),
        ({"tablebases": call("Tablebases", "/a", pieces=2)}, "2 is out of range"),
        ({"move_limit_result": "loss"}, "move_limit_result: 'loss' is not a valid choice"),
        ({"record_info": ["nodes", "eval"]}, "record_info.1: 'eval' is not a valid choice"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        settings_of(**settings)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"draw_adjudication": call("DrawAdjudication")},
        {"resign_adjudication": call("ResignAdjudication")},
        {"tablebases": "/a"},
        {"record_info": ["nodes"]},
    ],
)
def test_go_has_no_scores_to_adjudicate_by(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(Refused, match=f"{name}: '{name}' has no meaning in go: engines give no"):
        settings_of("go", **settings)


def test_go_may_set_what_its_move_limit_means() -> None:
    assert settings_of("go", move_limit_result="draw").move_limit_result == "draw"


def test_missing_tablebases_are_told_before_the_first_game(tmp_path: Path) -> None:
    check_files(GameSettings("chess"))
    check_files(GameSettings("chess", tablebases=Tablebases((str(TABLES),))))
    with pytest.raises(SettingError, match="there is no Syzygy file") as refused:
        check_files(GameSettings("chess", tablebases=Tablebases((str(tmp_path),))))
    assert refused.value.path == ("tablebases",)
