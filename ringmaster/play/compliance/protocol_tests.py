"""The tests of an engine, in one table: all for `check`, some before a first game."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from ringmaster.engines.engine import QUIT_PATIENCE, Limits, Thought, start_timeout
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.gtp_analysis import COMMANDS
from ringmaster.engines.uci_messages import OPTION_TYPES, Go, OptionDeclaration, Ready
from ringmaster.errors import EngineError, EngineTimeout, IllegalMove, OptionRefused, counted
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import CheckJob, GameJob
from ringmaster.model.players import HASH, SECOND_SELF, THREADS, describe_limits
from ringmaster.model.results import STANDSTILL, TUNED_OPTIONS, CheckResult, Problem, problems_of
from ringmaster.play.compliance.effects import try_effects
from ringmaster.play.compliance.engine_check import EngineCheck
from ringmaster.play.compliance.limits import try_limits
from ringmaster.play.compliance.positions import START
from ringmaster.play.game_runner import GameRunner
from ringmaster.play.referee import Settlement
from ringmaster.play.transcript import GameTranscript

GAME_PLIES, GAME_SECONDS = 20, 5.0  # of a game; each side has a move in any case
SLOW_STOP = 500  # a slower answer to `stop` in ms is a fault
MOST_FAULTS = 5  # faulty declarations that are reported
MOST_SECONDS_TO_TEST = 1.0  # of the start, before a first game


def try_handshake(check: EngineCheck) -> None:
    """Judge the name and author, or remarks of the start over GTP."""
    faults = check.engine().remarks
    if check.player.protocol != "gtp":
        lines = _handshake(check)
        wanted = "id name", "id author"
        missing = [x for x in wanted if not any(line.startswith(x + " ") for line in lines)]
        faults = [f"no {' and no '.join(missing)}"] if missing else []
    check.judge("; ".join(faults), exchange=())


def _handshake(check: EngineCheck) -> list[str]:
    """Return the engine's lines at its start."""
    check.engine()
    assert isinstance(check.start, GameTranscript)
    text = b"\n".join(data for *_, direction, data in check.start.entries if direction == "<")
    return [line.strip() for line in text.decode("utf-8", "replace").split("\n")]


def try_options(check: EngineCheck) -> None:
    """Judge the declarations of options: readable, unique, with possible defaults."""
    declared = [line for line in _handshake(check) if line.startswith("option")]
    names, faults = set[str](), []
    for line in declared:
        option = OptionDeclaration.parse(line)
        if option is None or option.type not in OPTION_TYPES:
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
    """Judge the moves of short searches, one in each position."""
    for position in check.positions:
        game = position.game(check.settings)
        check.begin(position)
        try:
            thought = check.think(check.quick, game.to_move).thought
            if thought.kind == "move":
                game.play(thought.move)
        except IllegalMove as error:
            where = f"{position.name}, move {len(game.moves) + 1}"
            check.judge(f"{where}: {error.move!r} is illegal: {error.reason}", spoils=True)
    if check.name not in [finding.name for finding in check.findings]:
        check.note("pass", counted(len(check.positions), "legal move"))


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
    check.begin(check.positions[0])
    channel, seconds = check.engine().channel, check.patience.stop
    search = Go(b"position startpos\ngo infinite\n")
    try:
        channel.converse(search, check.patience.idle)
        check.judge("bestmove before `stop`")
        return
    except EngineTimeout:
        channel.has_failed = False
    fault = ""
    try:
        channel.converse(Ready(), seconds)
    except EngineTimeout as error:
        fault, channel.has_failed = str(error), False
    check.judge(fault, "answered by readyok", "isready during a search")
    search.request = b"stop\n"
    ms = channel.converse(search, seconds) / 1e6
    detail = f"bestmove {ms:.0f} ms after `stop`"
    check.judge(detail if ms > SLOW_STOP else "", detail)


def try_analysis(check: EngineCheck) -> None:
    """Judge whether an engine of Go gives a winrate with its move."""
    if check.player.analysis is None:
        return
    check.begin(check.positions[0])
    thought = check.think(check.quick).thought
    command = COMMANDS[check.player.analysis][0]
    check.judge("" if thought.info_lines else f"{command} gives no winrate", "a winrate")


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


class _ShortGame(GameRunner):
    """A game that ends after some seconds, too; its traffic is part of a check's dialogue."""

    check: EngineCheck

    def _launch(self, transcript: GameTranscript | None) -> None:
        super()._launch(self.check.dialogue)
        self._end = time.monotonic() + GAME_SECONDS

    def _request_move(self, mover: int, limits: Limits) -> Thought | Settlement:
        if self._game is not None and len(self._game.moves) >= 2 and time.monotonic() > self._end:
            return self._referee.at_move_limit(self._game)
        return super()._request_move(mover, limits)

    def _end_game(self, settlement: Settlement) -> None:
        self.exchange = self.check.evidence()
        super()._end_game(settlement)


def try_game(check: EngineCheck) -> None:
    """Judge a game with the player's clock: its moves, and its time."""
    player, limits = check.player, describe_limits(check.player)
    if any(finding.status == "fail" for finding in check.findings):
        return check.note("skip", "it fails another test")
    if not limits and player.protocol != "gtp":
        return check.note("skip", "the player has no limits")
    # the process of the check may behave otherwise, and three may need too much memory
    check.drop()
    second_self = replace(player, code=player.code + SECOND_SELF)
    settings = replace(check.settings, move_limit=GAME_PLIES, scorer="players", referee=None)
    job = GameJob(check.job.id, (player, second_self), settings, record=False)
    engines = check.make_other(player), check.make_other(second_self)
    game = _ShortGame(job, engines)
    game.check = check
    try:
        result = game.play()
    finally:
        for engine in engines:
            engine.end(QUIT_PATIENCE)
    check.stderr += [line for code, line in result.stderr if code in job.who]
    words = f"{result.plies} plies" + (f" with {limits}" if limits else "")
    detail = result.detail.replace(second_self.code, player.code).replace("\n", "; ")
    fault = f"after {words}: {detail}"
    if result.outcome != "void" and not result.forfeit:
        check.note("pass", words)
    elif (result.reason, result.faulty) in (("start", 1), (STANDSTILL, None)):
        # there may be no room for a second process
        check.note("skip", fault)
    else:
        check.judge(fault, spoils=True, is_timed=result.reason == "time", exchange=game.exchange)


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
    ProtocolTest("analysis", try_analysis),
    ProtocolTest("moves", try_moves),
    ProtocolTest("silence after a move", try_silence),
    ProtocolTest("stop", try_stop, is_uci=True, spoils=False),
    ProtocolTest(TUNED_OPTIONS, try_effects, is_uci=True, spoils=False),
    ProtocolTest("quit", try_quit, spoils=False),
    ProtocolTest("game", try_game),
)


def _is_wanted(test: ProtocolTest, job: CheckJob) -> bool:
    if test.is_uci and job.player.protocol == "gtp":
        return False
    if job.tested_as:
        return test.run is try_game
    if test.run is try_effects:
        return bool(job.changes)
    # GTP has no command that ends a search
    first = try_analysis if job.player.protocol == "gtp" else try_limits
    return job.thorough or (job.limits and test.run is first)


def run_check(check: EngineCheck) -> CheckResult:
    """Start an engine, set its options, and run the tests that the job requests.

    The faults of the engine are in the result.  Raises JobAbandoned.
    """
    job, begin = check.job, time.monotonic()
    problems = list[Problem]()
    hash = threads = nps = None
    rules = ""
    try:
        engine = check.engine()
        hash, threads = engine.option_number(HASH), engine.option_number(THREADS)
        nps = _speed(check) if job.speed else None
        if isinstance(engine, GtpEngine):
            wanted = check.settings.rules
            rules = "" if wanted.name else engine.rules
            if wanted.name and not engine.told_rules:
                text = f"it has no kata-set-rules; its own options must give the rules: {wanted}"
                check.note("warn", text, "rules")
        _run_tests(check, begin)
    except EngineError as error:
        problems += check.complaints or problems_of(error)
    if job.thorough:
        problems += [Problem(f"{f.name}: {f.detail}") for f in check.findings if f.status == "fail"]
    if not job.keep or problems:
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
        tested_as=job.tested_as,
        rules=rules,
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
    tests, start = [test for test in TESTS if _is_wanted(test, check.job)], time.monotonic()
    # over GTP there is one search; each search of other tests would wait as long again
    slow = start - begin > MOST_SECONDS_TO_TEST and check.player.protocol != "gtp"
    if tests and slow and not check.job.thorough:
        check.note("skip", f"it took {start - begin:.1f} s to get ready", tests[0].name)
        return
    while tests and time.monotonic() < start + check.patience.whole:
        run_test(check, tests.pop(0))
    if tests:
        names = ", ".join(test.name for test in tests)
        check.note("skip", f"not reached in {check.patience.whole:g} s: {names}", "time")


def run_test(check: EngineCheck, test: ProtocolTest) -> None:
    """Run one test; a crash or hang is its finding."""
    check.name = test.name
    try:
        test.run(check)
    except EngineError as error:
        if isinstance(error, EngineTimeout) and not check.job.thorough:
            # the searches cannot be judged; games have longer deadlines
            check.note("skip", str(error))
        else:
            is_needed = test.run is try_stop and check.player.ponder
            check.judge(str(error), spoils=test.spoils or is_needed)
        check.drop()
