"""The action `plot`: write the page of a competition, or a picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from ringmaster.commands.console import DONE, complain, say
from ringmaster.commands.loading import restored
from ringmaster.errors import RingmasterError, UsageError
from ringmaster.export.output import open_output
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.page_data import write_page
from ringmaster.reporting.plots import FORMATS as PICTURES
from ringmaster.reporting.plots import write_sheets
from ringmaster.storage.store import Store

#: Suffixes of the output file.
_FORMATS = ("html", *PICTURES)


def plot(arguments: argparse.Namespace) -> int:
    """Draw the results."""
    warnings: list[str] = []
    with restored(arguments) as (loaded, store):
        target = _target(loaded, Path(arguments.output) if arguments.output else None)
        if _suffix(target) == "html":
            write_page(loaded, store, target)
        else:
            warnings = _write(loaded, store, target)
    for line in warnings:
        complain(line)
    if not arguments.quiet:
        say(f"{target}\n")
    return DONE


def _suffix(target: Path) -> str:
    return target.suffix.lower().removeprefix(".")


def _target(loaded: LoadedCompetition, output: Path | None) -> Path:
    """Return the file to write, by default the competition's page.

    Raises UsageError for an impossible file, ForeignFiles for a page of another program.
    """
    page = loaded.paths.page
    target = page if output is None else output
    suffix = _suffix(target)
    if suffix not in _FORMATS:
        problem = f"{target.suffix!r} is no kind of picture" if suffix else "its name has no suffix"
        choices = ", ".join(f".{format}" for format in _FORMATS)
        raise UsageError(f"{target}: {problem}; choose from {choices}")
    if target.resolve() != page.resolve() and loaded.paths.owns(target):
        raise UsageError(f"{target} belongs to the competition itself; give another --output")
    if output is None:
        loaded.paths.check([page])
    return target


def _write(loaded: LoadedCompetition, store: Store | None, target: Path) -> list[str]:
    """Write the picture of a restored competition; return warnings.

    Raises RingmasterError for an empty picture, StoreUnwritable.
    """
    groups = loaded.charts(store)
    if not groups:
        raise RingmasterError(
            f"there is nothing to draw of {loaded.code} "
            + ("yet" if store is None else f"({loaded.competition.type_name})")
        )
    with open_output(target) as stream:
        title = f"{loaded.competition.type_name}: {loaded.code}"
        return write_sheets(groups, title, _suffix(target), stream)
