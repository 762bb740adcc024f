"""Reads of a status file while a run begins, records and ends."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ringmaster
from ringmaster.cli import run
from ringmaster.control.changes import Comparison
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.results import GameResult
from ringmaster.storage.entries import IssuedJob
from ringmaster.storage.store import Store
from tests.recorded import TUNE, add, open_store, recorded, ticket, won, write

GAMES = 3


@pytest.fixture
def control(tmp_path: Path) -> Path:
    return recorded(write(tmp_path), games(0))


def games(first: int) -> list[tuple[dict[str, Any], GameResult]]:
    numbers = range(first, first + GAMES)
    return [(ticket("0", n, pair=n), won(f"0_{n}")) for n in numbers]


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch, control: Path) -> Callable[[], int]:
    """Each of the first two times that an event is restored, a run has begun since the
    file was opened, and ends; returns how often it has been restored."""
    restore = LoadedCompetition.restore
    calls: list[LoadedCompetition] = []

    def disturb(loaded: LoadedCompetition, store: Store, comparison: Comparison) -> list[IssuedJob]:
        calls.append(loaded)
        if len(calls) <= 2:
            a_run(control, GAMES * len(calls))
        return restore(loaded, store, comparison)

    monkeypatch.setattr(LoadedCompetition, "restore", disturb)
    return lambda: len(calls)


def a_run(control: Path, first: int) -> None:
    store = open_store(control)
    add(store, games(first))
    store.close()


def test_show_prints_the_newest_state(
    control: Path, disturbed: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(control), "show"]) == 0
    printed = capsys.readouterr()
    assert disturbed() == 3
    assert run([str(control), "show"]) == 0
    assert capsys.readouterr() == printed


@pytest.mark.parametrize("words", ["show --json", "show --format fastchess", "report", "diff"])
def test_other_actions_succeed(
    control: Path,
    disturbed: Callable[[], int],
    capsys: pytest.CaptureFixture[str],
    words: str,
) -> None:
    assert run([str(control), *words.split()]) == 0
    assert disturbed() == 3
    if "--json" in words:
        printed = json.loads(capsys.readouterr().out)
        assert printed["games"]["completed"] == 3 * GAMES


def test_export_has_every_game_of_the_newest(
    control: Path, disturbed: Callable[[], int], tmp_path: Path
) -> None:
    target = tmp_path / "games.csv"
    assert run([str(control), "export", "-o", str(target)]) == 0
    assert len(list(csv.DictReader(io.StringIO(target.read_text())))) == 3 * GAMES
    assert disturbed() == 3


def test_load_reads_again(control: Path, disturbed: Callable[[], int]) -> None:
    assert ringmaster.load(control).completed == 3 * GAMES
    assert disturbed() == 3


def test_games_are_read_on_while_a_run_ends(control: Path) -> None:
    results = ringmaster.load(control)
    reading = results.iter_games()
    ids = [next(reading).id]
    a_run(control, GAMES)
    ids += [game.id for game in reading]
    assert ids == [f"0_{n}" for n in range(GAMES)]


@pytest.mark.slow
@pytest.mark.parametrize("action", ["plan", "simulate"])
def test_forecasts_read_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    action: str,
) -> None:
    control = recorded(write(tmp_path, TUNE), [({"k": 1, "g": 0}, won("1_0"))])
    counts, calls = Store.counts, 0

    def disturb(store: Store) -> tuple[int, int]:
        nonlocal calls
        calls += 1
        if calls == 1:
            writer = open_store(control)
            add(writer, [({"k": 1, "g": 1}, won("1_1"))])
            writer.close()
        return counts(store)

    monkeypatch.setattr(Store, "counts", disturb)
    words = ["--replicates", "2"] if action == "simulate" else []
    assert run([str(control), action, *words]) == 0
    assert "2 games" in capsys.readouterr().out


@pytest.mark.slow
def test_file_that_changes_all_the_time_is_given_up(
    control: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    restore = LoadedCompetition.restore
    calls = 0

    def disturb(loaded: LoadedCompetition, store: Store, comparison: Comparison) -> list[IssuedJob]:
        nonlocal calls
        calls += 1
        a_run(control, GAMES * calls)
        return restore(loaded, store, comparison)

    monkeypatch.setattr(LoadedCompetition, "restore", disturb)
    assert run([str(control), "show"]) == 1
    assert "it is changing all the time; try again" in capsys.readouterr().err
    assert calls == 10
