"""`plan`: expectations of a tune, and warnings of wasteful settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster.cli import run
from ringmaster.storage.store import Store
from tests.program import SPSA, ringmaster, write_control_file

EVENT = """
competition_type = "spsa"
game = "{game}"
players = {{"duel": Player(["engine"], nodes=1)}}
player = "duel"
parameters = [
    {parameters}
]
openings = Openings("book.epd")
number_of_games = {games}
{settings}
"""
GOOD = 'Parameter("a", start=40, min=0, max=100, c_end=12, r_end=0.004)'


@pytest.fixture
def plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Return a function that plans a tune and returns exit status and data."""

    def make_plan(
        *options: str,
        parameters: str = GOOD,
        games: int = 600_000,
        settings: str = 'method = "classic"',
        game: str = "chess",
    ) -> tuple[int, dict[str, Any]]:
        (tmp_path / "book.epd").write_text("4k3/8/8/8/8/8/8/4K2R w K -\n")
        path = tmp_path / "event.ctl"
        path.write_text(
            EVENT.format(parameters=parameters, games=games, settings=settings, game=game)
        )
        status = run([str(path), "plan", "--json", *options])
        return status, json.loads(capsys.readouterr().out)

    return make_plan


def warned(data: dict[str, Any], words: str) -> bool:
    return any(words in line for line in data["warnings"])


def test_sound_tune_is_planned_without_a_warning(plan: Any) -> None:
    status, data = plan()
    assert (status, data["warnings"]) == (0, [])
    (a,) = data["parameters"]
    assert a["c_last"] == pytest.approx(12)
    assert a["noise"] == pytest.approx(347.436 * 0.39 * 0.004 / 8, rel=1e-4)
    # E_c = 2·(12/50)²; λ = C/(4·r·E_c)
    assert a["time_constant"] == pytest.approx(347.436 / (4 * 0.004 * 2 * 0.24**2), rel=1e-4)
    assert data["all"]["lost_at_end"] < data["all"]["lost_at_start"]


def test_plan_takes_the_games_at_a_time_of_the_control_file(plan: Any) -> None:
    settings = 'method = "classic"\nparallel = 5'
    _, data = plan("--seconds-per-game", "3", settings=settings)
    assert data["parallel"] == 5
    assert data["hours"] == pytest.approx(600_000 * 3 / 5 / 3600)
    _, data = plan("--seconds-per-game", "3", "-j", "2", settings=settings)
    assert data["parallel"] == 2
    assert plan()[1]["hours"] is None


@pytest.mark.process
def test_seconds_and_draws_are_measured_where_games_have_been_played(tmp_path: Path) -> None:
    path = write_control_file(tmp_path, SPSA, 40)
    assert ringmaster(path).returncode == 0
    done = ringmaster(path, "plan", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    store = Store.open_readonly(path.with_suffix(".status"))
    results = [r.result for r in store.results()]
    store.close()
    mean = sum(r.seconds for r in results) / len(results)
    assert data["seconds_per_game"] == pytest.approx(mean)
    assert any(f"as in the last {len(results)} games" in line for line in data["assumed"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"parameters": 'Parameter("a", 5, 0, 10, c_end=0.2, integer=True)'},
            "is raised to 0.5",
        ),
        (
            {"parameters": 'Parameter("a", 5, 0, 10, c_end=0.7, integer=True)'},
            "differ by one step or two",
        ),
        (
            {
                "parameters": 'Parameter("a", 5, 0, 10, c_end=0.7, integer=True)',
                "settings": 'method = "classic"\nrounding = "nearest"',
            },
            "both sides are often the same",
        ),
        (
            {"parameters": 'Parameter("a", 5, 0, 10, c_end=0.02, format="%.1f")'},
            "the format gives both sides the same value",
        ),
        ({"parameters": 'Parameter("a", 5, 0, 10, c_end=4)'}, "exceeds half the range"),
        ({"parameters": 'Parameter("a", 0, 0, 10, c_end=2)'}, "the start is at a bound"),
        ({"games": 2000}, "R cannot converge"),
        ({"games": 2000}, "increase R (r_end)"),
        ({"games": 2000, "settings": 'method = "blog"'}, "increase R (epsilon)"),
        ({"games": 300_000}, "shorter than 3 time"),
        ({"parameters": GOOD.replace("0.004", "0.2")}, "noise of θ costs more Elo"),
        ({"parameters": GOOD.replace("0.004", "0.9")}, "by more than c"),
        (
            {
                "games": 20_000,
                "parameters": ", ".join(
                    f'Parameter("p{i}", 40, 0, 100, c_end=16, r_end=0.05)' for i in range(40)
                ),
            },
            "too many parameters (40)",
        ),
    ],
)
def test_wasteful_settings_give_warnings(plan: Any, changes: dict[str, Any], words: str) -> None:
    status, data = plan(**changes)
    assert status == 0
    assert warned(data, words), data["warnings"]
    assert not warned(plan()[1], words)


def test_too_many_games_in_progress_give_a_warning(plan: Any) -> None:
    steep = {"parameters": GOOD.replace("0.004", "0.05")}
    assert not warned(plan("-j", "2", **steep)[1], "games in progress")
    assert warned(plan("-j", "2000", **steep)[1], "2000 games in progress")


def test_long_list_of_codes_is_cut(plan: Any) -> None:
    many = ", ".join(f'Parameter("p{i}", 0, 0, 10, c_end=2)' for i in range(9))
    assert warned(plan(parameters=many)[1], "'p4' and 4 more: the start is at a bound")


def test_default_method_is_simulated(plan: Any) -> None:
    _, data = plan(settings="", games=4000, parameters='Parameter("a", 20, 0, 100)')
    assert data["all"]["simulated"] >= 8
    assert 0 < data["all"]["lost_at_end"] < data["all"]["lost_at_start"]


def test_simulated_end_is_compared_with_the_start_of_the_same_tunes(plan: Any) -> None:
    three = (
        'Parameter("a", 150, 1, 201), Parameter("b", 60, 1, 201, integer=True), '
        'Parameter("c", 20, 1, 100, scale="log")'
    )
    _, data = plan(settings="", games=2000, parameters=three)
    # these optima are farther away than the mean of all optima
    assert data["all"]["lost_at_end"] > data["all"]["lost_at_start"]
    assert not warned(data, "are at the start")


MANY = ", ".join(f'Parameter("p{i}", 100, 0, 200)' for i in range(200))


def test_many_parameters_that_hardly_matter_are_told_also_where_nothing_is_simulated(
    plan: Any,
) -> None:
    tune = {"settings": "", "parameters": MANY, "games": 60_000}
    _, data = plan("--elo", "0.5", **tune)
    assert "simulated" not in data["all"]
    (warning,) = data["warnings"]
    # 347.4²·0.39/(16·0.5·0.5/3) over ¼²·4
    assert "and 195 more: 60,000 games are too few" in warning
    assert "158,886" in warning
    assert plan(**tune)[1]["warnings"] == []


@pytest.mark.slow
def test_sound_tune_by_the_default_method_is_planned_without_a_warning(plan: Any) -> None:
    four = ", ".join(f'Parameter("p{i}", 60, 0, 200)' for i in range(4))
    assert plan(settings="", parameters=four, games=20_000)[1]["warnings"] == []


def test_tune_too_long_for_a_simulation_says_so(
    plan: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, data = plan(settings="", games=10**8, parameters='Parameter("a", 20, 0, 100)')
    assert "lost_at_end" not in data["all"]
    assert run([str(tmp_path / "event.ctl"), "plan"]) == 0
    assert "too long for a simulation" in capsys.readouterr().out


def test_text_names_every_parameter_and_what_was_assumed(
    plan: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(parameters=f'{GOOD}, Parameter("steep", 1, 0, 10, c_end=3)')
    assert run([str(tmp_path / "event.ctl"), "plan", "--elo", "2,steep=30"]) == 0
    out = capsys.readouterr().out
    for words in ("steep", "a 2, steep 30", "61 % draws", "λ (games)"):
        assert words in out


@pytest.mark.parametrize("settings", ["", 'method = "classic"'])
def test_text_fits_a_hundred_columns(
    plan: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: str
) -> None:
    codes = ("Pawn Structure (Middle Game)", "Passed Pawns (Endgame)", "Mobility (Endgame)")
    parameters = ", ".join(f'Parameter("{code}", 0, 0, 400, c_end=3)' for code in codes)
    _, data = plan(settings=settings, parameters=parameters, games=2000)
    assert data["warnings"]
    elo = ",".join(f"{code}=1.2345" for code in codes)
    assert run([str(tmp_path / "event.ctl"), "plan", "--elo", elo]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(any(code in line for line in lines) for code in codes)


def test_frozen_parameters_are_not_planned(plan: Any) -> None:
    fixed = 'Parameter("fixed", 1, 0, 10, c_end=3, frozen=True)'
    _, data = plan(parameters=f"{GOOD}, {fixed}")
    assert [p["code"] for p in data["parameters"]] == ["a"]


def test_against_a_reference_time_constant_and_noise_are_twice_as_large(plan: Any) -> None:
    settings = 'method = "classic"\npairing = "reference"\nopponent = "duel"'
    (own,) = plan()[1]["parameters"]
    (versus,) = plan(settings=settings)[1]["parameters"]
    assert versus["time_constant"] == pytest.approx(2 * own["time_constant"])
    assert versus["noise"] == pytest.approx(2 * own["noise"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--elo", "2,nobody=3"], "--elo: no parameter 'nobody' is tuned; there are a"),
        (["--elo", "1,2"], "has a value twice"),
        (["--optimum", "a=0.5,a=0.6"], "has a twice"),
    ],
)
def test_bad_option_is_answered_by_what_would_be_right(
    plan: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    plan()
    assert run([str(tmp_path / "event.ctl"), "plan", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--elo", "-3"], "--elo: a tune loses Elo, -3 is not a number from 0"),
        (["--penta", "1,2,3,2,1"], "--penta is for matches; a tune has --draw-ratio"),
    ],
)
def test_option_of_matches_is_refused_for_a_tune(
    plan: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    plan()
    assert run([str(tmp_path / "event.ctl"), "plan", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("type_name", "action"), [("clop_toga2", "plan"), ("playoff_chess", "simulate")]
)
def test_other_competition_types_have_no_forecast(
    capsys: pytest.CaptureFixture[str], type_name: str, action: str
) -> None:
    path = Path(__file__).parents[2] / "controlfiles" / f"{type_name}.ctl"
    assert run([str(path), action]) == 2
    message = "plan is for tournaments and for competition_type 'spsa', simulate for 'spsa' only"
    assert message in capsys.readouterr().err


def test_elo_that_the_games_can_find_is_told_while_the_users_own_is_unknown(
    plan: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tune = {"settings": "", "games": 1000, "parameters": 'Parameter("a", 20, 0, 100)'}
    assert plan(**tune)[1]["warnings"] == []
    assert run([str(tmp_path / "event.ctl"), "plan"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    (worth,) = re.findall(r"where a parameter is worth ([0-9.]+) Elo or more", text)
    # with this Elo given, and a little less, the games suffice, and do not
    assert plan("--elo", str(float(worth) * 1.05), **tune)[1]["warnings"] == []
    assert warned(plan("--elo", str(float(worth) * 0.95), **tune)[1], "too few")


def test_quick_start_passes_its_own_plan(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "controlfiles" / "tune.ctl"
    assert run([str(path), "plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
