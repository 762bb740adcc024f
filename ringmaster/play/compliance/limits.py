"""Test whether an engine obeys the limits of its player's games."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import NamedTuple

from ringmaster.engines.engine import Limits
from ringmaster.engines.gtp import GtpEngine
from ringmaster.play.compliance.engine_check import EngineCheck, Search
from ringmaster.play.compliance.positions import CheckPosition

MOST_NODES, MOST_DEPTH = 5000, 4  # of a test search
#: More or less than these shares of a limit is a fault: an engine may count only now and then.
MOST = {"nodes": 2.0, "depth": 1.0}
LEAST = {"nodes": 0.02, "depth": 0.5, "movetime": 0.25}
FIRST_ITERATION = 1000  # nodes that any engine may need for its first iteration
INCREMENT_MS, OPPONENT_MS = 100, 60_000  # on the clocks of a test search
GTP_SECONDS = 2  # on the clock of a test over GTP, which counts in seconds
TRIES = 2  # searches that show that a limit is not obeyed


class Limit(NamedTuple):
    """A limit of a test search.

    amount  nodes, plies or ms
    quick   limits of a short search, if the engine obeys the limit; None: the usual ones
    """

    name: str
    amount: int
    limits: Limits
    position: CheckPosition
    quick: Limits | None = None


def limits_of(check: EngineCheck) -> Iterator[Limit]:
    """Yield each limit of the player's games, or a smaller one of its kind."""
    player, position = check.player, check.positions[0]
    if player.protocol == "gtp":
        yield from _gtp_clock(check)
        return
    if player.nodes is not None:
        few = min(player.nodes, MOST_NODES)
        quick = Limits(0.0, nodes=few)
        yield Limit("nodes", few, quick, position, quick)
        if few < MOST_NODES:
            # few nodes reveal an engine that searches more, many one that searches fewer
            yield Limit("nodes", MOST_NODES, Limits(0.0, nodes=MOST_NODES), position, quick)
    if player.depth is not None:
        plies = min(player.depth, MOST_DEPTH)
        quick = Limits(0.0, depth=plies)
        yield Limit("depth", plies, quick, position, quick)
    if player.move_time is not None:
        seconds = min(player.move_time, check.patience.clock)
        ms = round(1000 * seconds)
        yield Limit("movetime", ms, Limits(seconds, move_time_ms=ms), position)
    yield from _clocks(check)


def _clocks(check: EngineCheck) -> Iterator[Limit]:
    """Yield the player's clock for either side, with little time for it."""
    control, ms = check.player.time_control, round(1000 * check.patience.clock)
    if control is None:
        return
    is_byoyomi = check.player.protocol == "usi" and control.period > 0
    byoyomi = ms // (2 if control.base else 1) if is_byoyomi else 0
    base, increment = ms - byoyomi, INCREMENT_MS if control.increment else 0
    # with byo-yomi alone, both clocks are at 0
    opponent = OPPONENT_MS if base else 0
    quick = Limits(
        check.patience.clock,
        (base, base),
        (increment, increment),
        byoyomi,
        # the move before a new base time is the most urgent one
        moves_to_go=1 if control.moves else 0,
    )
    both = (base, opponent), (opponent, base)
    for position, clocks in zip(check.positions[:2], both, strict=False):
        yield Limit("clock", ms, dataclasses.replace(quick, clock_ms=clocks), position, quick)


def _gtp_clock(check: EngineCheck) -> Iterator[Limit]:
    """Yield the clock of a Go player with two seconds left, in overtime for one stone."""
    control = check.player.time_control
    if control is None:
        return
    engine = check.engine()
    assert isinstance(engine, GtpEngine)
    if not engine.knows("time_left"):
        check.note("skip", "it has no time_left", "clock")
        return
    left = float(GTP_SECONDS), 1 if control.period else 0
    limits = Limits(GTP_SECONDS, time_left=(left, None))
    yield Limit("clock", 1000 * GTP_SECONDS, limits, check.positions[0])


def try_limits(check: EngineCheck) -> None:
    """Search with each limit of the player's games, as long as there is time."""
    end, breached = time.monotonic() + check.patience.limits, set[str]()
    for limit in limits_of(check):
        if limit.name not in breached and not _obeys(check, limit, end):
            breached.add(limit.name)


def _obeys(check: EngineCheck, limit: Limit, end: float) -> bool:
    """Judge whether the engine obeys a limit, as far as searches show.

    A breach must occur twice, unless the engine had to be stopped.  After too few nodes, the
    second limit is ten times higher: an engine may report its nodes seldom.
    """
    name, amount, limits = limit.name, limit.amount, limit.limits
    breaches = list[str]()
    spoils = False
    while len(breaches) < TRIES and end - time.monotonic() > check.patience.search / 5:
        check.begin(limit.position)
        search = check.think(limits)
        fault, spoils = _breach(check, search, name, amount)
        if not fault:
            if search.was_stopped:
                detail = f"ended by `stop` after {search.ms / 1000:.1f} s: too slow to test"
                # before a first game the time for a search is short
                check.note("skip" if check.job.thorough else "pass", detail, name)
            else:
                check.quick = limit.quick or check.quick
                check.note("pass", f"{amount:,}: ended after {search.ms:.0f} ms", name)
            return True
        breaches.append(f"with {name} {amount:,} it {fault}")
        if search.was_stopped:
            break
        if name == "nodes" and spoils:
            amount *= 10
            limits = dataclasses.replace(limits, nodes=amount)
    if not breaches:
        return True
    fault = "; ".join(dict.fromkeys(breaches))
    check.judge(fault, name=name, spoils=spoils, is_timed=name not in MOST)
    return False


def _breach(check: EngineCheck, search: Search, name: str, amount: int) -> tuple[str, bool]:
    """Return the fault of a search that breaks its limit, else "", and whether it spoils games."""
    stopped = f"had to be stopped after {search.ms / 1000:.1f} s" if search.was_stopped else ""
    if name in MOST:
        reached = search.most(name)
        if reached is None:
            return "", False
        words = f"searched {reached:,} nodes" if name == "nodes" else f"searched to depth {reached}"
        most = max(MOST[name] * amount, amount + FIRST_ITERATION if name == "nodes" else 0)
        if reached > most:
            return f"{words}; it {stopped}" if stopped else words, bool(stopped)
        # a stopped search may just be slow
        is_short = reached < LEAST[name] * amount and not stopped
        return (words, True) if is_short else ("", False)
    if stopped:
        return stopped, True
    if not check.job.thorough:
        # games show small faults
        return "", False
    over = search.ms - amount
    own_margin = check.player.margin
    if over > 1000 * (check.settings.margin if own_margin is None else own_margin):
        return f"answered {over:.0f} ms after its time of {amount} ms had run out", True
    is_lazy = name == "movetime" and search.ms < LEAST[name] * amount
    return (f"used {search.ms:.0f} ms" if is_lazy else ""), False
