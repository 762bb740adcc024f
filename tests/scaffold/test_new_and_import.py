"""`ringmaster new` and `ringmaster import` as commands: files, messages, statuses."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringmaster.cli import USAGE, run
from ringmaster.scaffold.importers import unquoted

MATCH = "fastchess -engine cmd=/e/a name=a -engine cmd=/e/b name=b -each tc=10+0.1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_writes_a_file_and_names_the_next_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "go", "playoff", "my.ctl"]) == 0
    assert 'game = "go"' in (folder / "my.ctl").read_text()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "ringmaster: wrote my.ctl; read it, then: ringmaster my.ctl check\n"


def test_new_texel_names_the_commands_that_make_its_positions(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "shogi", "texel", "t.ctl"]) == 0
    text = (folder / "t.ctl").read_text()
    assert "#   ringmaster new shogi playoff match.ctl\n" in text
    assert "#   ringmaster match.ctl positions -o positions.plain\n" in text
    assert 'positions = Positions("positions.plain")' in text
    assert "read it and make positions.plain as it says, then: " in capsys.readouterr().err
    (folder / "positions.plain").write_text("")
    assert run(["new", "shogi", "texel"]) == 0
    assert "wrote texel_shogi.ctl; read it, then: " in capsys.readouterr().err


def test_new_writes_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "go", "playoff", "-"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("\n")
    assert 'competition_type = "playoff"' in out
    assert err == ""
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [["new", "go", "playoff"], ["import", MATCH, "-o"]])
def test_file_that_is_there_is_not_overwritten(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my.ctl").write_text("mine")
    assert run([*words, "my.ctl"]) == USAGE
    assert (folder / "my.ctl").read_text() == "mine"
    assert "my.ctl exists; nothing was written" in capsys.readouterr().err
    os.symlink("elsewhere", folder / "link.ctl")
    assert run([*words, "link.ctl"]) == USAGE
    assert not (folder / "elsewhere").exists()


@pytest.mark.parametrize("name", ["my.status", ".ctl", "a/b/", "x\0y", "no/such/folder.ctl"])
def test_name_that_cannot_be_a_control_file_is_refused(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "go", "playoff", name]) in (1, USAGE)
    assert list(folder.iterdir()) == []
    err = capsys.readouterr().err
    assert err.startswith("ringmaster: ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "words",
    [
        ["new", "go"],
        ["new", "go", "playoff", "a.ctl", "b.ctl"],
        ["new", "go", "--force"],
        ["new", "draughts", "playoff"],
        ["new", "go", "knockout"],
        ["import", "-o", "x.ctl"],
        ["import", "-x", "y"],
        ["import", "missing.json"],
        ["import", "c-chess-cli -each tc=1"],
        ["import", "a", "b"],
    ],
)
def test_wrong_arguments_exit_with_2(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == USAGE
    assert capsys.readouterr().err.startswith("ringmaster: ")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        [MATCH],
        MATCH.split(),
        ["--", *MATCH.split()],
        [MATCH.replace(" -each", " \\\n  -each")],
    ],
)
def test_command_line_is_imported_quoted_or_as_words(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", *words]) == 0
    out, err = capsys.readouterr()
    assert 'time_control = "10+0.1"\n' in out
    assert '"a": Player("/e/a"),' in out
    assert "ringmaster: different here: fastchess ends the match" in err


def test_script_and_prefix_are_refused_with_what_to_write(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "match.sh").write_text(f"#!/bin/sh\n{MATCH}\n")
    assert run(["import", "match.sh"]) == USAGE
    assert "match.sh is a script; give its command line instead" in capsys.readouterr().err
    assert run(["import", "nice", *MATCH.split()]) == USAGE
    assert "'nice' and the command line of fastchess cannot be combined" in capsys.readouterr().err


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)))
@example(["\\\n", "' \\\n'", '"'])
def test_quoted_words_are_read_as_they_were(words: list[str]) -> None:
    quoted = f"{MATCH} {shlex.join(words)}"
    assert unquoted([quoted]) == [*MATCH.split(), *words]


@pytest.mark.parametrize("before", [True, False])
def test_file_is_imported_into_a_file(before: bool, folder: Path) -> None:
    (folder / "tune.csv").write_text("Aggressiveness,30,0,200,10,0.0020,0\n")
    option = ["-o", "my.ctl"]
    words = [*option, "tune.csv"] if before else ["tune.csv", *option]
    assert run(["import", *words]) == 0
    assert 'competition_type = "spsa"' in (folder / "my.ctl").read_text()


@pytest.mark.parametrize(
    ("program", "rest"),
    [
        ("./fastchess", MATCH.partition(" ")[2]),
        ("bin/twogtp", "-black 'gnugo --mode gtp' -white 'gnugo --mode gtp' -size 9"),
    ],
)
def test_command_line_of_a_program_that_is_there_is_imported(
    program: str, rest: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bin").mkdir()
    (folder / program).write_text("")
    assert run(["import", program, *shlex.split(rest)]) == 0
    assert 'competition_type = "playoff"' in capsys.readouterr().out


@given(st.lists(st.text(max_size=20), max_size=5))
def test_no_arguments_end_in_a_traceback(words: list[str]) -> None:
    for verb in ("new", "import"):
        # "-": nothing that could be written
        verb_words = [*words[:2], "-"] if verb == "new" else words
        assert run([verb, *verb_words]) in (0, 1, USAGE)
