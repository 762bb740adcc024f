"""`new chess playoff --git …`: the guessed build, and wrong options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.cli import USAGE, run
from tests.repositories import git, make_repository

pytestmark = pytest.mark.slow

STOCKFISH = """
ifeq ($(target_windows),yes)
	EXE = stockfish.exe
else
	EXE = stockfish
endif
help:
	@echo "make target"
build: net
	$(MAKE) all
"""
CARGO = '[package]\nname = "viri"\n\n[[bin]]\nname = "viridithas"\n'
CMAKE = "project(lc)\nadd_executable(lc0 main.cc)\n"


@pytest.mark.parametrize(
    ("file", "text", "build", "program"),
    [
        ("src/Makefile", STOCKFISH, "cd src && make -j build", "src/stockfish"),
        ("makefile", "all:\n\tgcc *.c -o engine\n", "make -j", "engine"),
        ("Cargo.toml", CARGO, "cargo build --release", "target/release/viridithas"),
        (
            "CMakeLists.txt",
            CMAKE,
            "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j",
            "build/lc0",
        ),
    ],
)
def test_build_and_program_are_guessed_from_the_tree(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    text: str,
    build: str,
    program: str,
) -> None:
    repository = make_repository(tmp_path / "engine")
    git(repository, "rm", "--quiet", "Makefile")
    (repository / file).parent.mkdir(exist_ok=True)
    (repository / file).write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "Build files")
    monkeypatch.chdir(tmp_path)
    assert run(["new", "chess", "playoff", "-", "--git", "engine", "--base", "deeper"]) == 0
    made = capsys.readouterr().out
    assert f'build="{build}"' in made
    assert f'program="{program}"' in made
    assert f"are guessed from {file}." in made
    assert 'matchups = [Matchup("HEAD", "deeper")]' in made


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--git engine --ref depeer", "has no branch, tag or commit 'depeer' (expected 'deeper'"),
        ("--git engine --base master", "has no branch, tag or commit 'master'"),
        ("--git engine --ref=--all", "has no branch, tag or commit '--all'"),
        ("--git nowhere", "there is no folder"),
        ("--git .", "not a git repository"),
        ("--git engine --ref bare --build make", "say how it is built: --build, --program"),
        ("--git engine --from-engine x", "--git and --from-engine exclude each other"),
        ("--ref deeper", "--ref needs --git"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    message: str,
) -> None:
    repository = make_repository(tmp_path / "engine")
    git(repository, "checkout", "--quiet", "-b", "bare")
    git(repository, "rm", "--quiet", "Makefile")
    git(repository, "commit", "--quiet", "-m", "No build files")
    git(repository, "checkout", "--quiet", "main")
    monkeypatch.chdir(tmp_path)
    assert run(["new", "chess", "playoff", "-", *words.split()]) == USAGE
    assert message in capsys.readouterr().err


def test_other_types_than_a_playoff_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_repository(tmp_path / "engine")
    monkeypatch.chdir(tmp_path)
    assert run(["new", "chess", "spsa", "-", "--git", "engine"]) == USAGE
    assert "--git makes a playoff of two commits, not a spsa" in capsys.readouterr().err
