"""The settings of a texel competition, and the messages about wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ringmaster.errors import SettingError, UsageError
from tests.competitions.settings_of import Refused, call, make, uci
from tests.competitions.texel.simulated import (
    CODES,
    Runs,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    texel,
    write_positions,
)

HERE = Path("/nowhere")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"game": "go"}, "game: engines of Go do not print an evaluation"),
        ({"players": {"e": call("Player", "e", protocol="gtp")}}, "chess is not played over gtp"),
        ({"anchor": "Z"}, "anchor: there is no parameter 'Z'"),
        ({"groups": ["late"]}, "groups.0: no parameter is in group 'late'"),
        ({"score": call("Score", pattern="cp (")}, "score.pattern: 'cp (' is not a regular"),
        ({"score": call("Score", pattern="cp")}, "score.pattern: 'cp' has no group"),
        ({"score": call("Score", pov="black")}, "score.pov: black does not move first in chess"),
        ({"target": call("Elmo", lambda_limit=200)}, "lambda_limit has no effect without lambda2"),
        ({"optimiser": "linear"}, "optimiser.features: 'features' is missing"),
        (
            {
                "optimiser": call("Linear", features="f.csv"),
                "parameters": [parameter("a", start=5, min=1, max=9, scale="log")],
            },
            "features are linear in the values: scale='log' of a has no meaning",
        ),
        (
            {"parameters": [parameter("a", start=5, min=0, max=9, scale="log")]},
            "a logarithmic scale cannot contain 0",
        ),
        ({"optimiser": "genetic", "groups": ["a"]}, "groups"),
        (
            {"players": {"e": call("Player", "engine")}, "verify": call("Verify", games=2)},
            "nothing limits the moves of player 'e' in the closing match",
        ),
        (
            {"positions": ["a.epd", call("Positions", "b.epd", quiet=20)]},
            "positions.1: quiet must be the same in all of them",
        ),
        (
            {"positions": ["a.epd", call("Positions", "b.epd", duplicates="keep")]},
            "positions.1: duplicates must be the same in all of them",
        ),
        ({"positions": [call("Positions", "a.epd", results="1-2")]}, "positions.0.results"),
        ({"parameters": [parameter("A", frozen=True)]}, "every parameter is frozen"),
        ({"parameters": [parameter("A")], "anchor": "A"}, "every other parameter is frozen"),
    ],
)
def test_invalid_settings_are_refused(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        texel(HERE, **overrides)
    assert message in str(refused.value)


def test_a_list_of_positions_has_settings_for_each_source() -> None:
    written = [
        call("Positions", "a.epd", score_pov="white", most=1000, score_cap=2000),
        call("Positions", "b.psv", "c.psv", score_cap=3000),
    ]
    positions = texel(HERE, positions=written).values["positions"]
    assert [len(source.paths) for source in positions.sources] == [1, 2]
    assert [source.score_pov for source in positions.sources] == ["first", None]
    assert [source.most for source in positions.sources] == [1000, None]
    assert positions.score_cap == 3000


def test_player_needs_no_limit_of_moves_without_games() -> None:
    event = texel(HERE, players={"e": call("Player", "engine")})
    with pytest.raises(UsageError, match="nothing limits the moves"):
        event.verify()
    limited = {"players": {"e": call("Player", "engine")}}
    texel(HERE, verify=call("Verify", games=2, depth=3), **limited).verify(4)


@pytest.mark.parametrize(
    ("written", "labels", "message"),
    [
        ({"target": call("Elmo")}, {"teacher": False}, "needs scores of a teacher"),
        ({}, {"result": False}, "needs results of games"),
        ({"target": call("Elmo", 1.0)}, {"result": False}, "without results of games"),
    ],
)
def test_target_without_its_labels_is_refused(
    folder: Path, written: dict[str, Any], labels: dict[str, bool], message: str
) -> None:
    write_positions(folder / "event.positions", **labels)  # type: ignore[arg-type]  # flags
    with pytest.raises(SettingError, match=message):
        texel(folder, **written).prepare()


def test_target_of_the_teacher_alone_needs_no_result(folder: Path) -> None:
    write_positions(folder / "event.positions", result=False)
    runs = Runs(lambda: texel(folder, target=call("Elmo", 1.0), teacher_scale=200))
    runs.run()
    summary = runs.event.summary().data()
    values = {row["code"]: row["value"] for row in summary["parameters"]}
    # the engine is the teacher with other values
    assert values["A"] > values["C"] > values["B"]
    assert summary["errors"]["best"]["train" + "ing"] < summary["errors"]["start"]["training"]


def test_tune_without_validation_has_a_notice(folder: Path) -> None:
    write_positions(folder / "event.positions", held=0.0)
    runs = Runs(lambda: texel(folder, validation=0))
    assert any("nothing is held out" in line for line in runs.event.setup().notices)
    runs.run()
    assert runs.event.summary().data()["improvement"]["part"] == "train"


def test_startup_checks_are_of_the_start_and_the_bounds() -> None:
    jobs = texel(HERE, anchor="C").setup().checks
    assert [dict(job.player.options) for job in jobs] == [
        {"A": a, "B": a, "C": 100} for a in (100, 0, 200)
    ]


def test_probe_changes_each_parameter_to_its_farther_bound(folder: Path) -> None:
    runs = Runs(
        lambda: texel(folder, parameters=[parameter("A", start=30), *map(parameter, CODES[1:])])
    )
    (job,) = runs.running
    assert [player.options["A"] for player in job.probe.changed] == [200, 30, 30]
    assert 100 <= len(range(job.first, job.stop, job.step)) <= 200


def test_score_kinds_reach_the_engine() -> None:
    event = make(
        "texel",
        HERE,
        game="chess",
        players={"e": uci()},
        player="e",
        parameters=[parameter("A")],
        positions="a.epd",
        score=call("Score", "eval", pattern=r"Total: (\S+)", unit=100, pov="white"),
    )
    kind = event.values["score"].for_game("chess")
    assert (kind.command, kind.pattern, kind.unit, kind.pov) == (
        "eval",
        r"Total: (\S+)",
        100.0,
        "first",
    )
