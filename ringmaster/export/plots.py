"""The pictures of a competition as a file: the page beside its control file, or a
picture by the suffix of a name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ringmaster.errors import RingmasterError, UsageError
from ringmaster.event import Event
from ringmaster.export.output import to_file
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import GameResult
from ringmaster.reporting.plots import NOT_INSTALLED
from ringmaster.reporting.plots_page import render_page
from ringmaster.reporting.plots_sheet import FORMATS as PICTURES
from ringmaster.reporting.plots_sheet import write_sheets
from ringmaster.storage.store import Store

#: By the suffix of the file.
FORMATS = ("html", *PICTURES)


def check_plot(event: Event, output: Path | None) -> Path:
    """Return the file to write; by default the page of the competition.

    Raises UsageError for a file that cannot be had, ForeignFiles where another program
    wrote the page, RingmasterError without matplotlib.
    """
    page = event.paths.page
    target = page if output is None else output
    suffix = target.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        found = f"{target.suffix!r} is no kind of picture" if suffix else "its name has no suffix"
        raise UsageError(f"{target}: {found}; choose from {', '.join(f'.{f}' for f in FORMATS)}")
    if target.resolve() != page.resolve() and event.paths.owns(target):
        raise UsageError(f"{target} belongs to the competition itself; give another --output")
    if output is None:
        event.paths.check([page])
    if find_spec("matplotlib") is None:
        raise RingmasterError(NOT_INSTALLED)
    return target


def write_plots(event: Event, store: Store | None, target: Path) -> list[str]:
    """Write a picture of a restored event; returns what is to be said of it, a line
    each.

    store  what the event was restored from, None when nothing has been played

    Raises RingmasterError when there is nothing to draw or no matplotlib,
    StoreUnwritable.
    """
    groups = event.competition.charts(_history(store))
    title = f"{event.competition.type_name}: {event.code}"
    suffix = target.suffix.lower().removeprefix(".")
    if suffix == "html":
        description = event.loaded.values["description"] or ""
        page, said = render_page(
            event.competition.report(), groups, title=title, description=description
        )
        with to_file(target) as stream:
            stream.write(page.encode("utf-8", "replace"))
        return said
    if not groups:
        raise RingmasterError(
            f"there is nothing to draw of {event.code} "
            + ("yet" if store is None else f"({event.competition.type_name})")
        )
    with to_file(target) as stream:
        return write_sheets(groups, title, suffix, stream)


def _history(store: Store | None) -> Iterator[tuple[Ticket, GameResult]]:
    for recorded in () if store is None else store.games():
        yield recorded.ticket, recorded.result
