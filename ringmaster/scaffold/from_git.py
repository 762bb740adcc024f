"""A match of two commits of an engine: `new --git`.  The repository's build files say how an
engine is built, as far as they can be read without running them."""

from __future__ import annotations

import argparse
import os
import re
import tomllib
from contextlib import suppress
from typing import NamedTuple

from ringmaster.errors import SettingError, UsageError
from ringmaster.model.players import GameName
from ringmaster.scaffold.control_file import Places, identifier
from ringmaster.scaffold.engines import Engine, usual_levels
from ringmaster.sources.building import promised_nodes
from ringmaster.sources.repository import Repository


class _Recipe(NamedTuple):
    """The build line and the program of an engine, and the file that they are guessed from."""

    build: str
    program: str
    file: str


def two_commits(
    game: GameName, places: Places, arguments: argparse.Namespace
) -> tuple[tuple[Engine, ...], str]:
    """Return the engines of two commits, the tested one first, and the comment before them.

    Raises UsageError for a repository or a ref that is none, or without a way to build it.
    """
    name, is_url = arguments.git, re.match(r"\w+://|[\w.-]+@[\w.-]+:", arguments.git)
    try:
        repository = Repository(name if is_url else os.path.abspath(os.path.expanduser(name)))
        repository.fetch()
        refs = arguments.ref or "HEAD", arguments.base or "main"
        commits = [repository.resolve(ref) for ref in refs]
        recipe = _guess(repository, commits[0].hash)
    except SettingError as error:
        remedy = f" (expected {error.expected})" if error.expected else ""
        raise UsageError(f"--git: {error.message}{remedy}") from None
    build, program = arguments.build, arguments.program
    if build is None or program is None:
        if recipe is None:
            missing = "--build" if build is None else "--program"
            raise UsageError(
                f"--git: {name} has no Makefile, Cargo.toml or CMakeLists.txt that says how it is "
                f"built; add {missing}"
            )
        build, program = build or recipe.build, program or recipe.program
    source = {"git": name if is_url else places.file(name), "build": build, "program": program}
    if any(promised_nodes(commit.message) for commit in commits):
        source["bench"] = "bench"
    used: list[str] = []
    engines = []
    for ref in refs:
        used.append(identifier(ref, used))
        own = {"git": source["git"], "ref": ref, **source}
        engines.append(Engine(used[-1], (), levels=usual_levels(game), source=own))
    about = "Both are built once, in a copy; `run --update-refs` takes newer commits."
    guesses = [n for n in ("build", "program") if getattr(arguments, n) is None]
    if recipe and guesses:
        about += f"\nGuessed from {recipe.file}: {' and '.join(guesses)}."
    return tuple(engines), about


def _guess(repository: Repository, commit: str) -> _Recipe | None:
    """Return how a commit is built, None if no known file says it."""
    files = repository.files(commit)
    own = re.sub(r"\.git$", "", os.path.basename(repository.name.rstrip("/")))
    for folder in ("", "src/"):
        for file in (f"{folder}{n}" for n in ("GNUmakefile", "makefile", "Makefile")):
            if file not in files:
                continue
            text = repository.read(commit, file)
            # Stockfish's first target prints a help
            make = "make -j build" if re.search(r"^build *:", text, re.MULTILINE) else "make -j"
            build = f"cd {folder.rstrip('/')} && {make}" if folder else make
            pattern = r"^\s*(?:EXE|TARGET|PROGRAM|BIN|NAME)\s*[:?]?=\s*([\w./+-]+)\s*$"
            names = re.findall(pattern, text, re.MULTILINE)
            program = next((each for each in names if not each.endswith(".exe")), own)
            return _Recipe(build, os.path.normpath(f"{folder}{program}"), file)
    if "Cargo.toml" in files:
        with suppress(tomllib.TOMLDecodeError, LookupError, TypeError):
            manifest = tomllib.loads(repository.read(commit, "Cargo.toml"))
            name = manifest.get("bin", [manifest["package"]])[0]["name"]
            return _Recipe("cargo build --release", f"target/release/{name}", "Cargo.toml")
    if "CMakeLists.txt" in files:
        text = repository.read(commit, "CMakeLists.txt")
        target = re.search(r"\badd_executable\s*\(\s*([\w.+-]+)", text)
        build = "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j"
        return _Recipe(build, f"build/{target[1] if target else own}", "CMakeLists.txt")
    return None
