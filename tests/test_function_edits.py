"""Functions of a tune that fail late: early errors, reports, and accepted edits."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from ringmaster.cli import run as command
from ringmaster.control.changes import Comparison
from ringmaster.errors import ControlFileError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import GameJob, Job
from ringmaster.model.results import CheckResult, GameResult, JobResult
from ringmaster.reporting.live import Display
from ringmaster.ringmaster import Ringmaster
from ringmaster.run_control import RunOptions
from ringmaster.storage.store import Store
from tests.execution.inline import InlineExecutor
from tests.requirements import package

HEAD = """
from math import sqrt
from pathlib import Path
game = "chess"
players = {"opponent": Player("engine", nodes=1), "engine": Player("engine", nodes=1)}
opponent = "opponent"
LATE = Path(__file__).parent / "late"
def sc(f):
    return VALUE
"""

CANDIDATES = """candidate_colour = "alternating"
def make_candidate(x):
    return Player(["engine", str(x)], nodes=1)
"""

MC_TUNER = f"""competition_type = "mc_tuner"{HEAD}{CANDIDATES}
parameters = [Parameter("x", scale=sc, split=4)]
exploration_coefficient = 0.45
initial_visits = 4
initial_wins = 2
max_depth = 2
number_of_games = 60
"""

CE_TUNER = f"""competition_type = "ce_tuner"{HEAD}{CANDIDATES}
parameters = [Parameter("x", initial_mean=0, initial_variance=1, transform=sc)]
number_of_generations = 4
samples_per_generation = 8
batch_size = 2
elite_proportion = 0.3
step_size = 0.8
"""

CLOP_TUNER = f"""competition_type = "clop_tuner"{HEAD}
player = "engine"
parameters = [Parameter("x", min=0, max=1, transform=sc)]
number_of_games = 60
"""

OPTUNA_TUNER = f"""competition_type = "optuna_tuner"{HEAD}
player = "engine"
parameters = [Parameter("x", start=0.5, min=0, max=1, transform=sc)]
sampler = "random"
number_of_trials = 15
games_per_trial = 4
end_hopeless = None
"""

SPSA = f"""competition_type = "spsa"{HEAD}
pairing = "reference"
player = "engine"
parameters = [Parameter("x", start=0.5, min=0, max=1, transform=sc)]
number_of_games = 60
"""

#: Types that cannot go on with other engine values than those played.
STRICT = [
    pytest.param(MC_TUNER, id="mc_tuner"),
    pytest.param(CE_TUNER, id="ce_tuner"),
    pytest.param(CLOP_TUNER, id="clop_tuner"),
    pytest.param(OPTUNA_TUNER, id="optuna_tuner", marks=pytest.mark.optional),
]

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
    if source == OPTUNA_TUNER:
        package("optuna")
    control = folder / "tune.ctl"
    control.write_text(source.replace("VALUE", expression))
    return control


def play(control: Path, *, late: int = 0, most: int | None = None) -> None:
    players = Players(control.parent / "late", late)
    Ringmaster(
        LoadedCompetition(control),
        RunOptions(max_games=most),
        executor=lambda: InlineExecutor(players),
        display=Display(sys.stderr),
        period=0.0,
    ).run()


def compared(control: Path, *, safe: bool = False) -> Comparison:
    loaded = LoadedCompetition(control, safe=safe)
    store = Store.open_readonly(loaded.paths.status)
    try:
        return loaded.compare(store)
    finally:
        store.close()


def restored(control: Path) -> LoadedCompetition:
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    loaded.restore(store, loaded.compare(store))
    store.close()
    return loaded


@pytest.mark.parametrize("source", STRICT)
def test_function_with_the_same_values_goes_on_and_one_with_others_is_refused(
    tmp_path: Path, source: str
) -> None:
    control = write(tmp_path, source, "2 * f")
    play(control, most=9)
    write(tmp_path, source.replace("sc(f)", "other(f)").replace("=sc", "=other"), "f + f")
    assert compared(control).changes == ()
    play(control, most=1)
    write(tmp_path, source, "2 * f + (f != 0.5)")
    (change,) = compared(control).refused
    assert re.fullmatch(
        r"for [0-9.]+ it gave .* in results so far, and gives .* now", change.reason
    )
    assert change.where.startswith("parameters[0].")
    with pytest.raises(ControlFileError, match="in results so far"):
        play(control)


@pytest.mark.parametrize("source", STRICT)
def test_function_that_fails_for_a_played_value_is_refused_by_its_error(
    tmp_path: Path, source: str
) -> None:
    control = write(tmp_path, source, "2 * f")
    play(control, most=9)
    # the first values that are probed do not fail
    write(tmp_path, source, "2 * f if f in (0, 0.125, 0.5, 1) else 1 / 0")
    with pytest.raises(ControlFileError, match="ZeroDivisionError: division by zero"):
        play(control)


@pytest.mark.parametrize("source", STRICT)
def test_any_function_is_accepted_before_the_first_result(tmp_path: Path, source: str) -> None:
    control = write(tmp_path, source, "2 * f")
    play(control, most=0)
    write(tmp_path, source, "3 * f")
    assert compared(control).refused == []


@pytest.mark.parametrize("source", [MC_TUNER, CLOP_TUNER], ids=["mc_tuner", "clop_tuner"])
def test_the_rule_holds_in_safe_mode(tmp_path: Path, source: str) -> None:
    source = source.replace("from pathlib import Path\n", "").replace("LATE =", "#")
    control = write(tmp_path, source, "2 * f")
    play(control, most=9)
    write(tmp_path, source, "f * 2")
    assert compared(control, safe=True).changes == ()
    write(tmp_path, source, "f * 3")
    (change,) = compared(control, safe=True).refused
    assert "in results so far" in change.reason
    write(tmp_path, source, "[][f > 0.1]")
    with pytest.raises(ControlFileError):
        play(control)


def test_functions_of_settings_that_may_change_are_free(tmp_path: Path) -> None:
    control = write(tmp_path, SPSA, "2 * f")
    play(control, most=9)
    write(tmp_path, SPSA, "3 * f")
    assert compared(control).refused == []
    (tmp_path / "tune.status").unlink()
    control = write(tmp_path, MC_TUNER, "2 * f")
    play(control, most=9)
    write(tmp_path, MC_TUNER.replace("nodes=1)\n\n", "nodes=2)\n\n"), "2 * f")
    assert compared(control).refused == []


def test_transform_added_or_removed_is_judged_by_its_values(tmp_path: Path) -> None:
    without = CLOP_TUNER.replace(", transform=sc", "")
    control = write(tmp_path, without, "f")
    play(control, most=9)
    write(tmp_path, CLOP_TUNER, "f + 0.0")
    assert compared(control).refused == []
    play(control, most=9)
    write(tmp_path, CLOP_TUNER, "f + 1")
    assert len(compared(control).refused) == 1
    write(tmp_path, without, "f")
    assert compared(control).refused == []


def test_cost_of_the_check_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringmaster.loaded_competition.MOST_PLAYED", 5)
    counting = "(LATE.write_text(LATE.read_text() + 'x') and 2 * f) if LATE.exists() else 2 * f"
    control = write(tmp_path, CE_TUNER, counting)
    play(control, most=40)
    late = tmp_path / "late"
    late.write_text("")
    LoadedCompetition(control)
    at_load = len(late.read_text())
    late.write_text("")
    compared(control)
    assert 1 <= len(late.read_text()) - at_load <= 5


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
    assert first.startswith(f"{control}:9:12: error: parameters[0].")
    assert "parameter 'x': called with (0." in first
    assert "raised ValueError: math domain error" in first
    assert line.startswith("    9 |     return sqrt(")


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
    report = restored(control).report_text()
    assert "(0),(0)" not in report
    assert "(0)(0)       x: [scale fails at 0.03125]" in report


def test_mended_function_is_accepted_and_the_tune_continues(stuck: Path, source: str) -> None:
    write(stuck.parent, source, MENDED[source])
    assert compared(stuck).refused == []
    play(stuck)
    assert restored(stuck).competition.finished()


def test_value_that_differs_at_a_later_generation_only_is_refused(tmp_path: Path) -> None:
    control = write(tmp_path, MC_TUNER, "sqrt(f)")
    play(control, most=40)
    write(tmp_path, MC_TUNER, "sqrt(f) if f in (0.125, 0.375, 0.625, 0.875) else f")
    (change,) = compared(control).refused
    assert "in results so far" in change.reason


def test_formula_in_place_of_a_scale_is_accepted(tmp_path: Path) -> None:
    lines = MC_TUNER.replace("scale=sc", "scale=LINEAR(1, 3)")
    control = write(tmp_path, lines, "1 + 2 * f")
    play(control, most=40)
    write(tmp_path, MC_TUNER, "1 + 2 * f")
    assert [c.allowed for c in compared(control).changes] == [True]


def test_other_value_for_an_unplayed_candidate_is_accepted(tmp_path: Path) -> None:
    control = write(tmp_path, MC_TUNER.replace("scale=sc", "scale=EXPLICIT([1, 2, 3, 4])"), "f")
    play(control, most=1)
    values = [1, 2, 3, 4]
    games = [c["games"] for c in restored(control).competition.summary().data()["candidates"]]
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
    assert "    9 |     return sqrt(f - 0.1)" in error
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
    assert "10 |     return helper_of_a_tune_that_fails.half(f)" in str(failed.value)
    assert "helper_of_a_tune_that_fails.py:2: return f / (f - 0.03125)" in str(failed.value)
