"""Options that a tune changes: do they have an effect on what a UCI or USI engine searches?

Searches that are limited by nodes or depth are the same each time, unless an option makes
a difference.  An option is told of only if everything that the engine says of its searches
stayed the same; so an engine that plays by chance, which never says the same twice, is not
accused of anything.  Options are changed together, and groups that make a difference are
halved, since most tunes have none without effect, or many.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import msgspec

from ringmaster.engines.universal import UniversalEngine
from ringmaster.errors import EngineTimeout
from ringmaster.model.jobs import OptionChange
from ringmaster.model.players import OptionValue
from ringmaster.model.results import TUNED_OPTIONS
from ringmaster.play.compliance.answers import Answer
from ringmaster.play.compliance.dialects import Probe
from ringmaster.play.compliance.searchbench import SearchBench

#: Seconds for all options of a tune.
SECONDS = 5.0
#: Nodes of a search, and positions at most: few are enough for nearly all that has an effect,
#: and a longer search may show what a short one does not.
STAGES = ((2000, 3), (2000, 30), (20_000, 30))
#: Positions at least.
LEAST_POSITIONS = 3
#: Iterations that are tried where nodes are not kept to, and the nodes that are enough.
DEPTHS, ENOUGH_NODES = range(1, 13), 1000
#: Nodes over all positions below which a search says nothing of an option.
LEAST_NODES = 500
#: Share of the time that one pass over the positions may take.
SHARE = 0.1
#: Megabytes of the hash table: emptying a large one takes longer than a search.
HASH = 16
#: Names that are told one by one.
MOST_NAMES = 10


def try_effects(bench: SearchBench, changes: Sequence[OptionChange]) -> None:
    """Record the options that have no effect, as far as a few seconds can tell."""
    engine = bench.engine()
    assert isinstance(engine, UniversalEngine)
    if not bench.player.keeps_process:
        bench.skipped(TUNED_OPTIONS, "each game has a new process, which may take them differently")
        return
    try:
        _Effects(bench, engine).run(changes)
    except EngineTimeout as error:
        bench.skipped(TUNED_OPTIONS, str(error))
    finally:
        engine.serve(bench.player)


class _Effects:
    """One engine, and the searches that it is compared by."""

    def __init__(self, bench: SearchBench, engine: UniversalEngine) -> None:
        self._bench = bench
        self._engine = engine
        self._end = bench.clock() + SECONDS
        self._options = {**bench.player.options, **self._quick_options()}
        dialect = bench.dialect
        first = (dialect.middlegame, dialect.reply)
        others = [p for p in dialect.probes if not p.mate and p not in first]
        self._positions: Sequence[Probe] = tuple(dict.fromkeys((*first, *others)))
        self._go = ""
        self._base: list[Hashable] = []

    def _quick_options(self) -> dict[str, OptionValue]:
        """Return options with which searches are short and the same each time."""
        found: dict[str, OptionValue] = {}
        for name, most in ((self._bench.dialect.memory, HASH), ("Threads", 1)):
            declared = self._engine.options.get(name.casefold())
            if declared is None or declared.type != "spin":
                continue
            given = self._bench.player.options.get(declared.name, declared.default)
            if str(given).isdecimal() and int(given) > most:
                found[declared.name] = max(most, declared.minimum or 0)
        return found

    def run(self, changes: Sequence[OptionChange]) -> None:
        bench = self._bench
        self._set({})
        idle, left = list(changes), 0
        tried: list[str] = []
        for nodes, most in STAGES:
            if not idle or bench.clock() > self._end:
                break
            go = self._find_go(nodes)
            if go is None:
                bench.skipped(TUNED_OPTIONS, "no limit is known that it keeps to")
                return
            if not self._learn(go, most):
                return
            idle, more = self._without_effect(idle)
            left += more
            tried.append(f"{len(self._base)} with {go.removeprefix('go ')}")
        if not tried:
            left = len(idle)
        elif idle:
            seen = ", ".join(tried[-2:])
            bench.warned(TUNED_OPTIONS, self._telling(idle, len(changes), seen), ())
        if left:
            bench.skipped(TUNED_OPTIONS, f"{left} of {len(changes)} not tested in {SECONDS:g} s")

    def _telling(self, idle: Sequence[OptionChange], of: int, seen: str) -> str:
        names = [change.code for change in idle]
        named = ", ".join(names[:MOST_NAMES])
        if len(names) > MOST_NAMES:
            named += f" and {len(names) - MOST_NAMES} more"
        text = f"no effect seen of {len(names)} of {of} tuned options: {named}; at the ends of"
        text += f" their ranges all moves, scores and nodes are the same (positions: {seen})"
        if self._bench.player.time_control is not None:
            text += "; options that manage time do not show there"
        return text

    def _find_go(self, nodes: int) -> str | None:
        """Return a `go` command for about so many nodes that the engine keeps to."""
        go = f"go nodes {nodes}"
        answer = self._search(self._positions[0], go)
        counted = answer.most("nodes") or 0
        if not answer.was_stopped and nodes / 4 <= counted <= 2 * nodes + ENOUGH_NODES:
            return go
        found = None
        for depth in DEPTHS:
            go = f"go depth {depth}"
            answer = self._search(self._positions[0], go)
            if answer.was_stopped:
                break
            found = go
            if (answer.most("nodes") or 0) >= nodes / 2:
                break
        return found

    def _learn(self, go: str, most: int) -> bool:
        """Learn what the engine says without a change, in as many positions as there is time
        for; returns whether it says the same again, and enough of it."""
        self._go, self._base = go, []
        until = self._bench.clock() + SHARE * SECONDS
        for said in self._said({}):
            self._base.append(said)
            count = len(self._base)
            if count == most or (count >= LEAST_POSITIONS and self._bench.clock() > until):
                break
        if self._differs({}):
            self._bench.skipped(TUNED_OPTIONS, f"the same search ({go}) is another one each time")
            return False
        if self._nodes < LEAST_NODES:
            self._bench.skipped(TUNED_OPTIONS, f"its searches ({go}) are too short to tell")
            return False
        return True

    def _without_effect(self, changes: list[OptionChange]) -> tuple[list[OptionChange], int]:
        """Return the options without effect, and how many there was no time for."""
        idle: list[OptionChange] = []
        left = 0
        groups = [changes]
        while groups:
            group = groups.pop()
            if self._bench.clock() > self._end:
                left += len(group)
            elif not self._has_effect(group):
                idle += group
            elif len(group) > 1:
                middle = len(group) // 2
                groups += [group[middle:], group[:middle]]
        return idle, left

    def _has_effect(self, group: Sequence[OptionChange]) -> bool:
        """Return whether a group of options makes a difference when all are changed."""
        most = max(len(change.ends) for change in group)
        for end in range(most):
            changed: dict[str, OptionValue] = {}
            for change in group:
                changed |= change.ends[end] if end < len(change.ends) else {}
            if self._differs(changed):
                return True
        return False

    def _differs(self, changed: dict[str, OptionValue]) -> bool:
        """Return whether the engine says something else with options than without."""
        return any(a != b for a, b in zip(self._base, self._said(changed), strict=False))

    def _said(self, changed: dict[str, OptionValue]) -> Iterator[Hashable]:
        """Yield what the engine says of each position, in a game of their own."""
        self._set(changed)
        self._nodes = 0
        for position in self._positions:
            answer = self._search(position, self._go)
            self._nodes += answer.most("nodes") or 0
            yield _mark(answer)

    def _set(self, changed: dict[str, OptionValue]) -> None:
        options = {**self._options, **changed}
        self._engine.serve(msgspec.structs.replace(self._bench.player, options=options))
        self._engine.prepare(self._bench.settings, new_game=True)

    def _search(self, position: Probe, go: str) -> Answer:
        return self._bench.search(position, go)


def _mark(answer: Answer) -> Hashable:
    """Return what two searches that are the same have in common."""
    wanted = ("depth", "seldepth", "multipv", "nodes")
    lines = [
        (*(info.counts.get(name) for name in wanted), info.score, info.mate, info.sign, info.pv)
        for info in answer.infos
        if info.pv
    ]
    return answer.bestmove, answer.ponder, answer.was_stopped, tuple(lines)
