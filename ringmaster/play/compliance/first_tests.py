"""Test an engine before the first game of a competition: its player's limits, and tuned options.

The tests of limits take a second, the tests of options five.  `check_uci` tests all limits.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable, Iterator, Sequence

import msgspec

from ringmaster.engines.engine import Engine
from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.errors import EngineError, EngineNotStarted, EngineTimeout
from ringmaster.model.jobs import GameSettings, OptionChange
from ringmaster.model.players import OptionValue, Player
from ringmaster.model.results import SEARCH, TUNED_OPTIONS, Finding
from ringmaster.play.compliance.check_uci import COUNTS, LEAST, breach
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, Search, TranscriptTail
from ringmaster.play.compliance.positions import dialect_of

#: Seconds for all searches with a player's limits, and for one search.
WHOLE, EACH = 0.9, 0.5
PATIENCE = Patience(search=EACH, stop=0.4)
MOVE_MS = CLOCK_MS = 200  # the longest time that a search is given, in ms
TRIES = 2  # searches that show that a limit is not obeyed
SECONDS = 5.0  # seconds for the options of a tune
#: Nodes of a search and the greatest number of positions; later stages test options that showed
#: no effect in earlier stages.
STAGES = ((2000, 3), (2000, 30), (20_000, 30))
LEAST_POSITIONS = 3  # the least number of positions
DEPTHS, ENOUGH_NODES = range(1, 13), 1000  # depths for engines that ignore nodes
LEAST_NODES = 500  # with fewer nodes over all positions, a search shows no effects
SHARE = 0.1  # the share of the time for one pass over the positions
#: The hash table in megabytes (clearing a large one takes longer than a search), and threads.
SMALL = {"hash": 16, "usi_hash": 16, "threads": 1}
MOST_NAMES = 10  # option names in a message


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
    check.running, check.complaints = engine, []
    former, engine.channel.transcript = engine.channel.transcript, check.tail
    engine.checked_for = None
    try:
        if own_limits:
            _try_own_limits(check)
        if changes:
            try_effects(check, changes)
    except EngineError as error:
        check.judge(str(error), name=SEARCH)
    finally:
        engine.channel.transcript = former
    return tuple(finding for finding in check.findings if finding.status != "pass")


# limits


def _try_own_limits(check: EngineCheck) -> None:
    """Search with each of the player's limits, or with a smaller one that fits into a second."""
    player, control, end = check.player, check.player.time_control, time.monotonic() + WHOLE

    def search(go: str) -> Search | None:
        return check.search_in_new_game(go) if end - time.monotonic() > EACH / 5 else None

    try:
        if player.nodes is not None:
            # few nodes reveal an engine that searches more, many nodes also one that searches fewer
            few, many = min(player.nodes, COUNTS["nodes"]), COUNTS["nodes"]
            if _obeys(check, search, "nodes", few) and few < many:
                _obeys(check, search, "nodes", many)
        if player.depth is not None:
            _obeys(check, search, "depth", min(player.depth, COUNTS["depth"]))
        if player.move_time is not None:
            own = round(1000 * player.move_time)
            _obeys(check, search, "movetime", min(own, MOVE_MS), is_own=own <= MOVE_MS)
        if control is not None:
            has_base = control.base > 0 or player.protocol != "usi"
            clocks = (CLOCK_MS, CLOCK_MS) if has_base else (0, 0, 0, CLOCK_MS)
            found = search(check.dialect.go(*clocks))
            if found is not None and found.was_stopped and not check.is_busy:
                fault = f"with {CLOCK_MS} ms on the clock {_stopped(found)}"
                check.judge(fault, name="clock")
    except EngineTimeout as error:
        # the searches cannot be judged; games have longer deadlines
        check.note("skip", str(error), "limits")


def _stopped(search: Search) -> str:
    return f"it had to be stopped after {search.ms / 1000:.1f} s"


def _obeys(
    check: EngineCheck,
    search_for: Callable[[str], Search | None],
    name: str,
    limit: int,
    *,
    is_own: bool = True,
) -> bool:
    """Return whether the engine obeys a limit, as far as a search shows.

    is_own  whether games have this limit: an engine may reserve more than a shortened move time

    A breach must occur twice, unless the engine had to be stopped.  After too few nodes, the
    second limit is ten times higher: an engine may report its nodes seldom.
    """
    breaches: list[str] = []
    while len(breaches) < TRIES:
        search = search_for(f"go {name} {limit}")
        if search is None:
            break
        if name == "movetime":
            is_unused = is_own and search.ms < LEAST[name] * limit
            sign = -1 if is_unused else int(search.was_stopped and not check.is_busy)
            words = _stopped(search) if search.was_stopped else f"it used {search.ms:.0f} ms"
        else:
            sign, words = breach(search, name, limit), f"it searched {search.reached(name)}"
        if sign == 0:
            return True
        breaches.append(f"with {name} {limit:,} {words}")
        if search.was_stopped:
            breaches += [] if name == "movetime" else [_stopped(search)]
            break
        if name == "nodes" and sign < 0:
            limit *= 10
    is_same = breaches[1:] == breaches[:1]
    if breaches:
        check.judge("twice " + breaches[0] if is_same else "; ".join(breaches), name=name)
    return not breaches


# tuned options


def try_effects(check: EngineCheck, changes: Sequence[OptionChange]) -> None:
    """Record tuned options without an effect on searches limited by nodes or depth.

    Such searches are repeatable, so any difference shows an effect.  An engine whose searches
    vary anyway is not judged.  Groups of options are changed together; a group with an effect
    is halved.
    """
    check.name = TUNED_OPTIONS
    engine = check.engine()
    assert isinstance(engine, UciOrUsiEngine)
    if not check.player.keeps_process:
        check.note("skip", "each game has a new process, which may take them differently")
        return
    try:
        _Effects(check, engine).run(changes)
    except EngineTimeout as error:
        check.note("skip", str(error))
    finally:
        engine.change_player(check.player)


class _Effects:
    """Compare searches with changed options to searches without changes."""

    def __init__(self, check: EngineCheck, engine: UciOrUsiEngine) -> None:
        self._check = check
        self._engine = engine
        self._end = time.monotonic() + SECONDS
        dialect = check.dialect
        quiet = [position for position in dialect.positions if not position.mate]
        self._positions = list(dict.fromkeys((dialect.middlegame, dialect.reply, *quiet)))
        self._options = {**check.player.options}
        # small values make searches short and repeatable
        for name, most in SMALL.items():
            number = engine.option_number((name,))
            if number is not None and number > most:
                option = engine.options[name]
                self._options[option.name] = max(most, option.minimum or 0)
        self._go = ""
        #: Marks of the searches without changes.
        self._base: list[Hashable] = []
        #: Nodes of the last pass over the positions.
        self._nodes = 0

    def run(self, changes: Sequence[OptionChange]) -> None:
        check = self._check
        idle, untested, stages = list(changes), 0, list[str]()
        for nodes, most in STAGES:
            if not idle or time.monotonic() > self._end:
                break
            problem = self._learn(nodes, most)
            if problem:
                check.note("skip", problem)
                return
            groups, idle = [idle], []
            while groups:
                group = groups.pop()
                if time.monotonic() > self._end:
                    untested += len(group)
                elif not self._has_effect(group):
                    idle += group
                elif len(group) > 1:
                    middle = len(group) // 2
                    groups += [group[middle:], group[:middle]]
            stages.append(f"{len(self._base)} with {self._go.removeprefix('go ')}")
        if not stages:
            untested = len(idle)
        elif idle:
            names = ", ".join(change.code for change in idle[:MOST_NAMES])
            if len(idle) > MOST_NAMES:
                names += f" and {len(idle) - MOST_NAMES} more"
            fault = f"no effect seen of {len(idle)} of {len(changes)} tuned options: {names}; at"
            fault += " the ends of their ranges all moves, scores and nodes are the same"
            fault += f" (positions: {', '.join(stages[-2:])})"
            if check.player.time_control is not None:
                fault += "; these searches do not show options of the time management"
            check.judge(fault, exchange=())
        if untested:
            check.note("skip", f"{untested} of {len(changes)} not tested in {SECONDS:g} s")

    def _learn(self, nodes: int, most: int) -> str:
        """Search without changes in up to `most` positions; return a reason to stop, or ""."""
        self._set({})
        self._go, self._base = self._find_go(nodes), []
        if not self._go:
            return "no limit is known that it obeys"
        until = time.monotonic() + SHARE * SECONDS
        for mark in self._marks({}):
            self._base.append(mark)
            count = len(self._base)
            if count == most or (count >= LEAST_POSITIONS and time.monotonic() > until):
                break
        if self._differs({}):
            return f"the same search ({self._go}) is another one each time"
        is_short = self._nodes < LEAST_NODES
        return f"its searches ({self._go}) are too short to tell" if is_short else ""

    def _find_go(self, nodes: int) -> str:
        """Return a `go` command for about this number of nodes that the engine obeys, or ""."""
        best, go = "", f"go nodes {nodes}"
        search = self._check.search(go)
        searched = search.most("nodes") or 0
        if not search.was_stopped and nodes / 2 <= searched <= 2 * nodes + ENOUGH_NODES:
            return go
        for depth in DEPTHS:
            search = self._check.search(f"go depth {depth}")
            if search.was_stopped:
                break
            best = f"go depth {depth}"
            if (search.most("nodes") or 0) >= nodes / 2:
                break
        return best

    def _has_effect(self, group: Sequence[OptionChange]) -> bool:
        """Return whether changing all options of a group makes a difference."""
        for ends in itertools.zip_longest(*(change.ends for change in group), fillvalue={}):
            options: dict[str, OptionValue] = {}
            for end in ends:
                options |= end
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
            search = self._check.search(self._go, None, position)
            self._nodes += search.most("nodes") or 0
            infos = [info for info in search.infos if info.pv]
            names = ("depth", "seldepth", "multipv", "nodes", "score", "mate")
            lines = tuple((*map(info.counts.get, names), info.pv) for info in infos)
            yield search.last, search.was_stopped, lines

    def _set(self, options: dict[str, OptionValue]) -> None:
        player = msgspec.structs.replace(self._check.player, options={**self._options, **options})
        self._engine.change_player(player)
        self._engine.prepare(self._check.settings, new_game=True)
