"""Test whether the options of a tune change an engine's searches."""

from __future__ import annotations

import itertools
import time
from collections.abc import Hashable, Iterator, Sequence

import msgspec

from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.engines.uci_messages import read_info, read_pv
from ringmaster.errors import EngineTimeout
from ringmaster.model.jobs import OptionChange
from ringmaster.model.players import OptionValue
from ringmaster.play.compliance.engine_check import EngineCheck

SECONDS = 5.0  # for all options
STAGES = (2000, 20_000)  # nodes of a search; the second stage tests options without effect so far
LEAST_POSITIONS = 3  # of a stage
DEPTHS, ENOUGH_NODES = range(1, 13), 1000  # depths for engines that ignore nodes
LEAST_NODES = 500  # with fewer nodes over all positions, a search shows no effects
SHARE = 0.1  # the share of the time for one pass over the positions
#: The hash table in megabytes (clearing a large one takes longer than a search), and threads.
SMALL = {"hash": 16, "usi_hash": 16, "threads": 1}
MOST_NAMES = 10  # option names in a message


def try_effects(check: EngineCheck, changes: Sequence[OptionChange]) -> None:
    """Record tuned options without an effect on searches limited by nodes or depth.

    Such searches are repeatable, so any difference shows an effect.  An engine whose searches
    vary anyway is not judged.  Groups of options are changed together; a group with an effect
    is halved.
    """
    engine = check.engine()
    assert isinstance(engine, UciOrUsiEngine)
    try:
        if check.player.keeps_process:
            _Effects(check, engine).run(changes)
        else:
            check.note("skip", "each game has a new process, which may take them differently")
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
        for nodes in STAGES:
            if not idle or time.monotonic() > self._end:
                break
            problem = self._learn(nodes)
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
            more = f" and {len(idle) - MOST_NAMES} more" if len(idle) > MOST_NAMES else ""
            fault = (
                f"no effect seen of {len(idle)} of {len(changes)} tuned options: {names}{more}; "
                "at the ends of their ranges all moves, scores and nodes are the same "
                f"(positions: {', '.join(stages)})"
            )
            if check.player.time_control is not None:
                fault += "; these searches do not show options of the time management"
            check.judge(fault, exchange=())
        if untested:
            check.note("skip", f"{untested} of {len(changes)} not tested in {SECONDS:g} s")

    def _learn(self, nodes: int) -> str:
        """Search without changes as long as there is time; return a reason to stop, or ""."""
        self._set({})
        self._go, self._base = self._find_go(nodes), []
        if not self._go:
            return "no limit is known that it obeys"
        until = time.monotonic() + SHARE * SECONDS
        for mark in self._marks({}):
            self._base.append(mark)
            if len(self._base) >= LEAST_POSITIONS and time.monotonic() > until:
                break
        if self._differs({}):
            return f"the same search ({self._go}) is another one each time"
        is_short = self._nodes < LEAST_NODES
        return f"its searches ({self._go}) are too short to tell" if is_short else ""

    def _find_go(self, nodes: int) -> str:
        """Return a `go` command for about this number of nodes that the engine obeys, or ""."""
        best, go = "", f"go nodes {nodes}"
        search = self._check.search(go, new_game=False)
        searched = search.most("nodes") or 0
        if not search.was_stopped and nodes / 2 <= searched <= 2 * nodes + ENOUGH_NODES:
            return go
        for depth in DEPTHS:
            search = self._check.search(f"go depth {depth}", new_game=False)
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
        for position in self._check.positions:
            search = self._check.search(self._go, position, new_game=False)
            self._nodes += search.most("nodes") or 0
            names = ("depth", "seldepth", "multipv", "nodes", "score", "mate")
            lines = tuple(
                (*map(read_info(info).get, names), pv)
                for info in search.infos
                if (pv := read_pv(info))
            )
            yield search.bestmove, search.ponder, search.was_stopped, lines

    def _set(self, options: dict[str, OptionValue]) -> None:
        player = msgspec.structs.replace(self._check.player, options={**self._options, **options})
        self._engine.change_player(player)
        self._engine.prepare(self._check.settings, new_game=True)
