"""The tests of an engine, in one table: all for `check`, some before a first game."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import NamedTuple

from ringmaster.engines.channel import Exchange
from ringmaster.engines.engine import QUIT_PATIENCE, Limits, start_timeout
from ringmaster.engines.uci_messages import Go, OptionDeclaration, Ready
from ringmaster.errors import EngineError, EngineTimeout, IllegalMove, OptionRefused
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import CheckJob
from ringmaster.model.players import HASH, THREADS
from ringmaster.model.results import TUNED_OPTIONS, CheckResult, Problem, problems_of
from ringmaster.play.compliance.effects import try_effects
from ringmaster.play.compliance.engine_check import EngineCheck
from ringmaster.play.compliance.limits import try_limits
from ringmaster.play.compliance.positions import START

GO_PLIES, GO_SECONDS = 16, 4.0  # of the Go engine's game against itself
SLOW_STOP = 500  # a slower answer to `stop` in ms is a fault
MOST_FAULTS = 5  # faulty declarations that are reported
MOST_SECONDS_TO_TEST = 1.0  # of the start, before a first game
MOST_BREAKDOWNS = 3  # the number of crashes or hangs that ends the test of moves


def try_handshake(check: EngineCheck) -> None:
    """Judge the name and author, or remarks of the start over GTP."""
    faults = check.engine().remarks
    if check.player.protocol != "gtp":
        lines = check.tail.handshake
        wanted = "id name", "id author"
        missing = [x for x in wanted if not any(line.startswith(x + " ") for line in lines)]
        faults = [f"no {' and no '.join(missing)}"] if missing else []
    check.judge("; ".join(faults), exchange=())


def try_options(check: EngineCheck) -> None:
    """Judge the declarations of options: readable, unique, with possible defaults."""
    declared = [line for line in check.tail.handshake if line.startswith("option")]
    names, faults = set[str](), []
    for line in declared:
        option = OptionDeclaration.parse(line)
        if option is None:
            faults.append(("cannot be read", line))
            continue
        name = option.name.casefold()
        if name in names:
            faults.append((f"option {option.name!r} is declared twice", line))
        names.add(name)
        try:
            option.render(True if option.type == "button" else option.default)
        except OptionRefused as refusal:
            faults.append((f"the default of {refusal}", line))
    for fault, line in faults[:MOST_FAULTS]:
        check.judge(fault, exchange=(f"< {one_line(line, 160)}",))
    if not faults:
        check.note("pass", f"{len(declared)} declared, their defaults within their ranges")


def try_moves(check: EngineCheck) -> None:
    """Judge the moves of short searches: one in each position, in Go some of a game."""
    is_go = check.settings.game == "go"
    end, plies = time.monotonic() + GO_SECONDS, GO_PLIES if is_go else 1
    judged = breakdowns = faults = 0
    for position in check.positions:
        game = position.game(check.settings)
        try:
            check.begin(position)
            for _ in range(plies):
                thought = check.think(check.quick, game.to_move).thought
                if thought.kind == "move":
                    game.play(thought.move)
                judged += 1
                is_over = thought.kind != "move" or game.ending() is not None
                if is_over or time.monotonic() > end:
                    break
        except IllegalMove as error:
            where = f"move {len(game.moves) + 1}" if is_go else position.name
            check.judge(f"{where}: {error.move!r} is illegal: {error.reason}", spoils=True)
            faults += 1
        except EngineError as error:
            check.judge(f"{position.name}: {error}", spoils=True)
            check.drop()
            faults += 1
            breakdowns += 1
            if breakdowns == MOST_BREAKDOWNS:
                return
    if not faults:
        check.note("pass", f"{judged} legal moves")


def try_silence(check: EngineCheck) -> None:
    """Judge output after a move."""
    check.begin(check.positions[0])
    check.think(check.quick)
    channel = check.engine().channel
    select.select([channel.process.stdout_fd], [], [], check.patience.quiet)
    text = one_line(channel.unasked().decode("utf-8", "replace"), 100)
    # over GTP it would pass for the next answer
    spoils = check.player.protocol == "gtp"
    check.judge(f"the engine also prints {text!r}" if text else "", spoils=spoils)


def try_stop(check: EngineCheck) -> None:
    """Judge isready and stop during a search without a limit."""
    patience = check.patience
    check.begin(check.positions[0])
    search = Go(b"position startpos\ngo infinite\n")
    _converse(check, search, patience.idle)
    if search.is_complete:
        check.judge("bestmove before `stop`", name="go infinite")
        return
    is_ready = _converse(check, Ready(), patience.stop) is not None
    fault = "" if is_ready else f"no readyok in {patience.stop:g} s"
    check.judge(fault, "answered by readyok", "isready during a search")
    search.request = b"stop\n"
    ms = _converse(check, search, patience.stop)
    if ms is None:
        fault = f"no bestmove in {patience.stop:g} s after `stop`"
        check.judge(fault, spoils=check.player.ponder)
        check.drop()
    else:
        detail = f"bestmove {ms:.0f} ms after `stop`"
        check.judge(detail if ms > SLOW_STOP else "", detail)


def _converse(check: EngineCheck, exchange: Exchange, seconds: float) -> float | None:
    """Carry out an exchange; return its milliseconds, None without an answer in time.

    The process stays in use.  Raises EngineError.
    """
    channel = check.engine().channel
    try:
        return channel.converse(exchange, seconds) / 1e6
    except EngineTimeout:
        channel.has_failed = False
        return None


def try_quit(check: EngineCheck) -> None:
    """Judge whether the process ends after `quit`."""
    seconds, channel = check.patience.quit, check.engine().channel
    channel.send(b"quit\n", seconds)
    if not channel.process.wait(seconds):
        check.judge(f"the engine has not exited after {seconds:g} s")
    else:
        status = channel.process.exit_status()
        check.judge("" if status == "status 0" else f"the engine exits with {status}")
    check.drop()


class ProtocolTest(NamedTuple):
    """A test of an engine.

    is_uci  whether it is for UCI and USI only
    spoils  whether a crash or hang in it would spoil games
    """

    name: str
    run: Callable[[EngineCheck], None]
    is_uci: bool = False
    spoils: bool = True


#: Limits come early: other tests search with limits that the engine obeys.
TESTS = (
    ProtocolTest("handshake", try_handshake),
    ProtocolTest("options", try_options, is_uci=True),
    ProtocolTest("limits", try_limits),
    ProtocolTest("moves", try_moves),
    ProtocolTest("silence after a move", try_silence),
    ProtocolTest("stop", try_stop, is_uci=True, spoils=False),
    ProtocolTest(TUNED_OPTIONS, try_effects, is_uci=True, spoils=False),
    ProtocolTest("quit", try_quit, spoils=False),
)


def tests_of(job: CheckJob) -> list[ProtocolTest]:
    """Return the tests that a job requests.

    Before a first game these are the limits and tuned options over UCI and USI: GTP has no
    command that ends a search.
    """
    is_gtp = job.player.protocol == "gtp"
    names = {test.name for test in TESTS} if job.thorough else set[str]()
    if job.limits and not is_gtp:
        names.add("limits")
    if not job.changes:
        names.discard(TUNED_OPTIONS)
    elif not is_gtp:
        names.add(TUNED_OPTIONS)
    return [test for test in TESTS if test.name in names and not (test.is_uci and is_gtp)]


def run_check(check: EngineCheck) -> CheckResult:
    """Start an engine, set its options, and run the tests that the job requests.

    The faults of the engine are in the result.  Raises JobAbandoned.
    """
    job, begin = check.job, time.monotonic()
    problems = list[Problem]()
    hash = threads = nps = None
    try:
        engine = check.engine()
        hash, threads = engine.option_number(HASH), engine.option_number(THREADS)
        nps = _speed(check) if job.speed else None
        _run_tests(check, begin)
    except EngineError as error:
        problems += check.complaints or problems_of(error)
    if job.thorough:
        problems += [Problem(f"{f.name}: {f.detail}") for f in check.findings if f.status == "fail"]
    is_fit = not problems and check.running is not None and check.running.is_usable()
    if not (job.keep and is_fit):
        check.drop(QUIT_PATIENCE)
    return CheckResult(
        job.id,
        job.player.code,
        "" if check.running is None else check.running.name,
        tuple(problems),
        tuple(check.stderr),
        tuple(check.findings),
        time.monotonic() - begin,
        hash=hash,
        threads=threads,
        nps=nps,
    )


def _speed(check: EngineCheck) -> float | None:
    """Return the nodes a second that an engine searches at the start of a game, None if it
    reports none.  Raises EngineError."""
    check.begin(START)
    timeout = start_timeout(check.settings, check.player)
    limits = Limits(timeout, move_time_ms=round(1000 * check.job.speed))
    thought = check.engine().think(0, limits)
    nodes = thought.number("nodes")
    return nodes / (thought.elapsed_ns / 1e9) if nodes else None


def _run_tests(check: EngineCheck, begin: float) -> None:
    """Run the requested tests; all faults of the engine are findings.

    begin  the time of the start
    """
    tests, start = tests_of(check.job), time.monotonic()
    if tests and not check.job.thorough and start - begin > MOST_SECONDS_TO_TEST:
        # each search of a test would wait as long again
        check.note("skip", f"it took {start - begin:.1f} s to get ready", tests[0].name)
        return
    channel = check.engine().channel
    former, channel.transcript = channel.transcript, check.tail
    try:
        while tests and time.monotonic() < start + check.patience.whole:
            run_test(check, tests.pop(0))
    finally:
        channel.transcript = former
    if tests:
        names = ", ".join(test.name for test in tests)
        check.note("skip", f"not reached in {check.patience.whole:g} s: {names}", "time")


def run_test(check: EngineCheck, test: ProtocolTest) -> None:
    """Run one test; a crash or hang is its finding."""
    check.name = test.name
    try:
        check.engine()
        test.run(check)
    except EngineError as error:
        if isinstance(error, EngineTimeout) and not check.job.thorough:
            # the searches cannot be judged; games have longer deadlines
            check.note("skip", str(error))
        else:
            check.judge(str(error), spoils=test.spoils)
        check.drop()
