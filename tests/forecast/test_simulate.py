"""`simulate`: the tune of a control file on simulated players."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster.cli import run
from ringmaster.forecast.simulate import Meter, divide
from tests.program import ringmaster

EVENT = """
competition_type = "spsa"
game = "chess"
players = {{"duel": Player(["engine"], nodes=1)}}
player = "duel"
parameters = [
    Parameter("a", start=150, min=0, max=200, c_end=33, r_end=0.02),
    Parameter("b", start=60, min=0, max=200, c_end=33, r_end=0.02, integer=True),
]
openings = Openings("book.epd")
number_of_games = {games}
{settings}
"""


@pytest.fixture
def event(tmp_path: Path) -> Callable[..., Path]:
    def write(games: int = 4000, settings: str = 'method = "classic"') -> Path:
        (tmp_path / "book.epd").write_text("4k3/8/8/8/8/8/8/4K2R w K -\n")
        path = tmp_path / "event.ctl"
        path.write_text(EVENT.format(games=games, settings=settings))
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
        ("asymmetric:3", 2 * 3 * 0.5**2 + 2 * 0.4**2),
        ("spsa_tuner", 0.0001 * 2 * (150**2 + 60**2)),
    ],
)
def test_elo_model_is_the_one_that_was_asked_for(simulate: Any, model: str, lost: float) -> None:
    data = simulate("--elo-model", model, "--optimum", "centre", games=20)
    assert data["start"]["mean"] == pytest.approx(lost)


@pytest.mark.process
@pytest.mark.slow
def test_outcome_depends_on_the_seed_and_not_on_the_processes(
    simulate: Any, event: Callable[..., Path]
) -> None:
    options = ("--replicates", "25", "--bias", "60", "--draw-model", "bayeselo")
    one, other = simulate(*options), simulate(*options, "--seed", "1")
    assert one["gain"] != other["gain"]
    done = ringmaster(event(), "simulate", "--json", "-j", "3", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == one
    assert "simulated 100 %" in done.stderr


def test_games_in_flight_come_late(simulate: Any) -> None:
    now, late = simulate("--elo", "100"), simulate("--elo", "100", "--concurrency", "3000")
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
        (["--elo-model", "power:x"], "'x' is not a number from above 0 to 100"),
        (["--elo-model", "clop-flat"], "clop-flat is a function of 1, not 2 parameters"),
        (["--elo-model", "clop-round"], "there is no 'clop-round'"),
        (["--draw-model", "some"], "there is no 'some'; choose from fixed"),
        (["--correlation", "2"], "is not a number from -1 to 1"),
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


@pytest.mark.parametrize("replicates", [1, 10, 25, 120])
@pytest.mark.parametrize("processes", [1, 2, 7, 50])
def test_replicates_are_divided_in_whole_groups(replicates: int, processes: int) -> None:
    parts = divide(replicates, processes)
    assert sum(count for _, count in parts) == replicates
    at = 0
    for first, count in parts:
        assert first == at
        assert first % 10 == 0
        at += count


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
