"""Load the competition of a command line, with its recorded results."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager

from ringmaster.commands.console import note
from ringmaster.control.changes import MOST, Comparison
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.reporting.text import sanitise
from ringmaster.storage.store import Store


def load(arguments: argparse.Namespace) -> LoadedCompetition:
    """Load the control file.  Raises ControlFileError."""
    return LoadedCompetition(arguments.control_file, safe=arguments.safe)


def built(arguments: argparse.Namespace) -> LoadedCompetition:
    """Load the control file, and build its engines from git.  Raises ControlFileError."""
    loaded = load(arguments)

    def say(line: str) -> None:
        if not arguments.quiet or line.startswith("warning: "):
            note(line)

    loaded.build_engines(say, update=getattr(arguments, "update_refs", False))
    return loaded


def print_programs(loaded: LoadedCompetition) -> None:
    """Print the programs that a control file in safe mode will start to standard error."""
    programs: dict[str, None] = {}
    for job in loaded.setup().checks:
        player = job.player
        words = [*(f"{name}={value}" for name, value in player.environ.items()), *player.command]
        folder = f" in {player.cwd}" if player.cwd else ""
        programs[sanitise(shlex.join(words) + folder)] = None
    for program in programs:
        note(f"--safe: the control file starts {program}")


@contextmanager
def compared(
    arguments: argparse.Namespace, loaded: LoadedCompetition | None = None
) -> Iterator[tuple[LoadedCompetition, Store | None, Comparison]]:
    """Load a competition, unless it is loaded, and compare its control file with the last run's.

    The store is open for reading, or None before the first run.
    """
    loaded = loaded or load(arguments)
    if not loaded.paths.has_results:
        yield loaded, None, loaded.compare(None)
        return
    with closing(Store.open_readonly(loaded.paths.status)) as store:
        yield loaded, store, loaded.compare(store)


@contextmanager
def restored(arguments: argparse.Namespace) -> Iterator[tuple[LoadedCompetition, Store | None]]:
    """Load a competition with its recorded results; as `LoadedCompetition.restored`."""
    loaded = load(arguments)
    with loaded.restored() as store:
        yield loaded, store


def print_changes(comparison: Comparison) -> None:
    """Print the changes since the last run to standard error."""
    for text in comparison.texts(MOST):
        note(f"changed since the last run: {text}")
    for change in comparison.rebuilt:
        if not change.allowed:
            note(f"warning: {change}; a run is refused until you {' '.join(change.details[1:])}")
