"""Repositories of a small engine in C: three commits, of which the last cannot be built."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from tests import requirements
from tests.program import ENGINES, book

#: A build that needs no `make`; MORE is for tests of builds that differ.
BUILD = "cc -O1 $MORE -o engine engine.c"
CONTROL = f"""
competition_type = "playoff"
game = "chess"
def commit(ref, **more):
    arguments = {{"git": "engine", "ref": ref, "build": {BUILD!r}, "program": "engine", **more}}
    return Player(nodes=1, **arguments)
players = {{"new": commit("deeper", bench="bench"), "base": commit("main")}}
openings = Openings("book.epd")
matchups = [Matchup("new", "base")]
number_of_games = 40
skip_player_checks = True
"""


def git(repository: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    environ = {name: v for name, v in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *who, *words],
        cwd=repository,
        env=environ,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def write_strength(repository: Path, strength: str) -> None:
    (repository / "strength.h").write_text(f"#define STRENGTH {strength}\n")


def commit(repository: Path, strength: str, message: str) -> str:
    """Commit an engine; return the commit."""
    write_strength(repository, strength)
    git(repository, "commit", "--quiet", "-a", "-m", message)
    return git(repository, "rev-parse", "HEAD")


def make_repository(folder: Path) -> Path:
    """Make a repository with the branches main, deeper and broken; main is checked out."""
    for program in ("git", "gcc"):
        requirements.engine(program)
    folder.mkdir()
    git(folder, "init", "--quiet", "-b", "main")
    shutil.copy(ENGINES / "small_uci.c", folder / "engine.c")
    (folder / ".gitignore").write_text("/engine\n")
    (folder / "Makefile").write_text("EXE = engine\n\n$(EXE): engine.c\n\tcc -o $@ engine.c\n")
    write_strength(folder, "450")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Base")
    git(folder, "checkout", "--quiet", "-b", "deeper")
    commit(folder, "620", "Search deeper\n\nBench: 1620")
    git(folder, "checkout", "--quiet", "-b", "broken")
    commit(folder, "", "Half an idea")
    git(folder, "checkout", "--quiet", "main")
    return folder


def write_control(folder: Path, text: str = CONTROL) -> Path:
    """Write a control file and its openings beside a repository."""
    (folder / "book.epd").write_text(book())
    control = folder / "event.ctl"
    control.write_text(text)
    return control


def content(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
