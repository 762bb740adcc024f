"""Test UCI and USI engines: declarations, limits, moves, and behaviour between searches."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ringmaster.engines.engine import Limits
from ringmaster.engines.uci import uci_go_command, usi_go_command
from ringmaster.engines.uci_messages import OptionDeclaration, Ready
from ringmaster.errors import EngineError, IllegalMove, OptionRefused
from ringmaster.games.clean_text import one_line
from ringmaster.play.compliance.engine_check import EngineCheck, Search
from ringmaster.play.compliance.positions import CheckPosition

#: The most nodes and plies of a test search.
COUNTS = {"nodes": 5000, "depth": 4}
#: More or less than these shares of a limit is a fault: an engine may count only now and then.
MOST = {"nodes": 2.0, "depth": 1.0}
LEAST = {"nodes": 0.02, "depth": 0.5, "movetime": 0.25}
FIRST_ITERATION = 1000  # nodes that any engine may need for its first iteration
INCREMENT_MS, OPPONENT_MS = 100, 60_000  # on the clocks of a test search
TRIES = 2  # searches that show that a limit is not obeyed
SLOW_STOP = 500  # a slower answer to `stop` in ms is a fault
MOST_FAULTS = 5  # faulty declarations that are reported
MOST_BREAKDOWNS = 3  # the number of crashes or hangs that ends the test of moves
#: Answers over USI in place of a move.
NO_MOVES = ("resign", "win")


def try_handshake(check: EngineCheck) -> None:
    lines = check.tail.handshake
    missing = [x for x in ("id name", "id author") if not any(y.startswith(x + " ") for y in lines)]
    detail = f"{1000 * check.handshake_seconds:.0f} ms after its start"
    check.judge(f"no {' and no '.join(missing)}" if missing else "", detail, exchange=())
    check.note("pass", f"in {1000 * check.setup_seconds:.0f} ms", "ready for a game")


def try_options(check: EngineCheck) -> None:
    """Test the declarations of options: readable, unique, with possible defaults."""
    declared = [line for line in check.tail.handshake if line.startswith("option")]
    faults = []
    for line in declared:
        fault, option = "cannot be read", OptionDeclaration.parse(line)
        if option is not None:
            name = option.name.casefold()
            fault = f"option {option.name!r} is declared twice" if name in check.options else ""
            check.options[name] = option
            try:
                option.render(True if option.type == "button" else option.default)
            except OptionRefused as refusal:
                fault = f"the default of {refusal}"
        if fault:
            faults.append((fault, line))
    for fault, line in faults[:MOST_FAULTS]:
        check.judge(fault, exchange=(f"< {one_line(line, 160)}",))
    if not faults:
        check.note("pass", f"{len(declared)} declared, their defaults within their ranges")


# limits


class Limit(NamedTuple):
    """A limit of a test search.

    amount    nodes, plies or ms
    go        the `go` command, with {} for the amount
    position  None: the middlegame
    quick     a `go` command for a short search, if the engine obeys the limit
    """

    name: str
    amount: int
    go: str
    position: CheckPosition | None = None
    quick: str = "go movetime 60"


def limits_of(check: EngineCheck) -> Iterator[Limit]:
    """Yield each limit of the player's games, or a smaller one of its kind."""
    player, most_ms = check.player, round(1000 * check.patience.clock)
    for name, most in COUNTS.items():
        amount = getattr(player, name)
        if amount is not None:
            quick = f"go {name} {min(amount, most)}"
            yield Limit(name, min(amount, most), f"go {name} {{}}", quick=quick)
            if name == "nodes" and amount < most:
                # few nodes reveal an engine that searches more, many one that searches fewer
                yield Limit(name, most, "go nodes {}", quick=quick)
    if player.move_time is not None:
        yield Limit("movetime", min(round(1000 * player.move_time), most_ms), "go movetime {}")
    control = player.time_control
    if control is None:
        return
    is_usi = player.protocol == "usi"
    byoyomi = most_ms // (2 if control.base else 1) if is_usi and control.period else 0
    base, increment = most_ms - byoyomi, INCREMENT_MS if control.increment else 0

    def go(clocks: tuple[int, int]) -> str:
        # the move before a new base time is the most urgent one
        limits = Limits(0, clocks, (increment, increment), byoyomi, 1 if control.moves else 0)
        return (usi_go_command if is_usi else uci_go_command)(limits).decode().strip()

    for side, position in enumerate(check.positions[:2]):
        # with byo-yomi alone, both clocks are at 0
        opponents = OPPONENT_MS if base else 0
        clocks = (base, opponents) if side == 0 else (opponents, base)
        yield Limit("clock", most_ms, go(clocks), position, quick=go((base, base)))


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
    name, amount, is_timed = limit.name, limit.amount, limit.name not in COUNTS
    breaches = list[str]()
    matters = False
    while len(breaches) < TRIES and end - time.monotonic() > check.patience.search / 5:
        allowed = amount if is_timed else 0
        search = check.search(limit.go.format(amount), limit.position, allowed)
        fault, matters = _breach(check, search, limit.name, amount)
        if not fault:
            detail = f"ended by `stop` after {search.ms / 1000:.1f} s: too slow to test"
            if not search.was_stopped:
                detail, check.quick = f"{amount:,}: ended after {search.ms:.0f} ms", limit.quick
            is_tested = check.is_trial or not search.was_stopped
            check.note("pass" if is_tested else "skip", detail, name)
            return True
        breaches.append(f"with {name} {amount:,} it {fault}")
        if search.was_stopped:
            break
        if name == "nodes" and matters:
            amount *= 10
    if breaches:
        if is_timed:
            check.over_ms = max(check.over_ms, search.ms - amount)
        is_same = breaches[1:] == breaches[:1]
        fault = "twice " + breaches[0] if is_same else "; ".join(breaches)
        check.judge(fault, name=name, matters=matters, is_late=is_timed and matters)
    return not breaches


def _breach(check: EngineCheck, search: Search, name: str, amount: int) -> tuple[str, bool]:
    """Return how a search breaks its limit, "" if it does not, and whether that spoils games."""
    stopped = f"had to be stopped after {search.ms / 1000:.1f} s" if search.was_stopped else ""
    if name in COUNTS:
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
    over = search.ms - amount
    if over > check.margin_ms and not check.is_trial:
        return f"answered {over:.0f} ms after its time of {amount} ms had run out", True
    # an engine may reserve more than a shortened move time
    is_own = check.player.move_time == amount / 1000 or not check.is_trial
    is_lazy = name == "movetime" and is_own and search.ms < LEAST[name] * amount
    return f"used {search.ms:.0f} ms" if is_lazy else "", False


# moves and scores


def try_positions(check: EngineCheck) -> None:
    """Search all positions; judge the moves, and the signs of the scores."""
    judged, breakdowns = 0, 0
    #: Sides to move where the score has the right sign, and where it has not.
    movers = defaultdict[bool, list[int]](list)
    wrong = ""
    for position in check.positions:
        try:
            search = check.search(check.quick, position)
        except EngineError as error:
            check.judge(f"{position.name}: {error}", matters=True)
            check.drop()
            breakdowns += 1
            if breakdowns == MOST_BREAKDOWNS:
                return
            continue
        judged += 1
        game = position.game(check.settings)
        if check.player.protocol != "usi" or search.bestmove not in NO_MOVES:
            try:
                game.play(search.bestmove)
            except IllegalMove as error:
                fault = f"{position.name}: {error.move!r} is illegal: {error.reason}"
                check.judge(fault, matters=True)
        score = search.score()
        if position.sign and score is not None:
            mover = position.game(check.settings).to_move
            score = -score if check.player.turns_scores(mover) else score
            is_right = score * position.sign > 0
            movers[is_right].append(mover)
            wrong = wrong or ("" if is_right else f"{position.name}: wrong sign")
    if not any(f.name == check.name and f.status == "fail" for f in check.findings):
        check.note("pass", f"legal in {judged} positions")
    right, others = set(movers[True]), set(movers[False])
    if others and check.player.score_pov != "mover":
        wrong = f"score_pov={check.player.score_pov!r} does not agree with them"
    elif len(right) == len(others) == 1 and right != others:
        sides = ("Black", "White") if check.player.protocol == "usi" else ("White", "Black")
        side = sides[movers[True][0]]
        wrong = f"they seem to be {side}'s (score_pov={side.lower()!r} corrects them)"
    check.judge(wrong, f"right in {len(movers[True])} positions", "scores", exchange=())


# behaviour


def try_silence(check: EngineCheck) -> None:
    """Test that nothing is printed after bestmove."""
    check.search(check.quick)
    check.judge_silence(check.name)


def try_stop(check: EngineCheck) -> None:
    """Test isready and stop during a search without a limit."""
    seconds, search = check.patience.stop, Search(check.positions[0], "go infinite")
    check.converse(search, check.patience.idle)
    if search.is_complete:
        check.judge("bestmove before `stop`", name="go infinite")
        return
    ready = check.converse(Ready(), seconds)
    fault = f"no readyok in {seconds:g} s" if ready is None else ""
    check.judge(fault, "answered by readyok", "isready during a search")
    ms = check.stop(search)
    if ms is None:
        fault = f"no bestmove in {seconds:g} s after `stop`"
        check.judge(fault, matters=check.player.ponder)
    else:
        detail = f"bestmove {ms:.0f} ms after `stop`"
        check.judge(detail if ms > SLOW_STOP else "", detail)
