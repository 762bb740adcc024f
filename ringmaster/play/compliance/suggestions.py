"""Settings that would suit an engine, by what was measured."""

from __future__ import annotations

import math

from ringmaster.engines.engine import start_timeout
from ringmaster.play.compliance.bench import Bench
from ringmaster.play.compliance.conduct import THREADS
from ringmaster.play.compliance.limits import NO_MARGIN
from ringmaster.play.compliance.searchbench import SearchBench

#: What is added to the overstepping that was measured, and to what it is rounded, in ms.
MARGIN_ROOM, MARGIN_STEP = 20, 10
#: A start that takes this part of what is allowed may take all of it on a busy machine.
READY_PART = 0.25
READY_FACTOR = 4
#: The same for a move and hang_timeout.
MOVE_PART, MOVE_FACTOR = 0.2, 10
#: Options that make an engine play from its own book.
BOOKS = ("ownbook", "own book", "usebook", "usi_ownbook")
#: Seconds of a start that are worth saving (GTP engines are started for each game).
LONG_START = 1.0


def suggest(bench: Bench) -> list[str]:
    """Return lines such as "margin=0.09: it answered 63 ms after its time"."""
    return [
        *_margin(bench),
        *_timeouts(bench),
        *_restart(bench),
        *(_options(bench) if isinstance(bench, SearchBench) else []),
    ]


def _margin(bench: Bench) -> list[str]:
    player = bench.player
    kinds = {"clock": player.time_control, "movetime": player.move_time}
    used = [kind for kind, limit in kinds.items() if limit is not None]
    over = max((bench.overstep.get(kind, 0.0) for kind in used), default=0.0)
    if not 1000 * bench.margin < over < NO_MARGIN:
        return []
    ms = MARGIN_STEP * math.ceil((over + MARGIN_ROOM) / MARGIN_STEP)
    overhead = ""
    if isinstance(bench, SearchBench):
        names = [o.name for o in bench.options.values() if "overhead" in o.name.casefold()]
        overhead = f", or a higher option {names[0]!r}" if names else ""
    busy = " (on a busy machine)" if bench.is_busy else ""
    return [f"margin={ms / 1000:g}{overhead}: it answered {over:.0f} ms after its time{busy}"]


def _timeouts(bench: Bench) -> list[str]:
    found = []
    allowed = start_timeout(bench.settings, bench.player)
    start = max(bench.handshake_seconds, bench.setup_seconds)
    if start > READY_PART * allowed:
        seconds = math.ceil(READY_FACTOR * start)
        found.append(f"ready_timeout={seconds}: it took {start:.1f} s to start")
    hang_timeout = bench.settings.hang_timeout
    if bench.move_seconds > MOVE_PART * hang_timeout:
        seconds = math.ceil(MOVE_FACTOR * bench.move_seconds)
        found.append(f"hang_timeout={seconds}: it took {bench.move_seconds:.1f} s for a move")
    return found


def _restart(bench: Bench) -> list[str]:
    player = bench.player
    if player.keeps_process:
        if bench.needs_restart:
            return ['restart="on": it broke down after other games, and not in a new process']
        if bench.grows:
            return ['restart="on": its memory grows from game to game']
        if not bench.is_repeatable:
            return [
                'restart="on", if games are to be repeatable: something stays from game to game'
            ]
    elif player.protocol == "gtp" and bench.handshake_seconds > LONG_START:
        return [f'restart="off": it takes {bench.handshake_seconds:.1f} s to start for each game']
    return []


def _options(bench: SearchBench) -> list[str]:
    given = {name.casefold() for name in bench.player.options}
    found = []
    memory = bench.options.get(bench.dialect.memory.casefold())
    if memory is not None and memory.name.casefold() not in given:
        found.append(f"options={{{memory.name!r}: …}}: not set, its default is {memory.default} MB")
    for name in THREADS:
        option = bench.options.get(name)
        if option is not None and name not in given and option.default not in ("0", "1"):
            found.append(
                f"options={{{option.name!r}: 1}}: not set, it uses {option.default} threads"
            )
    for name in BOOKS:
        option = bench.options.get(name)
        if option is not None and option.default == "true" and name not in given:
            found.append(f"options={{{option.name!r}: False}}: it plays from a book of its own")
    return found
