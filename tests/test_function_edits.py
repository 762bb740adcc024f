"""Functions of a tune that fail late: early errors, reports, and accepted edits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ringmaster.cli import run as command
from ringmaster.control.changes import Comparison
from ringmaster.errors import ControlFileError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import GameJob, Job
from ringmaster.model.results import CheckResult, GameResult, JobResult
from ringmaster.reporting.live import QuietDisplay
from ringmaster.ringmaster import Ringmaster
from ringmaster.run_control import RunOptions
from ringmaster.storage.store import Store
from tests.execution.inline import InlineExecutor

HEAD = """
from math import sqrt
from pathlib import Path
game = "chess"
players = {"opponent": Player("engine", nodes=1)}
opponent = "opponent"
candidate_colour = "alternating"
LATE = Path(__file__).parent / "late"
def make_candidate(x):
    return Player(["engine", str(x)], nodes=1)
def sc(f):
    return VALUE
"""

MC_TUNER = f"""competition_type = "mc_tuner"{HEAD}
parameters = [Parameter("x", scale=sc, split=4)]
exploration_coefficient = 0.45
initial_visits = 4
initial_wins = 2
max_depth = 2
number_of_games = 60
"""

CE_TUNER = f"""competition_type = "ce_tuner"{HEAD}
parameters = [Parameter("x", initial_mean=0, initial_variance=1, transform=sc)]
number_of_generations = 4
samples_per_generation = 8
batch_size = 2
elite_proportion = 0.3
step_size = 0.8
"""

#: Expressions that begin to fail for some values in the middle of a run.
LATE = {
    MC_TUNER: "sqrt(f - 0.1 if LATE.exists() and f < 0.1 else f)",
    CE_TUNER: "sqrt(f - 9 if LATE.exists() and f > 0.3 else f * f)",
}
#: The same, mended.
MENDED = {MC_TUNER: "sqrt(f)", CE_TUNER: "sqrt(f ** 2)"}


class Players:
    """Work that is done at once: the first to move wins.  After some games the control
    file's function begins to fail."""

    def __init__(self, late: Path, games: int) -> None:
        self._late = late
        self._games = games

    def run(self, job: Job) -> JobResult:
        if not isinstance(job, GameJob):
            return CheckResult(job.id, job.player.code)
        self._games -= 1
        if self._games == 0:
            self._late.touch()
        return GameResult(job.id, job.attempt, "win", winner=0, reason="mate", score="1-0")

    def close(self) -> None: ...


def write(folder: Path, source: str, expression: str) -> Path:
    control = folder / "tune.ctl"
    control.write_text(source.replace("VALUE", expression))
    return control


def play(control: Path, *, late: int = 0, most: int | None = None) -> None:
    players = Players(control.parent / "late", late)
    Ringmaster(
        LoadedCompetition(control),
        RunOptions(max_games=most),
        executor=lambda: InlineExecutor(players),
        display=QuietDisplay(sys.stderr),
        period=0.0,
    ).run()


def compared(control: Path) -> Comparison:
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    try:
        return loaded.compare(store)
    finally:
        store.close()


@pytest.fixture(params=[MC_TUNER, CE_TUNER], ids=["mc_tuner", "ce_tuner"])
def source(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stuck(tmp_path: Path, source: str) -> Path:
    """A tune whose function has failed after ten games."""
    control = write(tmp_path, source, LATE[source])
    with pytest.raises(ControlFileError):
        play(control, late=10)
    return control


def test_failing_function_shows_its_line_with_parameter_and_value(
    tmp_path: Path, source: str
) -> None:
    control = write(tmp_path, source, LATE[source])
    with pytest.raises(ControlFileError) as failed:
        play(control, late=10)
    first, line, *_ = str(failed.value).splitlines()
    assert first.startswith(f"{control}:12:12: error: parameters[0].")
    assert "parameter 'x': called with (0." in first
    assert "raised ValueError: math domain error" in first
    assert line.startswith("   12 |     return sqrt(")


@pytest.mark.parametrize("action", [["show"], ["report"], ["show", "--json"], ["export"]])
def test_reports_go_on_beside_a_function_that_fails(
    stuck: Path, action: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command([str(stuck), *action]) == 0
    printed = capsys.readouterr().out
    if action == ["show", "--json"]:
        assert None in [c["parameters"]["x"] for c in json.loads(printed)["candidates"]]


def test_candidate_is_shown_by_coordinates_when_its_function_fails(tmp_path: Path) -> None:
    control = write(tmp_path, MC_TUNER + "summary_spec = [4, 16]\n", LATE[MC_TUNER])
    with pytest.raises(ControlFileError):
        play(control, late=10)
    assert "(0),(0)" not in shown(control)
    assert "(0) (0)      [x: scale fails at 0.03125]" in shown(control)


def shown(control: Path) -> str:
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    try:
        loaded.restore(store)
        return loaded.report_text()
    finally:
        store.close()


def test_mended_function_is_accepted_and_the_tune_continues(stuck: Path, source: str) -> None:
    write(stuck.parent, source, MENDED[source])
    (change,) = compared(stuck).changes
    assert change.allowed
    assert change.what == "its code has been changed"
    play(stuck)
    assert command([str(stuck), "show"]) == 0
    loaded = LoadedCompetition(stuck)
    store = Store.open_readonly(loaded.paths.status)
    loaded.restore(store)
    assert loaded.competition.finished()
    store.close()


def test_function_that_gives_another_value_than_was_played_is_refused(
    stuck: Path, source: str
) -> None:
    write(stuck.parent, source, MENDED[source] + " + 1")
    (change,) = compared(stuck).refused
    assert "in games already played, and gives" in change.reason
    with pytest.raises(ControlFileError, match="in games already played"):
        play(stuck)


def test_value_that_differs_at_a_later_generation_only_is_refused(tmp_path: Path) -> None:
    control = write(tmp_path, MC_TUNER, "sqrt(f)")
    play(control, most=40)
    write(tmp_path, MC_TUNER, "sqrt(f) if f in (0.125, 0.375, 0.625, 0.875) else f")
    (change,) = compared(control).refused
    assert "in games already played" in change.reason


def test_renamed_and_replaced_scales_are_accepted(tmp_path: Path) -> None:
    lines = MC_TUNER.replace("scale=sc", "scale=LINEAR(1, 3)")
    control = write(tmp_path, lines, "1 + 2 * f")
    play(control, most=40)
    write(tmp_path, MC_TUNER, "1 + 2 * f")
    assert compared(control).refused == []
    play(control, most=5)
    write(tmp_path, MC_TUNER.replace("sc(f)", "other(f)").replace("=sc", "=other"), "2 * f + 1.0")
    assert compared(control).refused == []


def test_other_value_for_an_unplayed_candidate_is_accepted(tmp_path: Path) -> None:
    control = write(tmp_path, MC_TUNER.replace("scale=sc", "scale=EXPLICIT([1, 2, 3, 4])"), "f")
    play(control, most=1)
    (played,) = [
        c["parameters"]["x"]
        for c in LoadedCompetition(control).competition.summary()["candidates"][:1]
    ]
    assert played == 1
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    loaded.restore(store)
    store.close()
    values = [1, 2, 3, 4]
    games = [c["games"] for c in loaded.competition.summary()["candidates"]]
    for place, count in enumerate(games):
        edited = [v + 10 if i == place else v for i, v in enumerate(values)]
        write(tmp_path, MC_TUNER.replace("scale=sc", f"scale=EXPLICIT({edited})"), "f")
        assert bool(compared(control).refused) == bool(count)


@pytest.mark.parametrize("action", ["check", "run"])
def test_scale_that_fails_at_depth_two_is_reported_before_the_first_game(
    tmp_path: Path, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    control = write(tmp_path, MC_TUNER, "sqrt(f - 0.1)")
    assert command([str(control), action]) == 1
    error = capsys.readouterr().err
    assert "'x': called with (0.03125), it raised ValueError: math domain error" in error
    assert "   12 |     return sqrt(f - 0.1)" in error
    assert not (tmp_path / "tune.status").exists()


def test_transform_that_fails_within_four_deviations_is_reported_before_the_first_game(
    tmp_path: Path,
) -> None:
    with pytest.raises(ControlFileError, match=r"'x': called with \(-4\.0"):
        play(write(tmp_path, CE_TUNER, "sqrt(f + 3.9)"))


def test_make_candidate_is_tried_all_over_the_ranges(tmp_path: Path) -> None:
    for limit in ("x > 0.95", "x < 0.05", "0.45 < x < 0.55"):
        source = MC_TUNER.replace(
            "    return Player", f"    if {limit}: raise KeyError(x)\n{' ' * 4}return Player"
        )
        with pytest.raises(ControlFileError, match=r"make_candidate: called with .* KeyError"):
            play(write(tmp_path, source, "f"), most=0)


def test_later_values_at_which_a_mended_function_fails_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = write(tmp_path, MC_TUNER, "f")
    play(control, most=1)
    write(tmp_path, MC_TUNER, "f if f > 0.05 else sqrt(-f)")
    play(control, most=1)
    assert "warning: parameters[0].scale: parameter 'x': called with (0.03125)" in (
        capsys.readouterr().err
    )


def test_line_of_a_module_beside_the_file_is_shown(tmp_path: Path) -> None:
    (tmp_path / "helper_of_a_tune_that_fails.py").write_text(
        "def half(f):\n    return f / (f - 0.03125)\n"
    )
    source = MC_TUNER.replace("from math", "import helper_of_a_tune_that_fails\nfrom math")
    try:
        with pytest.raises(ControlFileError) as failed:
            play(write(tmp_path, source, "helper_of_a_tune_that_fails.half(f)"))
    finally:
        sys.modules.pop("helper_of_a_tune_that_fails", None)
    assert "13 |     return helper_of_a_tune_that_fails.half(f)" in str(failed.value)
    assert "helper_of_a_tune_that_fails.py:2: return f / (f - 0.03125)" in str(failed.value)
