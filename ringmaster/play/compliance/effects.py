"""Test whether the options of a tune change an engine's searches."""

from __future__ import annotations

import itertools
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping

import msgspec

from ringmaster.engines.engine import Limits
from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.model.players import HASH, THREADS, OptionValue
from ringmaster.play.compliance.engine_check import EngineCheck

SECONDS = 5.0  # for all options
NODES = 10_000  # of a search
LEAST_NODES = 100  # with fewer nodes, a search shows no effects
LEAST_POSITIONS = 3
DEPTHS = range(1, 13)  # for engines that ignore nodes
SHARE = 0.1  # the share of the time for one pass over the positions
#: The hash table in megabytes (clearing a large one takes longer than a search), and threads.
SMALL = {**dict.fromkeys(HASH, 16), **dict.fromkeys(THREADS, 1)}
MOST_NAMES = 10  # option names in a message


def try_effects(check: EngineCheck) -> None:
    """Record tuned options without an effect on searches limited by nodes or depth.

    Such searches are repeatable, so any difference shows an effect.  An engine whose searches
    vary anyway is not judged.  Groups of options are changed together; a group with an effect
    is halved.
    """
    engine = check.engine()
    assert isinstance(engine, UciOrUsiEngine)
    if not check.player.keeps_process:
        check.note("skip", "each game has a new process, which may take them differently")
        return
    try:
        _Effects(check, engine).run()
    finally:
        engine.change_player(check.player)


class _Effects:
    """Compare searches with changed options to searches without changes."""

    def __init__(self, check: EngineCheck, engine: UciOrUsiEngine) -> None:
        self._check = check
        self._engine = engine
        self._options = {**check.player.options}
        # small values make searches short and repeatable
        for name, most in SMALL.items():
            number = engine.option_number((name,))
            if number is not None and number > most:
                option = engine.options[name]
                self._options[option.name] = max(most, option.minimum or 0)
        self._limits = Limits(0.0)
        #: Marks of the searches without changes.
        self._base: list[Hashable] = []

    def run(self) -> None:
        """Record the options without an effect, and the number that was not tested."""
        check, changes = self._check, self._check.job.changes
        begin = time.monotonic()
        self._set({})
        if not self._find_limits():
            check.note("skip", "no limit is known that makes it search long enough")
            return
        words = f"depth {self._limits.depth}" if self._limits.depth else f"nodes {NODES}"
        until = time.monotonic() + SHARE * SECONDS
        for mark in self._marks({}):
            self._base.append(mark)
            if len(self._base) >= LEAST_POSITIONS and time.monotonic() > until:
                break
        if self._differs(()):
            check.note("skip", f"the same search ({words}) is another one each time")
            return
        groups, idle, untested = [list(changes)], list[str](), 0
        while groups:
            group = groups.pop()
            ends = itertools.zip_longest(*(change.ends for change in group), fillvalue={})
            if time.monotonic() > begin + SECONDS:
                untested += len(group)
            elif not any(map(self._differs, ends)):
                idle += [change.code for change in group]
            elif len(group) > 1:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]
        if idle:
            more = f" and {len(idle) - MOST_NAMES} more" if len(idle) > MOST_NAMES else ""
            fault = (
                f"no effect seen of {len(idle)} of {len(changes)} tuned options: "
                f"{', '.join(idle[:MOST_NAMES])}{more}; at the ends of their ranges all moves, "
                f"scores and nodes are the same ({len(self._base)} positions with {words})"
            )
            if check.player.time_control is not None:
                fault += "; these searches do not show options of the time management"
            check.judge(fault, exchange=())
        if untested:
            check.note("skip", f"{untested} of {len(changes)} not tested in {SECONDS:g} s")

    def _find_limits(self) -> bool:
        """Set the limits to about NODES nodes; return False if the engine obeys none."""
        check, most = self._check, 0
        for limits in (Limits(0.0, nodes=NODES), *(Limits(0.0, depth=depth) for depth in DEPTHS)):
            check.begin(check.positions[0], new_game=False)
            search = check.think(limits)
            searched = search.most("nodes") or 0
            is_obeyed = not search.was_stopped and (limits.depth or searched <= 3 * NODES)
            if is_obeyed and searched >= most:
                self._limits, most = limits, searched
            if most >= NODES / 2 or (limits.depth and not is_obeyed):
                break
        return most >= LEAST_NODES

    def _differs(self, ends: Iterable[Mapping[str, OptionValue]]) -> bool:
        """Return whether changed options make a difference to the searches."""
        options = {name: value for end in ends for name, value in end.items()}
        return any(a != b for a, b in zip(self._base, self._marks(options), strict=False))

    def _marks(self, options: dict[str, OptionValue]) -> Iterator[Hashable]:
        """Yield a mark of the search of each position, with some options changed."""
        self._set(options)
        for position in self._check.positions:
            self._check.begin(position, new_game=False)
            search = self._check.think(self._limits)
            thought = search.thought
            numbers = map(thought.number, ("depth", "seldepth", "nodes"))
            scores = thought.score_and_mate()
            yield thought.move, thought.ponder, search.was_stopped, *numbers, *scores, thought.pv

    def _set(self, options: dict[str, OptionValue]) -> None:
        player = msgspec.structs.replace(self._check.player, options={**self._options, **options})
        self._engine.change_player(player)
        self._engine.prepare(self._check.settings, new_game=True)
