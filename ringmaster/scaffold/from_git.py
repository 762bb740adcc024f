"""A match of two commits of an engine: `new --git`.  Build files say how an engine is built, as far
as they can be read without running them."""

from __future__ import annotations

import argparse
import os
import re

from ringmaster.competitions.common_settings import REPOSITORY_URL
from ringmaster.errors import SettingError, UsageError
from ringmaster.model.players import GameName
from ringmaster.scaffold.control_file import Places, identifier
from ringmaster.scaffold.engines import Engine, usual_levels
from ringmaster.sources.building import promised_nodes
from ringmaster.sources.repository import Repository

#: A program's name in a Makefile; one for Windows has a dot.
_EXE = r"^\s*(?:EXE|TARGET|PROGRAM|BIN|NAME)\s*[:?]?=\s*([\w-]+)\s*$"
_CMAKE = "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j"
#: Build files: the pattern of their paths, the build line, the program's folder, and the pattern of
#: its name.
_RECIPES = (
    ("(GNUm|M|m)akefile", "make -j", "", _EXE),
    ("src/(GNUm|M|m)akefile", "cd src && make -j", "src/", _EXE),
    (
        r"Cargo\.toml",
        "cargo build --release",
        "target/release/",
        r"""\[\[?(?:package|bin)\]?\]\s+name\s*=\s*["']([\w-]+)""",
    ),
    (r"CMakeLists\.txt", _CMAKE, "build/", r"\badd_executable\s*\(\s*([\w-]+)"),
)


def two_commits(
    game: GameName, places: Places, arguments: argparse.Namespace
) -> tuple[tuple[Engine, ...], str]:
    """Return the engines of two commits, the tested one first, and the comment before them.

    Raises UsageError for a repository or a ref that is none, or without a way to build it.
    """
    name, is_url = arguments.git, REPOSITORY_URL.match(arguments.git)
    build, program = arguments.build, arguments.program
    refs = arguments.ref or "HEAD", arguments.base or "main"
    about = "Both are built once, in a copy; `run --update-refs` takes newer commits."
    try:
        repository = Repository(name if is_url else os.path.abspath(name))
        commits = [repository.resolve(ref)[0] for ref in refs]
        if build is None or program is None:
            file, guessed_build, guessed_program = _guess(repository, commits[0])
            build, program = build or guessed_build, program or guessed_program
            about += f"\nbuild and program, unless you gave them, are guessed from {file}."
        messages = [repository.show(commit, "%B") for commit in commits]
    except SettingError as error:
        remedy = f" (expected {error.expected})" if error.expected else ""
        raise UsageError(f"--git: {error.message}{remedy}") from None
    source = {"build": build, "program": program}
    if any(map(promised_nodes, messages)):
        source["bench"] = "bench"
    place = name if is_url else places.file(name)
    engines: list[Engine] = []
    for ref in refs:
        code = identifier(ref, [engine.code for engine in engines])
        arguments_of_player = {"git": place, "ref": ref, **source}
        engines.append(Engine(code, (), levels=usual_levels(game), source=arguments_of_player))
    return tuple(engines), about


def _guess(repository: Repository, commit: str) -> tuple[str, str, str]:
    """Return a build file of a commit, and the build line and program that it suggests.

    Raises UsageError if there is none.
    """
    files = repository.files(commit)
    own = os.path.basename(repository.name.rstrip("/")).removesuffix(".git")
    for path, build, folder, pattern in _RECIPES:
        file = next((file for file in files if re.fullmatch(path, file)), None)
        if file is not None:
            text = repository.show(f"{commit}:{file}", "")
            names = re.findall(pattern, text, re.MULTILINE) or [own]
            # Stockfish's first target prints a help
            if pattern == _EXE and re.search("^build *:", text, re.MULTILINE):
                build += " build"
            # a program of a package has its own name
            return file, build, folder + names[-1 if path.startswith("Cargo") else 0]
    raise UsageError(
        f"--git: {repository.name} has no Makefile, Cargo.toml or CMakeLists.txt; say how it is "
        "built: --build, --program"
    )
