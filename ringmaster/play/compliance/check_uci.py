"""Test UCI and USI engines: declarations, limits, and behaviour between searches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from ringmaster.engines.uci_messages import OptionDeclaration
from ringmaster.errors import EngineTimeout
from ringmaster.games.clean_text import one_line
from ringmaster.play.compliance.engine_check import Answer, Dialogue, EngineCheck, search_for

#: Faulty options that are reported.
MOST_FAULTS = 5
#: The limits of the test searches.
NODES, DEPTH = 5000, 4
MOVE_MS = (100, 200, 150)
CLOCK_MS, SHORT_MS = 400, 100
#: An engine may count only now and then: more than this many times its nodes is a fault.
NODES_FACTOR = 2
#: An engine may look at its count after each iteration: a smaller share of its nodes is a fault.
NODES_LEAST = 0.02
#: A smaller share of a move time is a fault.
LEAST_USED = 0.25
#: New games in a row, and the seconds for all of them.
NEW_GAMES, NEW_GAMES_SECONDS = 20, 3.0
#: Repetitions of the same search, and of `go` followed at once by `stop`.
REPEATS, RACES = 3, 5
#: A slower answer to `stop` in ms is a fault.
SLOW_STOP = 500
#: More growth of memory over new games, in bytes and as a factor, is a leak.
LEAK_BYTES, LEAK_FACTOR = 64 << 20, 1.5
#: Options for the number of threads.
THREADS = ("threads", "thread", "number of threads", "max cpus", "cores")
NONSENSE = "ringmaster-has-no-such-command"

_FIRST_CLOCK, _SECOND_CLOCK = "clock of the first side", "clock of the second side"
_SHORT_CLOCK = "short clock"


# declarations


def try_handshake(check: EngineCheck) -> None:
    """Test the identification."""
    lines = _handshake_lines(check)
    missing = [
        name
        for name in ("id name", "id author")
        if not any(x.startswith(f"{name} ") for x in lines)
    ]
    when = f"{check.dialect.greeting} {1000 * check.handshake_seconds:.0f} ms after its start"
    fault = f"no {' and no '.join(missing)} ({when})" if missing else ""
    check.judged("handshake", fault, when, exchange=())
    check.passed("ready for a game", f"in {1000 * check.setup_seconds:.0f} ms")


def try_options(check: EngineCheck) -> None:
    """Test the declared options."""
    declared: list[OptionDeclaration] = []
    faults: list[tuple[str, str]] = []
    for line in _handshake_lines(check):
        if line.startswith("option"):
            option = OptionDeclaration.parse(line)
            if option is None:
                faults.append(("cannot be read", line))
            else:
                declared.append(option)
                faults += ((fault, line) for fault in _option_faults(option))
    for name, count in Counter(option.name.casefold() for option in declared).items():
        if count > 1:
            faults.append((f"option {name!r} is declared {count} times", ""))
    for fault, line in faults[:MOST_FAULTS]:
        check.warned("options", fault, (f"< {one_line(line, 160)}",) if line else ())
    if len(faults) > MOST_FAULTS:
        check.warned("options", f"and {len(faults) - MOST_FAULTS} more", ())
    if not faults:
        check.passed("options", f"{len(declared)} declared, their defaults within their ranges")
    if check.player.options:
        check.passed("options of this player", f"{len(check.player.options)} accepted")
    check.options = {option.name.casefold(): option for option in declared}
    names = check.dialect.expected
    missing = [name for name in names if name.casefold() not in check.options]
    if missing:
        check.skipped(" and ".join(names), f"it declares no {' and no '.join(missing)}")
    else:
        options = [check.options[name.casefold()] for name in names]
        ranges = [f"{o.name} {o.minimum} to {o.maximum}, default {o.default}" for o in options]
        check.passed(" and ".join(names), "; ".join(ranges))


def _option_faults(option: OptionDeclaration) -> Iterator[str]:
    name, default = f"option {option.name!r}", option.default
    low, high = option.minimum, option.maximum
    if not option.name:
        yield "an option has no name"
    elif option.type == "check" and default not in ("true", "false"):
        yield f"{name} has the default {default!r}, not true or false"
    elif option.type == "combo" and not option.choices:
        yield f"{name} has no var to choose"
    elif option.type == "combo" and default not in option.choices:
        yield f"{name} has the default {default!r}, not one of its vars"
    elif option.type == "spin":
        if low is None or high is None:
            yield f"{name} has no min or no max"
        elif low > high:
            yield f"{name} has a min of {low} above its max of {high}"
        try:
            value = int(default)
        except ValueError:
            yield f"{name} has the default {default!r}, no integer"
            return
        if (low is not None and value < low) or (high is not None and value > high):
            yield f"{name} has a default of {value} outside {low} to {high}"


def _handshake_lines(check: EngineCheck) -> list[str]:
    text = check.tail.handshake.decode("utf-8", "replace")
    return [line.strip() for line in text.split("\n")]


# limits


def try_nodes(check: EngineCheck) -> None:
    """Test a limit of nodes; calibrate a search of 50 ms."""
    answer = check.search_in_new_game(check.dialect.middlegame, f"go nodes {NODES}")
    nodes = answer.most("nodes")
    if answer.was_stopped:
        _record_unended(check, answer, "nodes", NODES)
        return
    if nodes is None:
        check.usable["nodes"] = f"go nodes {NODES}"
        check.passed("nodes", f"{NODES} requested; the engine does not report its nodes")
        return
    searched = f"searched {nodes} nodes, limit {NODES}"
    if nodes < NODES_LEAST * NODES:
        check.failed("nodes", searched, matters=check.player.nodes is not None)
        return
    per_ms = max(nodes, 1) / max(answer.ms, 0.2)
    check.usable["nodes"] = f"go nodes {max(200, min(20_000, int(50 * per_ms)))}"
    fault = searched if nodes > NODES_FACTOR * NODES else ""
    check.judged("nodes", fault, f"searched {nodes} of {NODES} nodes in {answer.ms:.0f} ms")


def try_depth(check: EngineCheck) -> None:
    """Test a limit of depth."""
    answer = check.search_in_new_game(check.dialect.middlegame, f"go depth {DEPTH}")
    depth = answer.most("depth")
    if answer.was_stopped:
        _record_unended(check, answer, "depth", DEPTH)
        return
    check.usable["depth"] = f"go depth {DEPTH}"
    fault = f"searched to depth {depth}, limit {DEPTH}" if (depth or 0) > DEPTH else ""
    check.judged("depth", fault, f"depth {DEPTH} in {answer.ms:.0f} ms")


def _record_unended(check: EngineCheck, answer: Answer, name: str, limit: int) -> None:
    """Record a search that needed `stop`; `name` is "nodes" or "depth"."""
    reached = answer.most(name)
    words = f"{reached} nodes" if name == "nodes" else f"depth {reached}"
    seconds = f"{answer.ms / 1000:.1f} s"
    if reached is not None and reached <= limit:
        check.skipped(name, f"too slow to test: {words} in {seconds}")
        return
    at = "" if reached is None else f", at {words}"
    # an engine that does not count may just be slow
    matters = getattr(check.player, name) is not None and reached is not None
    check.failed(name, f"go {name} {limit} did not end within {seconds}{at}", matters=matters)


def try_movetime(check: EngineCheck) -> None:
    """Test move times."""
    matters = check.player.move_time is not None
    worst, least = 0.0, 1.0
    for limit in MOVE_MS:
        answer, over = check.timed_search(check.dialect.middlegame, f"go movetime {limit}", limit)
        if answer.was_stopped:
            detail = f"go movetime {limit} did not end within {answer.ms / 1000:.1f} s"
            check.failed("movetime", detail, matters=matters)
            return
        worst, least = max(worst, over), min(least, answer.ms / limit)
        if over > check.margin_ms:
            detail = f"answered {over:.0f} ms after a move time of {limit} ms, twice"
            check.late("movetime", detail, matters=matters)
            check.note_overstep("movetime", over)
            return
    check.note_overstep("movetime", worst)
    check.usable["movetime"] = "go movetime 60"
    fault = f"used only {100 * least:.0f} % of its move time" if least < LEAST_USED else ""
    check.judged("movetime", fault, f"oversteps by {worst:.0f} ms at most" if worst else "in time")


def try_clock(check: EngineCheck) -> None:
    """Test the clocks of both sides, with more time for the opponent, and a short clock."""
    dialect = check.dialect
    control = check.player.time_control
    # with byo-yomi alone, both clocks are at 0
    matters = control is not None and control.base > 0
    for name, go in (
        (_FIRST_CLOCK, dialect.go(CLOCK_MS, 60_000)),
        (_SECOND_CLOCK, dialect.go(60_000, CLOCK_MS)),
    ):
        if name == _SECOND_CLOCK and dialect.game(dialect.reply).to_move == 0:
            check.skipped(name, "no position of this variant with this side to move")
        elif _keeps_clock(check, name, go, CLOCK_MS, matters=matters):
            check.usable.setdefault("clock", dialect.go(1500, 1500))
    go = dialect.go(SHORT_MS, SHORT_MS)
    if all(_keeps_clock(check, _SHORT_CLOCK, go, SHORT_MS, matters=False) for _ in range(3)):
        check.passed(_SHORT_CLOCK, f"in time with {SHORT_MS} ms left, three times")


def try_increment(check: EngineCheck) -> None:
    """Test an increment, beside byo-yomi where the games have both."""
    control = check.player.time_control
    matters = control is not None and control.increment > 0
    go, allowed = check.dialect.go(200, 200, 100), 200
    if control is not None and control.increment and control.overtime:
        go, allowed = f"{go} byoyomi 100", 300
    _keeps_clock(check, "clock with an increment", go, allowed, matters=matters)


def try_overtime(check: EngineCheck) -> None:
    """Test the last move of a time control (UCI) or byo-yomi (USI)."""
    control = check.player.time_control
    if check.dialect.name == "UCI":
        name, matters = "last move of a time control", control is not None and control.moves > 0
        go = f"{check.dialect.go(CLOCK_MS, CLOCK_MS)} movestogo 1"
    else:
        name, matters = "byo-yomi", control is not None and control.overtime != ""
        go = check.dialect.go(0, 0).replace("byoyomi 0", f"byoyomi {CLOCK_MS}")
    _keeps_clock(check, name, go, CLOCK_MS, matters=matters)


def _keeps_clock(check: EngineCheck, name: str, go: str, allowed: int, *, matters: bool) -> bool:
    """Return whether a search ends in time, and record the finding."""
    position = check.dialect.reply if name == _SECOND_CLOCK else check.dialect.middlegame
    answer, over = check.timed_search(position, go, allowed)
    if matters or name == _SHORT_CLOCK:
        check.note_overstep("clock", over)
    evidence = check.tail.evidence()
    is_late = answer.was_stopped or over > check.margin_ms
    if is_late and name in (_FIRST_CLOCK, _SECOND_CLOCK):
        equal_clocks = check.dialect.go(allowed, allowed)
        equal, equal_over = check.timed_search(position, equal_clocks, allowed)
        if not equal.was_stopped and equal_over <= check.margin_ms:
            detail = (
                f"took {answer.ms:.0f} ms with {allowed} ms left, but is in time when both clocks "
                "are equal: the engine uses the other side's clock"
            )
            check.failed(name, detail, matters=matters, exchange=evidence)
            return False
    if answer.was_stopped:
        ended = f"{go!r} did not end within {answer.ms / 1000:.1f} s"
        check.failed(name, ended, matters=matters, exchange=evidence)
    elif is_late:
        detail = f"answered {over:.0f} ms after its clock of {allowed} ms had run out, twice"
        check.late(name, detail, matters=matters)
    elif name != _SHORT_CLOCK:
        check.passed(name, f"used {answer.ms:.0f} of {allowed} ms")
    return not is_late


def try_own_limits(check: EngineCheck) -> None:
    """Measure the time of a move in games without a clock."""
    player = check.player
    limits = {"nodes": player.nodes, "depth": player.depth}
    words = [f"{name} {value}" for name, value in limits.items() if value is not None]
    if not words or player.time_control is not None or player.move_time is not None:
        return
    go = f"go {' '.join(words)}"
    answer = check.search_in_new_game(check.dialect.middlegame, go)
    check.move_seconds = answer.ms / 1000
    if answer.was_stopped:
        check.skipped("its own limit", f"{go!r} takes more than {check.move_seconds:.1f} s a move")
    else:
        check.passed("its own limit", f"{go!r} takes {check.move_seconds:.2f} s")


# behaviour


def try_stop(check: EngineCheck) -> None:
    """Test isready and stop during a search, and stop directly after go."""
    middlegame, seconds = check.dialect.middlegame, check.patience.stop
    search = check.starts_search(middlegame, "go infinite", check.patience.idle)
    if isinstance(search, Answer):
        check.warned("go infinite", "bestmove before `stop`")
    else:
        try:
            ms, _ = check.ready(seconds=seconds)
            check.passed("isready during a search", f"readyok after {ms:.0f} ms")
        except EngineTimeout:
            check.engine().channel.has_failed = False
            check.warned("isready during a search", f"no readyok in {seconds:g} s")
        _try_to_stop(check, search)
    for _ in range(RACES):
        race = search_for(f"{middlegame.command}\ngo infinite\nstop\n")
        try:
            check.converse(race, seconds)
        except EngineTimeout:
            detail = f"no bestmove in {seconds:g} s when `stop` directly follows `go`"
            check.failed("stop at once", detail, matters=check.player.ponder)
            check.drop()
            return
    check.passed("stop at once", f"obeyed {RACES} times")


def _try_to_stop(check: EngineCheck, search: Dialogue) -> None:
    if check.tail.bestmoves:
        # it came together with readyok
        check.warned("go infinite", "bestmove before `stop`")
        return
    try:
        ms = check.stop(search).ms
    except EngineTimeout:
        detail = f"no bestmove in {check.patience.stop:g} s after `stop`"
        check.failed("stop", detail, matters=check.player.ponder)
        check.drop()
        return
    fault = f"bestmove {ms:.0f} ms after `stop`" if ms > SLOW_STOP else ""
    check.judged("stop", fault, f"bestmove after {ms:.0f} ms")


def try_idle_stop(check: EngineCheck) -> None:
    """Test `stop` without a search."""
    check.tail.bestmoves = 0
    check.ready("stop")
    check.unexpected_lines()
    fault = "the engine answers with a move" if check.tail.bestmoves else ""
    check.judged("stop without a search", fault, "ignored")


def try_ponder(check: EngineCheck) -> None:
    """Test ponderhit, and stop during pondering, for players that ponder."""
    if not check.player.ponder:
        return
    middlegame, idle = check.dialect.middlegame, check.patience.idle
    go = check.dialect.go(2000, 2000).replace("go ", "go ponder ")
    search = check.starts_search(middlegame, go, idle)
    if isinstance(search, Answer):
        check.warned("ponder", "bestmove before ponderhit")
    else:
        ms = check.converse(search_for("ponderhit\n", search.lines), 2.0 + check.patience.search)
        is_late = ms > 2000 + check.margin_ms
        fault = f"{ms:.0f} ms for a move after ponderhit, with 2000 ms left" if is_late else ""
        check.judged("ponder", fault, f"bestmove {ms:.0f} ms after ponderhit", matters=True)
    search = check.starts_search(middlegame, go, idle)
    if isinstance(search, Dialogue):
        check.passed("stop while pondering", f"bestmove after {check.stop(search).ms:.0f} ms")


def try_silence(check: EngineCheck) -> None:
    """Test that nothing is printed after bestmove."""
    for _ in range(3):
        check.search(check.dialect.middlegame, check.quick)
        lines = check.unexpected_lines()
        if lines:
            check.warned("silence after bestmove", f"the engine also prints {lines[0]!r}")
            return
    check.passed("silence after bestmove")


def try_unknown_commands(check: EngineCheck) -> None:
    """Test an empty line and an unknown command."""
    _, lines = check.ready("", NONSENSE)
    answer = f"answered by {lines[0]!r}" if lines else "ignored"
    check.passed("unknown command and empty line", answer)


def try_new_games(check: EngineCheck) -> None:
    """Test many new games, with a search now and then, for time and memory."""

    def search_and_measure() -> int | None:
        check.search(check.dialect.middlegame, check.quick)
        return check.engine().measure().peak_memory

    check.new_game()
    before = search_and_measure()
    times: list[float] = []
    start = time.monotonic()
    while len(times) < NEW_GAMES and time.monotonic() - start < NEW_GAMES_SECONDS:
        times.append(check.new_game())
        if len(times) % 5 == 0:
            search_and_measure()
    after = check.engine().measure().peak_memory
    if before and after and after > before + LEAK_BYTES and after > LEAK_FACTOR * before:
        check.grows = True
        growth = f"memory grew from {_mib(before)} to {_mib(after)} in {len(times)} games"
        check.warned("new games", growth, ())
    else:
        check.passed("new games", f"{len(times)} in a row, at most {max(times):.1f} ms each")


def try_repeatability(check: EngineCheck) -> None:
    """Test that the same search after a new game gives the same answer."""
    name, go = "the same search again", check.repeatable
    if go is None:
        check.skipped(name, "the engine obeys neither nodes nor depth")
        return
    threads = _threads(check)
    if threads > 1:
        check.skipped(name, f"searches of {threads} threads differ")
        return
    answers = []
    for _ in range(REPEATS):
        answer = check.search_in_new_game(check.dialect.middlegame, go)
        info = answer.final_info()
        score = None if info is None else info.score if info.mate is None else info.mate
        answers.append((answer.bestmove, score, None if info is None else answer.most("nodes")))
    if len(set(answers)) == 1:
        check.passed(name, f"the same {REPEATS} times, with {go!r}")
    else:
        check.is_repeatable = False
        moves = ", ".join(f"{move} ({score})" for move, score, _ in answers)
        check.warned(name, f"not deterministic with {go!r} after a new game: {moves}", ())


def _threads(check: EngineCheck) -> int:
    """Return the number of threads by the engine's options."""
    values = {name.casefold(): value for name, value in check.player.options.items()}
    name = next((name for name in THREADS if name in check.options), None)
    try:
        return 1 if name is None else int(values.get(name, check.options[name].default))
    except ValueError:
        return 1


def try_memory(check: EngineCheck) -> None:
    """Report the peak of memory."""
    peak = check.engine().measure().peak_memory
    if peak is not None:
        check.passed("memory", f"at most {_mib(peak)}")


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def try_quit(check: EngineCheck) -> None:
    """Test quit, quit during a search, and the end of standard input."""
    _try_to_quit(check, "quit")
    if check.handshake_seconds + check.setup_seconds > 1:
        check.skipped("quit during a search", "the engine takes long to start")
        return
    check.starts_search(check.dialect.middlegame, "go infinite", 0.05)
    _try_to_quit(check, "quit during a search")
    check.engine()
    _try_to_quit(check, "end of standard input", b"")


def _try_to_quit(check: EngineCheck, name: str, words: bytes = b"quit\n") -> None:
    channel, seconds = check.engine().channel, check.patience.quit
    start = time.monotonic()
    if words:
        channel.send(words, seconds)
    else:
        channel.process.close_stdin()
    fault = ""
    if not channel.process.wait(seconds):
        fault = f"the engine has not exited after {seconds:g} s"
    elif channel.process.exit_status() != "status 0":
        fault = f"the engine exits with {channel.process.exit_status()}"
    ms = 1000 * (time.monotonic() - start)
    check.judged(name, fault, f"the engine exits after {ms:.0f} ms")
    check.drop()
