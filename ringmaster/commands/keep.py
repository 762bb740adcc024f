"""The verbs that keep the status file safe: `backup`, `restore` and `fsck`."""

from __future__ import annotations

import argparse
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path

from ringmaster.commands.console import DONE, REPORTED, say
from ringmaster.commands.loading import load
from ringmaster.errors import (
    RingmasterError,
    StoreCorrupt,
    StoreError,
    StoreUnpaired,
    StoreUnsupported,
    counted,
)
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.output_files import replacing
from ringmaster.results.games import RECORD_SUFFIXES
from ringmaster.storage import copies
from ringmaster.storage.connect import connect_readonly, translated
from ringmaster.storage.journal import one_line
from ringmaster.storage.lock import competition_lock
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.repair import Salvage, salvage
from ringmaster.storage.store import Store

#: Errors of results that were played with other settings.
_UNREADABLE = (RingmasterError, LookupError, TypeError, ValueError)


def backup(arguments: argparse.Namespace) -> int:
    """Copy the status file, also during a run."""
    status = OutputPaths(arguments.control_file).status
    target = arguments.file and Path(arguments.file)
    if target is not None and target.exists():
        raise RingmasterError(f"{target} exists already, and was not written over")
    with closing(connect_readonly(status, lasting=True).connection) as connection:
        copies.check_copy(status, connection)
        target = target or copies.new_name(copies.folder_of(status), copies.stamp())
        copies.write_copy(connection, target)
    say(f"{contents_of(target)}: {target}\n")
    return DONE


def restore(arguments: argparse.Namespace) -> int:
    """Put a copy in the place of the status file, which is kept."""
    paths = OutputPaths(arguments.control_file)
    if arguments.file is None:
        found = sorted(
            copies.folder_of(paths.status).glob("*.status"),
            key=lambda copy: copy.stat().st_mtime_ns,
        )
        listed = [f"  {contents_of(path):>22}  {path}\n" for path in found]
        say("".join(listed) or f"there are no copies in {copies.folder_of(paths.status)}\n")
        return DONE
    source = Path(arguments.file)
    with (
        competition_lock(paths.locked),
        closing(connect_readonly(source, lasting=True).connection) as connection,
    ):
        copies.check_copy(source, connection)
        former = copies.put_in_place(connection, paths.status, "before-restore")
    say(f"restored: {contents_of(paths.status)}\n")
    if former is not None:
        say(
            f"the former status file is {former}\n"
            "game records and history keep the games that were played since\n"
        )
    return DONE


def contents_of(path: Path) -> str:
    """Return the number of results in a status file or a copy."""
    try:
        with closing(Store.open_readonly(path)) as store:
            return counted(sum(store.counts()), "recorded result")
    except StoreError:
        return "damaged, or of another version"


def fsck(arguments: argparse.Namespace) -> int:
    """Verify the status file, and repair it if it is damaged; return 1 if results are lost."""
    paths = OutputPaths(arguments.control_file)
    status = paths.status
    if not paths.has_results:
        raise StoreError(f"there is no status file {status}")
    with competition_lock(paths.locked):
        store, found = _opened(status)
        with closing(store):
            loaded = load(arguments)
            if found is not None and not found.state:
                _rebuild(loaded, store)
            with translated(paths.hist):
                _check_history(loaded, store)
            _check_records(loaded, store)
    found = found or Salvage()
    gone = found.lost - found.in_state - found.again
    lost = [counted(gone, "result")] if gone > 0 else []
    lost += ["scores of positions"] if "scores" in found.tables else []
    if lost:
        say(f"a tune cannot go on without {' and '.join(lost)}: `restore` lists copies\n")
    return REPORTED if lost else DONE


def _opened(status: Path) -> tuple[Store, Salvage | None]:
    """Open a status file, repaired if it is damaged; return also what the repair found.

    Raises StoreError.
    """
    try:
        store = Store.open(status)
    except (StoreUnpaired, StoreUnsupported):
        raise
    except StoreError as error:
        fault = str(error).partition(".  To repair it")[0]
        say(f"{status.name}: {fault}\n")
        found = _repair(status)
        return Store.open(status), found
    say(f"{status.name}: {counted(sum(store.counts()), 'recorded result')}, sound\n")
    return store, None


def _repair(status: Path) -> Salvage:
    """Replace a damaged status file by its whole rows.  Raises StoreError."""
    with closing(sqlite3.connect("", isolation_level=None)) as new:
        try:
            with translated(status, "read"):
                found = salvage(status, new)
        except StoreCorrupt as error:
            raise StoreError(
                f"nothing can be read of {status}: put a copy back with "
                f"`ringmaster {status.stem}.ctl restore`, which lists them"
            ) from error
        former = copies.put_in_place(new, status, "damaged")
    say(f"repaired: {counted(found.results, 'result')} are whole; {former} is the damaged file\n")
    if found.lost:
        fates = {"in the stored state": found.in_state, "to be played again": found.again}
        told = ", ".join(f"{fate}: {number}" for fate, number in fates.items() if number)
        say(f"lost: {counted(found.lost, 'result')}{told and f' ({told})'}\n")
    for table, rows in found.tables.items():
        if table not in ("results", "state"):
            say(f"damaged: {table}, {counted(rows, 'row')} left\n")
    return found


def _rebuild(loaded: LoadedCompetition, store: Store) -> None:
    """Store the state that the results give.  Raises StoreError."""
    loaded.prepare()
    try:
        loaded.restore(store, loaded.compare(store))
    except RingmasterError as error:
        raise StoreError(
            f"the state cannot be rebuilt from the results ({error}): put a copy back with "
            f"`ringmaster {loaded.paths.control.name} restore`, which lists them"
        ) from error
    with store.transaction() as transaction:
        transaction.save_state(loaded.competition.state())
    say("the state is rebuilt from the results\n")


def _replayed(loaded: LoadedCompetition, store: Store) -> Iterator[str]:
    """Yield the lines of the history.  Raises one of _UNREADABLE if earlier settings made them."""
    loaded.forget_results()
    loaded.prepare()
    loaded.competition.scores = store.scores
    for recorded in store.results():
        reaction = loaded.competition.record_result(recorded.ticket, recorded.result)
        yield from (one_line(line) for line in (reaction.line, *reaction.notes) if line)


def _lacking(lines: Iterable[str], there: Iterable[str]) -> int:
    """Return the number of lines that are not there as often.

    Needs little memory if both have nearly the same order.
    """
    surplus: Counter[str] = Counter()
    for pair in zip_longest(lines, there):
        if pair[0] != pair[1]:
            for line, count in zip(pair, (1, -1), strict=True):
                if line is not None:
                    surplus[line] += count
                    if not surplus[line]:
                        del surplus[line]
    return (+surplus).total()


def _check_history(loaded: LoadedCompetition, store: Store) -> None:
    """Write the history anew if it lacks lines; the former file is kept."""
    hist = loaded.paths.hist
    with ExitStack() as stack:
        there: Iterable[str] = ()
        if hist.is_file():
            there = stack.enter_context(hist.open(encoding="utf-8", errors="replace"))
        try:
            missing = _lacking(_replayed(loaded, store), (line.rstrip("\n") for line in there))
        except _UNREADABLE:
            say("the results were played with other settings: the history was not verified\n")
            return
    if not missing:
        say(f"{hist.name}: complete\n")
        return
    former = ""
    if hist.exists():
        kept = hist.with_name(f"{hist.name}.{copies.stamp()}")
        hist.rename(kept)
        former = f"; {kept.name} is the former file"
    with replacing(hist) as file:
        file.writelines(f"{line}\n".encode() for line in _replayed(loaded, store))
    say(f"{hist.name}: it lacked {counted(missing, 'line')} and is written anew{former}\n")


def _check_records(loaded: LoadedCompetition, store: Store) -> None:
    """Tell which records are missing."""
    waiting = {Path(record.name).stem for record in store.pending()}
    values = loaded.control_file.values
    if not values["record_games"] or values["record_files"] == "collected":
        return
    files = loaded.paths.games
    suffixes = RECORD_SUFFIXES[values["game"]]
    first, missing = "", 0
    for game in store.games():
        id = game.result.id
        names = (f"{id}.{suffix}" for suffix in suffixes)
        if not (
            game.result.outcome == "void"
            or any((files / name).exists() for name in names)
            or id in waiting
        ):
            first, missing = first or id, missing + 1
    if missing:
        more = "" if missing == 1 else f" and {missing - 1} more"
        say(f"{files.name}: no record of game {first}{more}\n")
    else:
        say(f"{files.name}: complete\n")
