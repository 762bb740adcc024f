"""Whether a UCI or USI engine keeps to nodes, depth, move time and clock, and by
how much it oversteps them."""

from __future__ import annotations

from ringmaster.play.compliance.answers import Answer
from ringmaster.play.compliance.dialects import Probe
from ringmaster.play.compliance.searchbench import SearchBench

#: What is asked for.
NODES, DEPTH = 5000, 4
MOVE_MS = (100, 200, 150)
CLOCK_MS, SHORT_MS = 400, 100
#: An engine may look at the clock, or count, only now and then; beyond this
#: many times what was asked it does not keep to the limit.
NODES_FACTOR = 2
#: Of the nodes asked for, what an engine searches at least when it counts them at
#: all; one that only looks after each iteration searches a part of them.
NODES_LEAST = 0.02
#: Of a move time, what an engine uses at least when it means to use it.
LEAST_USED = 0.25
#: Overstepping by more than this (ms) is not a matter of margin.
NO_MARGIN = 1000

#: Tests in which the other side has much more time.
_FIRST_CLOCK, _SECOND_CLOCK = "clock of the first side", "clock of the second side"
_SHORT_CLOCK = "short clock"
_ASYMMETRIC = (_FIRST_CLOCK, _SECOND_CLOCK)


def try_nodes(bench: SearchBench) -> None:
    name = "nodes"
    matters = bench.player.nodes is not None
    answer = bench.in_new_game(bench.dialect.middlegame, f"go nodes {NODES}")
    counted = answer.most("nodes")
    if answer.was_stopped:
        _tell_unended(bench, answer, name, NODES, counted, f"{counted} nodes", matters=matters)
        return
    if counted is None:
        bench.usable["nodes"] = f"go nodes {NODES}"
        bench.passed(name, f"{NODES} asked for; it does not say how many it searched")
        return
    if counted < NODES_LEAST * NODES:
        bench.failed(
            name, f"searched {counted} nodes where {NODES} were asked for", matters=matters
        )
        return
    bench.usable["nodes"] = _calibrated(answer, counted)
    if counted > NODES_FACTOR * NODES:
        bench.warned(name, f"searched {counted} nodes where {NODES} were asked for")
    else:
        bench.passed(name, f"searched {counted} of {NODES} nodes in {answer.ms:.0f} ms")


def _tell_unended(
    bench: SearchBench,
    answer: Answer,
    name: str,
    asked: int,
    reached: int | None,
    words: str,
    *,
    matters: bool,
) -> None:
    """Tell of a search that had to be stopped before it reached what was asked for."""
    seconds = f"{answer.ms / 1000:.1f} s"
    if reached is not None and reached <= asked:
        bench.skipped(name, f"too slow to tell: {words} in {seconds}")
        return
    at = "" if reached is None else f", at {words}"
    bench.failed(
        name,
        f"go {name} {asked} did not end within {seconds}{at}",
        # without a count it may just be slow
        matters=matters and reached is not None,
    )


def _calibrated(answer: Answer, counted: int) -> str:
    """Return the limit in nodes that takes about 50 ms."""
    per_ms = max(counted, 1) / max(answer.ms, 0.2)
    return f"go nodes {max(200, min(20_000, int(50 * per_ms)))}"


def try_depth(bench: SearchBench) -> None:
    name = "depth"
    matters = bench.player.depth is not None
    answer = bench.in_new_game(bench.dialect.middlegame, f"go depth {DEPTH}")
    reached = answer.most("depth")
    if answer.was_stopped:
        _tell_unended(bench, answer, name, DEPTH, reached, f"depth {reached}", matters=matters)
        return
    bench.usable["depth"] = f"go depth {DEPTH}"
    if reached is not None and reached > DEPTH:
        bench.warned(name, f"searched to depth {reached} where {DEPTH} was asked for")
    else:
        bench.passed(name, f"depth {DEPTH} in {answer.ms:.0f} ms")


def try_movetime(bench: SearchBench) -> None:
    name = "movetime"
    matters = bench.player.move_time is not None
    worst = 0.0
    least = 1.0
    for asked in MOVE_MS:
        answer, over = bench.timed(bench.dialect.middlegame, f"go movetime {asked}", asked)
        if answer.was_stopped:
            bench.failed(
                name,
                f"go movetime {asked} did not end within {answer.ms / 1000:.1f} s",
                matters=matters,
            )
            return
        worst = max(worst, over)
        least = min(least, answer.ms / asked)
        if over > 1000 * bench.margin:
            bench.late(
                name,
                f"answered {over:.0f} ms after a move time of {asked} ms, twice",
                matters=matters,
            )
            bench.note_overstep("movetime", over)
            return
    bench.note_overstep("movetime", worst)
    bench.usable["movetime"] = "go movetime 60"
    if least < LEAST_USED:
        bench.warned(name, f"used {100 * least:.0f} % of its move time only")
    else:
        bench.passed(name, f"oversteps by {worst:.0f} ms at most" if worst > 0 else "in time")


def try_clock(bench: SearchBench) -> None:
    """Its own clock, not the other side's; and next to nothing left on it."""
    dialect = bench.dialect
    control = bench.player.time_control
    # where there is nothing but byo-yomi both clocks stand at 0
    matters = control is not None and control.base > 0
    trials = (
        (_FIRST_CLOCK, dialect.middlegame, dialect.clocks(CLOCK_MS, 60_000)),
        (_SECOND_CLOCK, dialect.reply, dialect.clocks(60_000, CLOCK_MS)),
    )
    for name, probe, go in trials:
        if name == _SECOND_CLOCK and dialect.game(probe).to_move == 0:
            # of a variant only the start position is known
            bench.skipped(name, "no position with this side to move is known")
            continue
        if _clock(bench, name, probe, go, CLOCK_MS, matters=matters):
            bench.usable.setdefault("clock", dialect.clocks(1500, 1500))
    go = dialect.clocks(SHORT_MS, SHORT_MS)
    for _ in range(3):
        if not _clock(
            bench, _SHORT_CLOCK, dialect.middlegame, go, SHORT_MS, matters=False, told=False
        ):
            return
    bench.passed(_SHORT_CLOCK, f"in time with {SHORT_MS} ms left, three times")


def try_increment(bench: SearchBench) -> None:
    control = bench.player.time_control
    matters = control is not None and control.increment > 0
    go, allowed = bench.dialect.clocks(200, 200, 100), 200
    if control is not None and control.increment and control.overtime:
        go, allowed = f"{go} byoyomi 100", 300
    _clock(bench, "clock with an increment", bench.dialect.middlegame, go, allowed, matters=matters)


def try_overtime(bench: SearchBench) -> None:
    """The last move before a time control (UCI), byo-yomi (USI)."""
    dialect = bench.dialect
    control = bench.player.time_control
    if dialect.name == "UCI":
        name, matters = "last move of a time control", control is not None and control.moves > 0
        go = f"{dialect.clocks(CLOCK_MS, CLOCK_MS)} movestogo 1"
    else:
        name, matters = "byo-yomi", control is not None and control.overtime != ""
        go = f"go {dialect.first} 0 {dialect.second} 0 byoyomi {CLOCK_MS}"
    _clock(bench, name, dialect.middlegame, go, CLOCK_MS, matters=matters)


def _clock(
    bench: SearchBench,
    name: str,
    probe: Probe,
    go: str,
    allowed: int,
    *,
    matters: bool,
    told: bool = True,
) -> bool:
    """Try a clock; returns whether it was kept.  told: whether to record so."""
    answer, over = bench.timed(probe, go, allowed)
    if matters or name == _SHORT_CLOCK:
        bench.note_overstep("clock", over)
    evidence = bench.tape.evidence()
    is_late = answer.was_stopped or over > 1000 * bench.margin
    if is_late and name in _ASYMMETRIC and _has_swapped(bench, probe, allowed):
        bench.failed(
            name,
            f"it took {answer.ms:.0f} ms with {allowed} ms left and keeps its time when both "
            "clocks are alike: it takes the other side's clock for its own",
            matters=matters,
            exchange=evidence,
        )
    elif answer.was_stopped:
        ended = f"{go!r} did not end within {answer.ms / 1000:.1f} s"
        bench.failed(name, ended, matters=matters, exchange=evidence)
    elif is_late:
        bench.late(
            name,
            f"answered {over:.0f} ms after its clock of {allowed} ms had run out, twice",
            matters=matters,
        )
    elif told:
        bench.passed(name, f"used {answer.ms:.0f} of {allowed} ms")
    return not is_late


def _has_swapped(bench: SearchBench, probe: Probe, allowed: int) -> bool:
    """Whether the engine keeps a clock when the other side's is the same."""
    answer, over = bench.timed(probe, bench.dialect.clocks(allowed, allowed), allowed)
    return not answer.was_stopped and over <= 1000 * bench.margin


def try_own_limits(bench: SearchBench) -> None:
    """How long a move takes in games, where no clock says so."""
    player = bench.player
    words = [
        f"{word} {value}"
        for word, value in (("nodes", player.nodes), ("depth", player.depth))
        if value is not None
    ]
    if not words or player.time_control is not None or player.move_time is not None:
        return
    go = f"go {' '.join(words)}"
    answer = bench.in_new_game(bench.dialect.middlegame, go)
    seconds = answer.ms / 1000
    if answer.was_stopped:
        bench.skipped("its own limit", f"{go!r} takes more than {seconds:.1f} s a move")
    else:
        bench.passed("its own limit", f"{go!r} takes {seconds:.2f} s")
    bench.move_seconds = seconds
