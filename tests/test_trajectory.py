"""`export --trajectory` and `Results.trajectory`: the course of the tuned values."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ringmaster
from ringmaster.cli import USAGE, run
from ringmaster.tuners.spsa import course as thinning
from tests.program import PLAYOFF, SPSA, TEXEL, write_control_file

TUNE = SPSA.replace("verify = Verify(games=20)\n", "")
Captured = pytest.CaptureFixture[str]


def played(control: Path, *options: str) -> Path:
    assert run([str(control), "run", "--quiet", *options]) == 0
    return control


def rows_of(control: Path, capsys: Captured, *options: str) -> list[dict[str, str]]:
    """Return the trajectory as CSV has it."""
    capsys.readouterr()
    assert run([str(control), "export", "--trajectory", *options]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""), strict=True))


def in_history(control: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the iterations of the history file, with θ in six digits."""
    lines = control.with_suffix(".hist").read_text().splitlines()
    matches = [re.fullmatch(r"iteration (\d+): W-L [^;]+; (.*)", line) for line in lines]
    return [
        (int(match[1]), dict(part.rsplit(" ", 1) for part in match[2].split(", ")))  # type: ignore[misc]
        for match in matches
        if match
    ]


def shown(control: Path, capsys: Captured) -> Any:
    capsys.readouterr()
    assert run([str(control), "show", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["parameters"]


@pytest.mark.slow
def test_every_iteration_has_a_row_with_theta_after_it(tmp_path: Path, capsys: Captured) -> None:
    control = played(write_control_file(tmp_path, SPSA, 40), "-j", "2")
    rows = rows_of(control, capsys)
    # the columns of the SPSA Tuner's log
    assert list(rows[0]) == ["iteration", "Strength", "Width"]
    reported = [
        (int(row.pop("iteration")), {code: f"{float(value):.6g}" for code, value in row.items()})
        for row in rows
    ]
    assert reported == in_history(control)
    assert len(reported) == 20
    last = {row["code"]: row["value"] for row in shown(control, capsys)}
    assert {code: float(value) for code, value in rows[-1].items()} == last


@pytest.mark.process
def test_all_formats_and_python_have_the_same_rows(tmp_path: Path, capsys: Captured) -> None:
    control = played(write_control_file(tmp_path, TUNE, 20))
    rows = [{name: float(value) for name, value in row.items()} for row in rows_of(control, capsys)]
    assert ringmaster.load(control).trajectory == rows
    assert run([str(control), "export", "--trajectory", "--format", "jsonl"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows


def test_tune_without_a_game_has_the_columns_and_no_row(tmp_path: Path, capsys: Captured) -> None:
    control = write_control_file(tmp_path, TUNE, 20)
    assert run([str(control), "export", "--trajectory"]) == 0
    assert capsys.readouterr().out == "iteration,Strength,Width\r\n"
    assert ringmaster.load(control).trajectory == []


@pytest.mark.process
def test_no_iteration_of_a_long_tune_is_left_out(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thinning, "MOST_POINTS", 8)
    monkeypatch.setattr(thinning, "FEWEST_POINTS", 8)
    control = played(write_control_file(tmp_path, TUNE, 60))
    assert [int(row["iteration"]) for row in rows_of(control, capsys)] == list(range(1, 31))


@pytest.mark.slow
def test_parameter_that_came_later_has_no_value_before(tmp_path: Path, capsys: Captured) -> None:
    control = played(write_control_file(tmp_path, TUNE, 40), "-g", "20")
    text = control.read_text()
    more = '    Parameter("Depth", start=3, min=1, max=9, option="Width", integer=True),\n'
    without_width = re.sub(r'    Parameter\("Width".*\n', more, text)
    control.write_text(without_width)
    played(control, "-g", "10")
    rows = rows_of(control, capsys)
    assert list(rows[0]) == ["iteration", "Strength", "Depth", "Width"]
    assert [row["Depth"] == "" for row in rows] == [True] * 10 + [False] * 5
    assert [row["Width"] == "" for row in rows] == [False] * 10 + [True] * 5
    assert [
        {code: f"{float(value):.6g}" for code, value in row.items() if value and code in codes}
        for row in rows
        if (codes := ("Strength", "Depth", "Width"))
    ] == [theta for _, theta in in_history(control)]
    assert ringmaster.load(control).trajectory[0]["Depth"] is None


@pytest.mark.process
def test_edit_that_no_run_has_adopted_changes_no_row(tmp_path: Path, capsys: Captured) -> None:
    control = played(write_control_file(tmp_path, TUNE, 40), "-g", "20")
    before = rows_of(control, capsys)
    control.write_text(control.read_text().replace("max=1000", "max=2000"))
    assert rows_of(control, capsys) == before


@pytest.mark.process
def test_parameter_called_iteration_has_a_column_of_its_own(
    tmp_path: Path, capsys: Captured
) -> None:
    control = played(
        write_control_file(tmp_path, TUNE.replace('"Width",', '"iteration", option="Width",'), 4)
    )
    assert list(rows_of(control, capsys)[0]) == ["iteration", "Strength", "θ iteration"]


@pytest.mark.slow
def test_texel_event_has_the_values_by_passes(tmp_path: Path, capsys: Captured) -> None:
    control = played(write_control_file(tmp_path, TEXEL, 12))
    rows = rows_of(control, capsys)
    assert list(rows[0])[:2] == ["passes", "Knight"]
    assert len(rows) > 1
    assert float(rows[0]["Knight"]) == 200
    passes = [float(row["passes"]) for row in rows]
    assert passes == sorted(passes)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (PLAYOFF, [], "has no iterations: its competition_type is 'playoff'"),
        (TUNE, ["--format", "pgn"], "pgn is not; choose from csv, jsonl"),
        (TUNE, ["--void"], "--void is for games; use it without --trajectory"),
    ],
)
def test_trajectory_is_refused_without_iterations(
    source: str, options: list[str], message: str, tmp_path: Path, capsys: Captured
) -> None:
    control = write_control_file(tmp_path, source, 40)
    assert run([str(control), "export", "--trajectory", *options]) == USAGE
    assert message in capsys.readouterr().err
    assert ringmaster.load(control).trajectory == []
