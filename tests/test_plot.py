"""The action `plot`: files, refused files and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.cli import run
from tests.recorded import CHESS, TUNE, add, open_store, recorded, ticket, won, write

Screen = pytest.CaptureFixture[str]


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A tune of 20 games, not done yet."""
    control = write(tmp_path, TUNE.replace("game =", 'description = "<b>weights</b>"\ngame =', 1))
    from ringmaster.loaded_competition import LoadedCompetition

    competition = LoadedCompetition(control).competition
    store = open_store(control)
    for i in range(20):
        job = competition.next_job()
        assert job is not None
        result = won(job.id, i % 3 % 2)
        competition.record_result(job.ticket, result)
        add(store, [(job.ticket, result)])
    store.end_run(1, 0, "")
    store.close()
    return control


def files(control: Path) -> set[str]:
    return {path.name for path in control.parent.iterdir()} - {"event.ctl", "event.status"}


@pytest.mark.slow
def test_plot_writes_the_page_beside_the_control_file(played: Path, capsys: Screen) -> None:
    assert run([str(played), "plot"]) == 0
    assert capsys.readouterr().out == f"{played.with_suffix('.html')}\n"
    text = played.with_suffix(".html").read_text(encoding="utf-8")
    assert "&lt;b&gt;weights&lt;/b&gt;" in text
    assert "iteration 10/50000" in text
    assert '"key":"trajectory"' in text
    assert files(played) == {"event.html"}
    first = text
    assert run([str(played), "plot", "-q", "-o", str(played.with_suffix(".html"))]) == 0
    assert capsys.readouterr().out == ""
    assert played.with_suffix(".html").read_text(encoding="utf-8") == first


def test_page_is_an_output_that_reset_deletes(played: Path) -> None:
    assert run([str(played), "plot", "-q"]) == 0
    assert run([str(played), "reset", "--yes"]) == 0
    assert not played.with_suffix(".html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.svg", "a.png", "a.pdf", "A.PNG", "other.html"])
def test_suffix_selects_the_picture_format(played: Path, name: str) -> None:
    assert run([str(played), "plot", "-o", str(played.parent / name)]) == 0
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}
    start = starts[name.rpartition(".")[2].lower()]
    assert (played.parent / name).read_bytes().startswith(start)
    assert files(played) == {name}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.gif", "'.gif' is no kind of picture; choose from .html, .png, .svg, .pdf"),
        ("picture", "its name has no suffix; choose from .html"),
        ("event.status", "'.status' is no kind of picture"),
        ("event.games/a.png", "belongs to the competition itself"),
    ],
)
def test_other_files_are_refused(played: Path, capsys: Screen, name: str, words: str) -> None:
    before = played.with_suffix(".status").read_bytes()
    assert run([str(played), "plot", "-o", str(played.parent / name)]) == 2
    assert words in capsys.readouterr().err
    assert played.with_suffix(".status").read_bytes() == before
    assert files(played) == set()


def test_folder_that_is_not_there_is_a_clear_error(played: Path, capsys: Screen) -> None:
    assert run([str(played), "plot", "-o", str(played.parent / "none" / "a.png")]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_before_the_first_game_there_is_a_page_and_no_picture(
    tmp_path: Path, capsys: Screen
) -> None:
    control = write(tmp_path, CHESS)
    assert run([str(control), "plot", "-o", str(tmp_path / "a.png")]) == 1
    assert "there is nothing to draw of event yet" in capsys.readouterr().err
    assert files(control) == set()
    assert run([str(control), "plot"]) == 0
    assert "a v b (0/10 games)" in control.with_suffix(".html").read_text(encoding="utf-8")


def test_tournament_has_its_matchups_drawn(tmp_path: Path) -> None:
    control = write(tmp_path, CHESS)
    recorded(
        control, [(ticket(number=i, pair=i // 2), won(f"0_{i}", i % 3 % 2)) for i in range(10)]
    )
    assert run([str(control), "plot", "-q"]) == 0
    text = control.with_suffix(".html").read_text(encoding="utf-8")
    assert "Elo of the first player over the second" in text


@pytest.mark.slow
def test_control_file_that_does_not_go_with_the_results_is_refused(
    played: Path, capsys: Screen
) -> None:
    played.write_text(played.read_text().replace('"chess"', '"shogi"'))
    assert run([str(played), "plot"]) == 1
    assert "game" in capsys.readouterr().err
    assert files(played) == set()
