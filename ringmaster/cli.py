"""The command line: arguments, actions, exit statuses; nothing else.

Exit statuses: 0 done, 1 a reported error, 2 usage, 3 interrupted, 4 an
internal error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import ringmaster
from ringmaster.errors import ControlFileError, RingmasterError, StoreUnwritable, UsageError

if TYPE_CHECKING:
    from ringmaster.event import Event
    from ringmaster.execution.executor import Executor

DONE, REPORTED, USAGE, INTERRUPTED, INTERNAL = range(5)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage()}".rstrip())


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return number


def _parser() -> _Parser:
    parser = _Parser(
        prog="ringmaster",
        description="Plays and tunes game engines from a control file.",
        epilog="actions: run (default), show, report, check, reset, stop",
    )
    parser.add_argument("control_file", type=Path, metavar="CONTROL_FILE.ctl")
    parser.add_argument(
        "action", nargs="?", default="run", choices=tuple(_ACTIONS), metavar="ACTION"
    )
    parser.add_argument(
        "-j", "--parallel", type=_positive, default=1, metavar="N", help="games at a time"
    )
    parser.add_argument(
        "-g", "--max-games", type=_positive, metavar="N", help="games to start in this run"
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but warnings and errors"
    )
    parser.add_argument(
        "--log-gtp", action="store_true", help="write a transcript of each game's protocol traffic"
    )
    parser.add_argument("--json", action="store_true", help="print data (show, check)")
    parser.add_argument(
        "--version", action="version", version=f"ringmaster {ringmaster.__version__}"
    )
    return parser


def run(argv: Sequence[str]) -> int:
    """Carry out a command line; returns the exit status."""
    try:
        arguments = _parser().parse_intermixed_args(argv)
        if arguments.json and arguments.action not in ("show", "check"):
            raise UsageError("--json goes with show and check")
        action: Callable[[argparse.Namespace], int] = _ACTIONS[arguments.action]
        return action(arguments)
    except UsageError as error:
        _complain(str(error))
        return USAGE
    except ControlFileError as error:
        # its message names file, line and column itself
        print(error, file=sys.stderr)
        return REPORTED
    except RingmasterError as error:
        _complain(str(error))
        return REPORTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone (`| head`); nothing more can be said
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REPORTED
    except SystemExit as request:
        return int(request.code or 0)
    except Exception:
        import traceback

        traceback.print_exc()
        _complain(
            "internal error; nothing that was recorded is lost. Please report it, with the "
            "lines above, the control file, and this version: " + ringmaster.__version__
        )
        return INTERNAL


def _complain(message: str) -> None:
    print(f"ringmaster: {message}", file=sys.stderr)


def _load(arguments: argparse.Namespace) -> Event:
    from ringmaster.event import Event

    return Event(arguments.control_file)


def _executor(parallel: int) -> Executor:
    from ringmaster.engines import watcher
    from ringmaster.execution.local import LocalExecutor

    return LocalExecutor(
        "ringmaster.play.worker:make_worker",
        parallel,
        setup={"parallel": parallel > 1},
        watcher=watcher.__file__,
    )


def _run(arguments: argparse.Namespace) -> int:
    from ringmaster.reporting.keys import KeyWatcher
    from ringmaster.reporting.live import make_display
    from ringmaster.ringmaster import Ringmaster, RunOptions
    from ringmaster.storage.lock import CompetitionLock

    event = _load(arguments)
    display = make_display(sys.stdout, arguments.quiet, errors=sys.stderr)
    with (
        CompetitionLock(event.paths.log),
        KeyWatcher(display.suspend, display.resume) as keys,
    ):
        event.paths.cmd.unlink(missing_ok=True)
        options = RunOptions(arguments.parallel, arguments.max_games, arguments.log_gtp)
        status = Ringmaster(
            event,
            options,
            executor=lambda: _executor(arguments.parallel),
            display=display,
            stop_fd=keys.fileno,
            stop_asked=keys.stop_requested,
        ).run()
    if not arguments.quiet:
        print(event.report_text(), end="")
    return status


def _with_results(arguments: argparse.Namespace) -> tuple[Event, dict[str, Any]]:
    """Load an event with its results so far; returns it and its summary."""
    from ringmaster.storage.sqlite_store import SqliteStore

    event = _load(arguments)
    if not event.paths.status.exists():
        return event, event.summary(None, 0)
    store = SqliteStore.open_readonly(event.paths.status)
    try:
        event.check_changes(store)
        outstanding = event.restore(store)
        return event, event.summary(store, len(outstanding))
    finally:
        store.close()


def _show(arguments: argparse.Namespace) -> int:
    event, summary = _with_results(arguments)
    for warning in event.warnings():
        print(warning, file=sys.stderr)
    if arguments.json:
        import json

        print(json.dumps(summary, indent=2))
    else:
        print(event.report_text(), end="")
    return DONE


def _report(arguments: argparse.Namespace) -> int:
    event, _ = _with_results(arguments)
    event.write_report()
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    import json

    from ringmaster.reporting.text import sanitise
    from ringmaster.ringmaster import check_players, player_problems

    event = _load(arguments)
    event.prepare()
    warnings = event.warnings()
    executor = _executor(arguments.parallel)
    try:
        results = check_players(event, executor, show_stderr=True)
    finally:
        executor.close()
    failed = any(result.problems for result in results)
    if arguments.json:
        players = [{"code": r.code, "name": r.name, "problems": list(r.problems)} for r in results]
        print(json.dumps({"ok": not failed, "players": players, "warnings": warnings}, indent=2))
        return REPORTED if failed else DONE
    for warning in warnings:
        print(warning, file=sys.stderr)
    for line in dict.fromkeys(
        f"{result.code}: {line}" for result in results for line in result.stderr
    ):
        print(sanitise(line), file=sys.stderr)
    for line in player_problems(results):
        _complain(line)
    if not arguments.quiet:
        failing = {result.code for result in results if result.problems}
        for code, name in {r.code: r.name for r in results if r.code not in failing}.items():
            print(f"player {code!r}: ok" + (f" ({sanitise(name, 80)})" if name else ""))
    return REPORTED if failed else DONE


def _reset(arguments: argparse.Namespace) -> int:
    from ringmaster.storage.lock import CompetitionLock
    from ringmaster.storage.paths import OutputPaths

    # an event whose control file is broken can be reset, too
    paths = OutputPaths(arguments.control_file)
    if not arguments.control_file.exists():
        raise RingmasterError(f"there is no control file {arguments.control_file}")
    with CompetitionLock(paths.log):
        paths.remove_all()
    return DONE


def _stop(arguments: argparse.Namespace) -> int:
    from ringmaster.storage.lock import is_locked
    from ringmaster.storage.paths import OutputPaths

    paths = OutputPaths(arguments.control_file)
    if not is_locked(paths.log):
        raise RingmasterError(f"{arguments.control_file} is not running")
    try:
        paths.cmd.write_text("stop\n", encoding="ascii")
    except OSError as error:
        raise StoreUnwritable(f"cannot write {paths.cmd}: {error.strerror}") from error
    return DONE


_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "show": _show,
    "report": _report,
    "check": _check,
    "reset": _reset,
    "stop": _stop,
}
