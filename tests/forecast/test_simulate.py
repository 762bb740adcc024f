"""`simulate`: the tune of a control file on simulated players."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster.cli import run
from ringmaster.commands.options import OPTIONS
from ringmaster.forecast.simulate import Meter
from ringmaster.tuners.simulation import DRAW_MODELS, SHAPES

EVENT = """
competition_type = "spsa"
game = "chess"
players = {{"duel": Player(["engine"], nodes=1)}}
player = "duel"
parameters = {parameters}
openings = Openings("book.epd")
number_of_games = {games}
{settings}
"""
PARAMETERS = """[
    Parameter("a", start=150, min=0, max=200, c_end=33, r_end=0.02),
    Parameter("b", start=60, min=0, max=200, c_end=33, r_end=0.02, integer=True),
]"""


@pytest.fixture
def event(tmp_path: Path) -> Callable[..., Path]:
    def write(
        games: int = 4000,
        settings: str = 'method = "classic"',
        parameters: str = PARAMETERS,
    ) -> Path:
        (tmp_path / "book.epd").write_text("4k3/8/8/8/8/8/8/4K2R w K -\n")
        path = tmp_path / "event.ctl"
        path.write_text(EVENT.format(games=games, settings=settings, parameters=parameters))
        return path

    return write


@pytest.fixture
def simulate(
    event: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    def run_simulation(*options: str, **changes: Any) -> dict[str, Any]:
        path = event(**changes)
        assert run([str(path), "simulate", "--json", "-q", "--replicates", "20", *options]) == 0
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return data

    return run_simulation


def test_tune_gains_what_simulated_players_have_to_give(simulate: Any) -> None:
    data = simulate("--elo", "40", "--optimum", "0.3")
    assert data["start"]["mean"] == pytest.approx(40 * 0.9**2)
    assert data["gain"]["mean"] > 25
    assert data["better_than_start"] == 1
    assert [point["games"] for point in data["course"]] == list(range(400, 4001, 400))
    for parameter in data["parameters"]:
        data = parameter["estimate"]
        assert data["q10"] <= data["median"] <= data["q90"]
        assert data["mean"] == pytest.approx(60, abs=15)


def test_each_parameter_may_have_its_own_elo_and_optimum(simulate: Any) -> None:
    data = simulate("--elo", "4,b=8", "--optimum", "a=centre,b=1")
    assert data["start"]["mean"] == pytest.approx(4 * 0.5**2 + 8 * 1.4**2)


def test_optima_are_anywhere_within_the_bounds_by_default(simulate: Any) -> None:
    data = simulate("--replicates", "300", games=20)
    expected = 2 * (2 * 100**2 * 1 / 3) / 100**2 + 2 * (50**2 + 40**2) / 100**2
    assert data["start"]["mean"] == pytest.approx(expected, rel=0.15)
    assert {"mean", "median", "q10", "q90"} <= set(data["parameters"][0]["distance"])


@pytest.mark.parametrize(
    ("model", "lost"),
    [
        ("power:3", 2 * 0.5**3 + 2 * 0.4**3),
        ("lopsided", 2 * 8 * 0.5**2 + 2 * 0.4**2),
        ("lopsided:3", 2 * 3 * 0.5**2 + 2 * 0.4**2),
        # the first is half of its half range of 100 above the optimum
        ("cliff", 2 * 0.5**2 + 300 / (1 + math.exp((2 / 3 - 0.5) / 0.03)) + 2 * 0.4**2),
        ("cliff:0.4", 2 * 0.5**2 + 300 / (1 + math.exp((0.4 - 0.5) / 0.03)) + 2 * 0.4**2),
        # 0.5 half ranges above its optimum, 0.4 below
        ("ridge", 2 * (20 * 0.9**2 + 0.1**2) / 21),
        ("spsa_tuner", 0.0001 * 2 * (150**2 + 60**2)),
    ],
)
def test_elo_model_is_the_one_that_was_asked_for(simulate: Any, model: str, lost: float) -> None:
    data = simulate("--elo-model", model, "--optimum", "centre", games=20)
    assert data["start"]["mean"] == pytest.approx(lost)


LOGARITHMIC = """[
    Parameter("a", start=100, min=1, max=10000),
    Parameter("b", start=100, min=1, max=10000, scale="log"),
]"""


def test_log_is_a_loss_of_factors_whatever_the_scale(simulate: Any) -> None:
    options = ("--elo-model", "log", "--elo", "12", "--optimum", "a=0.0099,b=0.25")
    data = simulate(*options, parameters=LOGARITHMIC, games=400, settings="")
    # optima of 100 and 10; half a range is a factor of 100
    assert data["start"]["mean"] == pytest.approx(0 + 12 / 4, abs=0.001)
    assert data["assumed"][1] == "optima: a 99.9901, b 10 (--optimum)"


@pytest.mark.parametrize("model", SHAPES)
def test_each_shape_is_simulated_to_a_gain(simulate: Any, model: str) -> None:
    data = simulate(
        *("--elo-model", model, "--elo", "40"),
        parameters='[Parameter("a", 150, 1, 200), Parameter("b", 60, 1, 200)]',
        settings="",
    )
    assert data["gain"]["mean"] > 0
    assert data["assumed"][-1].startswith(f"Elo model {model}, draw model fixed")


def test_help_has_every_model() -> None:
    texts = {
        option.key: option.help("simulate") for option in OPTIONS if "simulate" in option.verbs
    }
    for name, shape in SHAPES.items():
        number = f":{shape.constant:.2g}" if shape.constant else ""
        assert f"{name}{number}" in texts["elo_model"]
    for name in DRAW_MODELS:
        assert name in texts["draw_model"]


def test_outcome_depends_on_the_seed(simulate: Any) -> None:
    options = ("--replicates", "25", "--bias", "60", "--draw-model", "bayeselo")
    one, same, other = simulate(*options), simulate(*options), simulate(*options, "--seed", "1")
    assert one == same
    assert one["gain"] != other["gain"]


def test_games_in_flight_come_late(simulate: Any) -> None:
    now, late = simulate("--elo", "100"), simulate("--elo", "100", "-j", "3000")
    assert late["gain"]["mean"] < now["gain"]["mean"]


@pytest.mark.parametrize(
    "settings",
    [
        "",
        'method = "constant"',
        'method = "classic"\npairing = "reference"\nopponent = "duel"',
        'method = "classic"\ngames_per_iteration = 8\nrounding = "nearest"\nestimate = "mean"',
    ],
)
def test_every_kind_of_tune_can_be_simulated(simulate: Any, settings: str) -> None:
    data = simulate(settings=settings, games=400)
    assert data["games"] == 400
    assert len(data["course"]) == 10


def test_error_of_the_gain_is_of_95_percent_in_data_and_text(
    simulate: Any, event: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    data = simulate("--elo", "40")
    # equal replicates: the quantiles show their spread
    gain = data["gain"]
    deviation = (gain["q90"] - gain["q10"]) / 2 / 1.2816
    assert gain["error"] == pytest.approx(1.96 * deviation / math.sqrt(20), rel=0.35)
    assert run([str(event()), "simulate", "-q", "--replicates", "20", "--elo", "40"]) == 0
    assert f"± {gain['error']:.3f} Elo (mean and its 95 % interval)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_text_shows_course_gain_and_estimates(
    event: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(event(games=400)), "simulate", "--replicates", "20"]) == 0
    out, progress = capsys.readouterr()
    for words in ("Elo below the optimum", "gain from the start", "estimates at the end", "40 "):
        assert words in out
    assert max(map(len, out.splitlines())) <= 100
    assert "simulated" in progress or progress == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--elo-model", "cubic"], "there is no 'cubic'; choose from quadratic"),
        (["--elo-model", "power:x"], "'x' is not a number from 0.001 to 100"),
        (["--elo-model", "quadratic:2"], "there is no 'quadratic:2'"),
        (
            ["--elo-model", "asymmetric"],
            "there is no 'asymmetric'; choose from quadratic, log, lop",
        ),
        (
            ["--elo-model", "log"],
            "--elo-model: log needs ranges above 0, and that of 'a' begins at",
        ),
        (["--draw-model", "some"], "there is no 'some'; choose from fixed"),
        (["--optimum", "a=0.5"], "random for all parameters or for none"),
        (["--seconds-per-game", "2"], "--seconds-per-game is an option of plan, not of simulate"),
    ],
)
def test_bad_option_is_answered_by_what_would_be_right(
    event: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    assert run([str(event()), "simulate", *options]) == 2
    assert message in capsys.readouterr().err


def test_ridge_needs_two_parameters(
    event: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = event(parameters='[Parameter("a", 1, 0, 9)]', settings="")
    assert run([str(path), "simulate", "--elo-model", "ridge"]) == 2
    assert "ridge needs 2 parameters or more, not 1; tune more, or" in capsys.readouterr().err


class Stream:
    """A stream that records its output."""

    def __init__(self, terminal: bool) -> None:
        self.text, self._terminal = "", terminal

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...


def test_meter_tells_of_each_tenth_once_and_clears_a_terminal() -> None:
    lines, place = Stream(False), Stream(True)
    for stream in (lines, place):
        meter = Meter(stream)  # type: ignore[arg-type]
        for share in (0.0, 0.05, 0.11, 0.12, 0.5, 0.49):
            meter(share)
        meter.close()
    assert lines.text == "simulated 10 %\nsimulated 50 %\n"
    assert place.text == "\rsimulated 10 %\rsimulated 50 %\r\033[K"
