"""The event of a command line, what was changed in it, and what has been recorded of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ringmaster.control.changes import MOST, Comparison
from ringmaster.event import Event
from ringmaster.storage.lock import is_locked
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Store


def load(arguments: argparse.Namespace) -> Event:
    return Event(arguments.control_file)


@contextmanager
def compared(arguments: argparse.Namespace) -> Iterator[tuple[Event, Store | None, Comparison]]:
    """Load an event, open its store for reading if there is one, and compare
    the control file with the one of the last run."""
    event = load(arguments)
    if not event.paths.status.exists():
        yield event, None, event.compare(None)
        return
    store = SqliteStore.open_readonly(event.paths.status)
    try:
        yield event, store, event.compare(store)
    finally:
        store.close()


@contextmanager
def accepted(arguments: argparse.Namespace) -> Iterator[tuple[Event, Store | None]]:
    """Do the same where no changes are told of.  Raises ControlFileError for changes that
    are refused."""
    with compared(arguments) as (event, store, comparison):
        failure = event.changes_failure(comparison)
        if failure is not None:
            raise failure
        yield event, store


def tell_changes(comparison: Comparison) -> None:
    for text in comparison.texts(MOST):
        print(f"changed since the last run: {text}", file=sys.stderr)


def restored(event: Event, store: Store | None) -> int:
    """Give an event its results so far; returns how many games are in progress."""
    if store is None:
        return 0
    outstanding = event.restore(store)
    # games that were given out are in progress only while a run is alive
    return len(outstanding) if is_locked(event.paths.log) else 0
