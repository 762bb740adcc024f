"""Test an engine before the first game of a competition: its player's limits, and tuned options.

The tests of limits take a second, the tests of options five.  `check_uci` tests all limits.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence

import msgspec

from ringmaster.engines.engine import Engine
from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.errors import EngineError, EngineNotStarted, EngineTimeout
from ringmaster.model.jobs import GameSettings, OptionChange
from ringmaster.model.players import OptionValue, Player
from ringmaster.model.results import SEARCH, TUNED_OPTIONS, Finding
from ringmaster.play.compliance import check_uci
from ringmaster.play.compliance.engine_check import Answer, EngineCheck, Patience, TranscriptTail
from ringmaster.play.compliance.positions import CheckPosition, dialect_of

#: Seconds for all searches with a player's limits, and for one search.
WHOLE, EACH = 0.9, 0.5
PATIENCE = Patience(search=EACH, stop=0.4)
#: Nodes that any engine may need for its first iteration.
FIRST_ITERATION = 1000
#: The longest time that a search is given, in ms.
MOVE_MS = CLOCK_MS = 200
#: Searches that show that a limit is not obeyed.
TRIES = 2
#: Seconds for the options of a tune.
SECONDS = 5.0
#: Nodes of a search and the greatest number of positions; later stages test options that showed
#: no effect in earlier stages.
STAGES = ((2000, 3), (2000, 30), (20_000, 30))
#: The least number of positions.
LEAST_POSITIONS = 3
#: Depths for engines that ignore nodes.
DEPTHS, ENOUGH_NODES = range(1, 13), 1000
#: With fewer nodes over all positions, a search shows no effects.
LEAST_NODES = 500
#: The share of the time for one pass over the positions.
SHARE = 0.1
#: Megabytes of the hash table: clearing a large one takes longer than a search.
HASH = 16
#: Option names in a message.
MOST_NAMES = 10


def run_first_tests(
    engine: Engine,
    player: Player,
    settings: GameSettings,
    changes: Sequence[OptionChange],
    *,
    own_limits: bool,
) -> tuple[Finding, ...]:
    """Test an engine that is set up; return faults and tests that were impossible.

    own_limits  whether to test the player's limits
    changes     options whose effect is tested

    The engine needs a new game afterwards.  Raises JobAbandoned.
    """
    if not isinstance(engine, UciOrUsiEngine):
        return ()

    def no_new_process() -> Engine:
        raise EngineNotStarted("it has ended", player.code)

    dialect = dialect_of(player, settings)
    check = EngineCheck(player, settings, no_new_process, TranscriptTail(), PATIENCE, dialect)
    former = engine.channel.transcript
    check.adopt(engine)
    engine.checked_for = None
    try:
        if own_limits:
            _try_own_limits(check)
        if changes:
            try_effects(check, changes)
    except EngineError as error:
        check.warned(SEARCH, str(error))
    finally:
        engine.channel.transcript = former
    return tuple(finding for finding in check.findings if finding.status != "pass")


# limits


def _try_own_limits(check: EngineCheck) -> None:
    """Search with each of the player's limits, or with a smaller one that fits into a second."""
    player = check.player
    end = time.monotonic() + WHOLE
    try:
        if player.nodes is not None:
            # few nodes reveal an engine that searches more, many nodes also one that searches fewer
            limits = (min(player.nodes, check_uci.NODES), check_uci.NODES)
            for nodes in dict.fromkeys(limits):
                if not _obeys_count(check, "nodes", nodes, end):
                    break
        if player.depth is not None:
            _obeys_count(check, "depth", min(player.depth, check_uci.DEPTH), end)
        if player.move_time is not None:
            _try_move_time(check, round(1000 * player.move_time), end)
        control = player.time_control
        if control is not None:
            go = check.dialect.go(CLOCK_MS, CLOCK_MS)
            if control.base == 0 and player.protocol == "usi":
                go = check.dialect.go(0, 0).replace("byoyomi 0", f"byoyomi {CLOCK_MS}")
            answer = _search(check, go, end)
            if answer is not None and answer.was_stopped:
                _record_late(check, "clock", f"{CLOCK_MS} ms on the clock", answer)
    except EngineTimeout as error:
        # the searches cannot be judged; games have longer deadlines
        check.skipped("limits", str(error))


def _search(check: EngineCheck, go: str, end: float) -> Answer | None:
    """Search in a new game; return None when no time is left."""
    seconds = min(EACH, end - time.monotonic())
    if seconds < EACH / 5:
        return None
    check.new_game()
    return check.search(check.dialect.middlegame, go, seconds)


def _obeys_count(check: EngineCheck, name: str, limit: int, end: float) -> bool:
    """Return whether the engine obeys a limit of nodes or depth, as far as a search shows.

    A breach must occur twice.  After too few nodes, the second limit is ten times higher: an
    engine may report its nodes seldom.
    """
    breaches: list[str] = []
    while len(breaches) < TRIES:
        answer = _search(check, f"go {name} {limit}", end)
        if answer is None:
            break
        reached = answer.most(name)
        most, least = float(limit), limit / 2
        if name == "nodes":
            most = max(check_uci.NODES_FACTOR * limit, limit + FIRST_ITERATION)
            least = check_uci.NODES_LEAST * limit
        # a stopped search may just be slow
        is_few = reached is not None and reached < least and not answer.was_stopped
        if reached is None or not (reached > most or is_few):
            return True
        searched = f"{reached:,} nodes" if name == "nodes" else f"to depth {reached}"
        breaches.append(f"with {name} {limit:,} it searched {searched}")
        if answer.was_stopped:
            breaches.append(f"it had to be stopped after {answer.ms / 1000:.1f} s")
            break
        if name == "nodes" and is_few:
            limit *= 10
    if not breaches:
        return True
    is_same = breaches[1:] == breaches[:1]
    check.warned(name, "twice " + breaches[0] if is_same else "; ".join(breaches))
    return False


def _try_move_time(check: EngineCheck, own: int, end: float) -> None:
    limit = min(own, MOVE_MS)
    times: list[float] = []
    while len(times) < TRIES:
        answer = _search(check, f"go movetime {limit}", end)
        if answer is None:
            return
        if answer.was_stopped:
            _record_late(check, "movetime", f"movetime {limit}", answer)
            return
        times.append(answer.ms)
        # an engine may reserve more than a shortened move time
        if limit < own or answer.ms >= check_uci.LEAST_USED * limit:
            return
    used = " and ".join(f"{ms:.0f}" for ms in times)
    check.warned("movetime", f"with movetime {limit} it used {used} ms")


def _record_late(check: EngineCheck, name: str, request: str, answer: Answer) -> None:
    """Record a search that needed `stop`, unless the machine is busy."""
    if not check.is_busy:
        seconds = answer.ms / 1000
        check.warned(name, f"with {request} it had to be stopped after {seconds:.1f} s")


# tuned options


def try_effects(check: EngineCheck, changes: Sequence[OptionChange]) -> None:
    """Record tuned options without an effect on searches limited by nodes or depth.

    Such searches are repeatable, so any difference shows an effect.  An engine whose searches
    vary anyway is not judged.  Groups of options are changed together; a group with an effect
    is halved.
    """
    engine = check.engine()
    assert isinstance(engine, UciOrUsiEngine)
    if not check.player.keeps_process:
        reason = "each game has a new process, which may take them differently"
        check.skipped(TUNED_OPTIONS, reason)
        return
    try:
        _Effects(check, engine).run(changes)
    except EngineTimeout as error:
        check.skipped(TUNED_OPTIONS, str(error))
    finally:
        engine.change_player(check.player)


class _Effects:
    """Compare searches with changed options to searches without changes."""

    def __init__(self, check: EngineCheck, engine: UciOrUsiEngine) -> None:
        self._check = check
        self._engine = engine
        self._end = time.monotonic() + SECONDS
        dialect = check.dialect
        first = (dialect.middlegame, dialect.reply)
        self._positions: Sequence[CheckPosition] = tuple(
            dict.fromkeys((*first, *(p for p in dialect.positions if not p.mate)))
        )
        self._options = {**check.player.options}
        # small values make searches short and repeatable
        for name, most in ((dialect.memory, HASH), ("Threads", 1)):
            option = engine.options.get(name.casefold())
            if option is not None and option.type == "spin":
                value = self._options.get(option.name, option.default)
                if str(value).isdecimal() and int(value) > most:
                    self._options[option.name] = max(most, option.minimum or 0)
        self._go = ""
        self._base: list[Hashable] = []
        #: Nodes of the last pass over the positions.
        self._nodes = 0

    def run(self, changes: Sequence[OptionChange]) -> None:
        """Record options without effect."""
        check = self._check
        self._set({})
        idle, untested = list(changes), 0
        stages: list[str] = []
        for nodes, most in STAGES:
            if not idle or time.monotonic() > self._end:
                break
            go = self._find_go(nodes)
            problem = "no limit is known that it obeys" if go is None else self._learn(go, most)
            if problem:
                check.skipped(TUNED_OPTIONS, problem)
                return
            idle, more = self._without_effect(idle)
            untested += more
            stages.append(f"{len(self._base)} with {self._go.removeprefix('go ')}")
        if not stages:
            untested = len(idle)
        elif idle:
            self._record(idle, len(changes), ", ".join(stages[-2:]))
        if untested:
            reason = f"{untested} of {len(changes)} not tested in {SECONDS:g} s"
            check.skipped(TUNED_OPTIONS, reason)

    def _record(self, idle: Sequence[OptionChange], total: int, searches: str) -> None:
        names = ", ".join(change.code for change in idle[:MOST_NAMES])
        if len(idle) > MOST_NAMES:
            names += f" and {len(idle) - MOST_NAMES} more"
        text = f"no effect seen of {len(idle)} of {total} tuned options: {names}; at the ends of"
        text += f" their ranges all moves, scores and nodes are the same (positions: {searches})"
        if self._check.player.time_control is not None:
            text += "; these searches do not show options of the time management"
        self._check.warned(TUNED_OPTIONS, text, ())

    def _find_go(self, nodes: int) -> str | None:
        """Return a `go` command for about this number of nodes that the engine obeys."""
        answer = self._search(self._positions[0], f"go nodes {nodes}")
        searched = answer.most("nodes") or 0
        if not answer.was_stopped and nodes / 4 <= searched <= 2 * nodes + ENOUGH_NODES:
            return f"go nodes {nodes}"
        best = None
        for depth in DEPTHS:
            answer = self._search(self._positions[0], f"go depth {depth}")
            if answer.was_stopped:
                break
            best = f"go depth {depth}"
            if (answer.most("nodes") or 0) >= nodes / 2:
                break
        return best

    def _learn(self, go: str, most: int) -> str:
        """Search without changes in up to `most` positions; return a reason to stop, or ""."""
        self._go, self._base = go, []
        until = time.monotonic() + SHARE * SECONDS
        for mark in self._marks({}):
            self._base.append(mark)
            count = len(self._base)
            if count == most or (count >= LEAST_POSITIONS and time.monotonic() > until):
                break
        if self._differs({}):
            return f"the same search ({go}) is another one each time"
        return f"its searches ({go}) are too short to tell" if self._nodes < LEAST_NODES else ""

    def _without_effect(self, changes: list[OptionChange]) -> tuple[list[OptionChange], int]:
        """Return the options without effect, and the number of untested options."""
        idle: list[OptionChange] = []
        untested = 0
        groups = [changes]
        while groups:
            group = groups.pop()
            if time.monotonic() > self._end:
                untested += len(group)
            elif not self._has_effect(group):
                idle += group
            elif len(group) > 1:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]
        return idle, untested

    def _has_effect(self, group: Sequence[OptionChange]) -> bool:
        """Return whether changing all options of a group makes a difference."""
        for end in range(max(len(change.ends) for change in group)):
            options: dict[str, OptionValue] = {}
            for change in group:
                options |= change.ends[end] if end < len(change.ends) else {}
            if self._differs(options):
                return True
        return False

    def _differs(self, options: dict[str, OptionValue]) -> bool:
        return any(a != b for a, b in zip(self._base, self._marks(options), strict=False))

    def _marks(self, options: dict[str, OptionValue]) -> Iterator[Hashable]:
        """Yield a mark of the search of each position, with some options changed."""
        self._set(options)
        self._nodes = 0
        for position in self._positions:
            answer = self._search(position, self._go)
            self._nodes += answer.most("nodes") or 0
            counts = ("depth", "seldepth", "multipv", "nodes")
            lines = tuple(
                (*map(info.counts.get, counts), info.score, info.mate, info.sign, info.pv)
                for info in answer.infos
                if info.pv
            )
            yield answer.bestmove, answer.ponder, answer.was_stopped, lines

    def _set(self, options: dict[str, OptionValue]) -> None:
        player = msgspec.structs.replace(self._check.player, options={**self._options, **options})
        self._engine.change_player(player)
        self._engine.prepare(self._check.settings, new_game=True)

    def _search(self, position: CheckPosition, go: str) -> Answer:
        return self._check.search(position, go)
