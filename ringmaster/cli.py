"""The command line: arguments, actions, exit statuses; nothing else.

Exit statuses: 0 done, 1 a reported error, 2 usage, 3 interrupted, 4 an
internal error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import ringmaster
from ringmaster.errors import ControlFileError, RingmasterError, StoreUnwritable, UsageError
from ringmaster.forecast import arguments as forecast

if TYPE_CHECKING:
    from ringmaster.control.changes import Comparison
    from ringmaster.event import Event
    from ringmaster.execution.executor import Executor
    from ringmaster.storage.store import Store

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
        usage="ringmaster CONTROL_FILE.ctl [ACTION] [OPTIONS]\n"
        "       ringmaster new GAME TYPE [FILE.ctl]\n"
        "       ringmaster import [-o FILE.ctl] WHAT",
        description="Plays and tunes game engines from a control file.",
        epilog="actions: run (default), verify, show, report, export, export-parameters, plot, "
        "check, diff, plan, simulate, reset, stop.  "
        "Before there is a control file: `ringmaster new GAME TYPE [FILE]` writes one to start "
        "from, `ringmaster import WHAT` makes one of an engines.json, a command line of "
        "fastchess or cutechess-cli, or another tuner's parameter file (a file of that name: "
        "./new, ./import).",
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
    parser.add_argument(
        "--log-faults",
        action="store_true",
        help="write transcripts only of void games and forfeits",
    )
    parser.add_argument(
        "--affinity",
        nargs="?",
        const="",
        metavar="CPUS",
        help="give each game CPUs of its own, of these (0-3,8; by default of all)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print data (show, check, diff, plan, simulate)"
    )
    closing = parser.add_argument_group("verify")
    closing.add_argument(
        "--games",
        type=_positive,
        metavar="N",
        help="games of the closing match, at most (an even number)",
    )
    checks = parser.add_argument_group("check")
    checks.add_argument(
        "--quick", action="store_true", help="only start each engine and set it up, as run does"
    )
    checks.add_argument(
        "-v", "--verbose", action="store_true", help="list the tests that were passed, too"
    )
    exports = parser.add_argument_group("export")
    # the formats are not imported before one is asked for
    exports.add_argument(
        "--format",
        metavar="FORMAT",
        help="csv (default), jsonl, parquet, pgn, sgf, csa, kif, epd or sfen; of "
        "export-parameters: table (default), setoption, fishtest, …",
    )
    exports.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to a file, by default to standard output; of plot: .html (default: beside "
        "the control file), .svg, .png or .pdf",
    )
    exports.add_argument("--void", action="store_true", help="export void games, too")
    forecast.add_options(parser)
    parser.add_argument(
        "--version", action="version", version=f"ringmaster {ringmaster.__version__}"
    )
    return parser


def run(argv: Sequence[str]) -> int:
    """Carry out a command line; returns the exit status."""
    try:
        if argv and argv[0] in _VERBS:
            return _make_file(argv[0], argv[1:])
        try:
            arguments = _parser().parse_intermixed_args(argv)
        except SystemExit:  # --help, --version
            return DONE
        _refuse_elsewhere(arguments)
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
        # the reader of our output has gone (`| head`): it has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, SystemExit):
        import traceback

        traceback.print_exc()
        _complain(
            "internal error; nothing that was recorded is lost. Please report it, with the "
            "lines above, the control file, and this version: " + ringmaster.__version__
        )
        return INTERNAL


def _refuse_elsewhere(arguments: argparse.Namespace) -> None:
    """Raise UsageError for an option that does not go with the action."""
    for name, actions in {**_GOES_WITH, **forecast.GOES_WITH}.items():
        given = getattr(arguments, name) not in (None, False)
        if given and arguments.action not in actions:
            *others, last = actions
            which = f"{', '.join(others)} and {last}" if others else last
            raise UsageError(f"--{name.replace('_', '-')} goes with {which}")


def _complain(message: str) -> None:
    print(f"ringmaster: {message}", file=sys.stderr)


def _say(text: str) -> None:
    """Print to standard output.  Raises StoreUnwritable when it cannot be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreUnwritable(f"cannot write the output: {error.strerror}") from error


def _say_data(data: dict[str, Any]) -> None:
    import json

    _say(json.dumps(data, indent=2) + "\n")


def _make_file(verb: str, arguments: Sequence[str]) -> int:
    from ringmaster.scaffold.verbs import VERBS

    VERBS[verb](arguments, _say, _complain)
    return DONE


def _load(arguments: argparse.Namespace) -> Event:
    from ringmaster.event import Event

    return Event(arguments.control_file)


def _executor(arguments: argparse.Namespace) -> Callable[[], Executor]:
    """Return what makes the executor.  Raises UsageError."""
    from ringmaster.engines import watcher
    from ringmaster.execution.affinity import plan
    from ringmaster.execution.local import LocalExecutor

    parallel: int = arguments.parallel
    setup: dict[str, Any] = {"parallel": parallel > 1}
    if arguments.affinity is not None:
        setup["cpus"] = plan(arguments.affinity or None, parallel)
    return lambda: LocalExecutor(
        "ringmaster.play.worker:make_worker", parallel, setup=setup, watcher=watcher.__file__
    )


def _run(arguments: argparse.Namespace) -> int:
    return _play(arguments, _load(arguments))


def _verify(arguments: argparse.Namespace) -> int:
    event = _load(arguments)
    event.competition.verify(arguments.games)
    return _play(arguments, event)


def _play(arguments: argparse.Namespace, event: Event) -> int:
    from ringmaster.reporting.keys import KeyWatcher
    from ringmaster.reporting.live import make_display
    from ringmaster.ringmaster import Ringmaster, RunOptions
    from ringmaster.storage.lock import CompetitionLock

    executor = _executor(arguments)
    display = make_display(sys.stdout, arguments.quiet, errors=sys.stderr)
    with (
        CompetitionLock(event.paths.log),
        KeyWatcher(display.suspend, display.resume) as keys,
    ):
        event.paths.cmd.unlink(missing_ok=True)
        options = RunOptions(
            arguments.parallel, arguments.max_games, arguments.log_gtp, arguments.log_faults
        )
        status = Ringmaster(
            event,
            options,
            executor=executor,
            display=display,
            stop_fd=keys.fileno,
            stop_asked=keys.stop_requested,
        ).run()
    if not arguments.quiet:
        _say(event.report_text())
    return status


@contextmanager
def _compared(arguments: argparse.Namespace) -> Iterator[tuple[Event, Store | None, Comparison]]:
    """Load an event, open its store for reading if there is one, and compare
    the control file with the one of the last run."""
    from ringmaster.storage.sqlite_store import SqliteStore

    event = _load(arguments)
    if not event.paths.status.exists():
        yield event, None, event.compare(None)
        return
    store = SqliteStore.open_readonly(event.paths.status)
    try:
        yield event, store, event.compare(store)
    finally:
        store.close()


def _tell_changes(comparison: Comparison) -> None:
    from ringmaster.control.changes import MOST

    for text in comparison.texts(MOST):
        print(f"changed since the last run: {text}", file=sys.stderr)


def _summary(event: Event, store: Store | None) -> dict[str, Any]:
    """Give an event its results so far; returns its summary."""
    from ringmaster.storage.lock import is_locked

    if store is None:
        return event.summary(None, 0)
    outstanding = event.restore(store)
    # games that were given out are in progress only while a run is alive
    return event.summary(store, len(outstanding) if is_locked(event.paths.log) else 0)


def _show(arguments: argparse.Namespace) -> int:
    with _compared(arguments) as (event, store, comparison):
        changes = comparison.as_data()
        failure = event.changes_failure(comparison)
        if not arguments.json:
            _tell_changes(comparison)
        if failure is not None:
            if arguments.json:
                known = {"competition": event.code, "changes": changes}
                _say_data({**known, "errors": str(failure).splitlines()})
            raise failure
        summary = _summary(event, store)
    for warning in event.warnings():
        print(warning, file=sys.stderr)
    if arguments.json:
        _say_data({**summary, "changes": changes})
    else:
        _say(event.report_text())
    return DONE


def _report(arguments: argparse.Namespace) -> int:
    with _compared(arguments) as (event, store, comparison):
        failure = event.changes_failure(comparison)
        if failure is not None:
            raise failure
        _summary(event, store)
    event.write_report()
    return DONE


def _diff(arguments: argparse.Namespace) -> int:
    import time

    with _compared(arguments) as (event, store, comparison):
        failure = event.changes_failure(comparison) or event.state_failure(store)
        if store is not None and failure is None:
            event.restore(store)
    status = DONE if failure is None else REPORTED
    if arguments.json:
        _say_data(
            {
                "competition": event.code,
                "run": comparison.run,
                "changes": comparison.as_data(),
                "notes": list(comparison.notes),
                "effects": event.effects,
            }
        )
        return status
    if comparison.run is None:
        _say(f"{event.code} has not been run yet\n")
        return status
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(comparison.started))
    run = f"run {comparison.run}, {date}"
    lines = list(comparison.texts())
    if not comparison.changes:
        lines.insert(0, f"no changes since the last run ({run})")
    else:
        played = "" if comparison.played else "; nothing has been played, everything may be changed"
        lines.insert(0, f"changed since the last run ({run}{played}):")
    lines += event.effects
    if failure is not None:
        lines += [f"refused, {event.code} cannot go on with:", str(failure)]
    _say("\n".join(lines) + "\n")
    return status


def _export(arguments: argparse.Namespace) -> int:
    from ringmaster.export import FORMATS, export_results, format_of
    from ringmaster.results import load

    output = None if arguments.output in (None, "-") else Path(arguments.output)
    format = arguments.format or format_of(output)
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; choose from {', '.join(FORMATS)}")
    results = load(arguments.control_file)
    for line in export_results(results, format, output, void=arguments.void):
        _complain(line)
    return DONE


def _plot(arguments: argparse.Namespace) -> int:
    from ringmaster.export.plots import check_plot, write_plots

    with _compared(arguments) as (event, store, comparison):
        failure = event.changes_failure(comparison)
        if failure is not None:
            raise failure
        target = check_plot(event, Path(arguments.output) if arguments.output else None)
        _summary(event, store)
        lines = write_plots(event, store, target)
    for line in lines:
        _complain(line)
    if not arguments.quiet:
        _say(f"{target}\n")
    return DONE


def _export_parameters(arguments: argparse.Namespace) -> int:
    from ringmaster.export.parameters import export_parameters

    output = None if arguments.output in (None, "-") else Path(arguments.output)
    for line in export_parameters(arguments.control_file, arguments.format, output):
        _complain(line)
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    if not arguments.json:
        return _check_players(arguments)[0]
    answer: dict[str, Any]
    try:
        status, answer = _check_players(arguments)
    except RingmasterError as error:
        status, answer = REPORTED, {"ok": False, "errors": str(error).splitlines()}
    _say_data(answer)
    return status


def _check_players(arguments: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Check an event; returns the exit status and what `check --json` prints."""
    from ringmaster.reporting.check import as_data, render_check
    from ringmaster.reporting.text import sanitise
    from ringmaster.ringmaster import check_players

    with _compared(arguments) as (event, store, comparison):
        refused = event.changes_failure(comparison) or event.state_failure(store)
    event.prepare()
    warnings = event.warnings()
    executor = _executor(arguments)()
    try:
        results = check_players(event, executor, show_stderr=True, thorough=not arguments.quick)
    finally:
        executor.close()
    problems: dict[str, dict[str, None]] = {r.code: {} for r in results}
    for result in results:
        problems[result.code].update(dict.fromkeys(result.problems))
    names = {result.code: result.name for result in results}
    failure = event.check_failure(results)
    if not arguments.json:
        _tell_changes(comparison)
        noise = [f"{r.code}: {sanitise(line)}" for r in results for line in r.stderr]
        for line in [*warnings, *dict.fromkeys(noise)]:
            print(line, file=sys.stderr)
        for error in (refused, failure):
            if error is not None:
                print(error, file=sys.stderr)
        for code, name in names.items():
            tested = [r for r in results if r.code == code and r.findings]
            if arguments.quiet:
                continue
            if tested:
                _say(render_check(tested[0], verbose=arguments.verbose))
            elif not problems[code]:
                twin = next((r.tested_as for r in results if r.code == code), "")
                verdict = f"set up; its engine is tested as player {twin!r}" if twin else "ok"
                _say(f"player {code!r}: {verdict}{f' ({sanitise(name, 80)})' if name else ''}\n")
    players = [
        {"code": code, "name": names[code], "problems": list(found), **as_data(results, code)}
        for code, found in problems.items()
    ]
    ok = failure is None and refused is None
    answer = {
        "ok": ok,
        "players": players,
        "warnings": warnings,
        "changes": comparison.as_data(),
    }
    if refused is not None:
        answer["errors"] = str(refused).splitlines()
    return DONE if ok else REPORTED, answer


def _plan(arguments: argparse.Namespace) -> int:
    from ringmaster.forecast.plan import run as plan

    text, data = plan(arguments, _load(arguments))
    _say_data(data) if arguments.json else _say(text())
    return DONE


def _simulate(arguments: argparse.Namespace) -> int:
    from ringmaster.forecast.progress import Meter
    from ringmaster.forecast.simulate import run as simulate

    meter = Meter(sys.stderr)
    try:
        text, data = simulate(
            arguments,
            _load(arguments),
            progress=(lambda share: None) if arguments.quiet else meter,
        )
    finally:
        meter.close()
    _say_data(data) if arguments.json else _say(text())
    return DONE


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


#: What stands in the place of a control file, and makes one.
_VERBS = ("new", "import")

#: The actions that print data with --json.
#: Options that only some actions take.
_GOES_WITH: dict[str, tuple[str, ...]] = {
    "affinity": ("run", "verify", "check"),
    "games": ("verify",),
    "json": ("show", "check", "diff", "plan", "simulate"),
    "quick": ("check",),
    "verbose": ("check",),
    "format": ("export", "export-parameters"),
    "output": ("export", "export-parameters", "plot"),
    "void": ("export",),
}

_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "verify": _verify,
    "show": _show,
    "report": _report,
    "export": _export,
    "plot": _plot,
    "export-parameters": _export_parameters,
    "check": _check,
    "diff": _diff,
    "plan": _plan,
    "simulate": _simulate,
    "reset": _reset,
    "stop": _stop,
}
