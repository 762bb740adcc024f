"""The test before a competition's first run: does a UCI or USI engine keep to the limits
that its player has?  It takes a second at most.

`limits` tests all that a protocol has, `own_limits` only what games depend on and what
nobody would see in their results.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.engines.engine import Engine
from ringmaster.engines.universal import UniversalEngine
from ringmaster.errors import EngineError, EngineNotStarted, EngineTimeout
from ringmaster.model.jobs import GameSettings, OptionChange
from ringmaster.model.players import Player
from ringmaster.model.results import SEARCH, Finding
from ringmaster.play.compliance import limits
from ringmaster.play.compliance.answers import Answer
from ringmaster.play.compliance.bench import Patience
from ringmaster.play.compliance.effects import try_effects
from ringmaster.play.compliance.examination import dialect_of
from ringmaster.play.compliance.searchbench import SearchBench
from ringmaster.play.compliance.tape import Tape

#: Seconds for all searches of one engine, and for one, `stop` not counted.
WHOLE, EACH = 0.9, 0.5
PATIENCE = Patience(search=EACH, stop=0.4)
#: Nodes that any engine may need for its first iteration.
FIRST_ITERATION = 1000
#: What is asked for at most, in ms.
MOVE_MS = CLOCK_MS = 200
#: Searches that show that a limit is not kept to.
TRIES = 2


def try_out(
    engine: Engine,
    player: Player,
    settings: GameSettings,
    changes: Sequence[OptionChange],
    *,
    own_limits: bool,
) -> tuple[Finding, ...]:
    """Test an engine that is set up; returns what is wrong, or could not be told.

    own_limits  whether to test the player's limits
    changes     options to test the effect of

    The engine needs a new game afterwards.  Raises JobAbandoned.
    """
    if not isinstance(engine, UniversalEngine):
        return ()

    def gone() -> Engine:
        raise EngineNotStarted("it has ended", player.code)

    dialect = dialect_of(player, settings)
    bench = SearchBench(player, settings, gone, Tape(), PATIENCE, dialect)
    former = engine.channel.transcript
    bench.adopt(engine)
    engine.checked_for = None
    try:
        if own_limits:
            try_own_limits(bench)
        if changes:
            try_effects(bench, changes)
    except EngineError as error:
        bench.warned(SEARCH, str(error))
    finally:
        engine.channel.transcript = former
    return tuple(finding for finding in bench.findings if finding.status != "pass")


def try_own_limits(bench: SearchBench) -> None:
    """Search with each of the player's limits, or less where a second is too short."""
    player = bench.player
    end = bench.clock() + WHOLE
    try:
        if player.nodes is not None:
            asked = min(player.nodes, limits.NODES)
            # few nodes tell of too many only, many also of too few
            for nodes in dict.fromkeys((asked, limits.NODES)):
                if not _try_count(bench, "nodes", nodes, end):
                    break
        if player.depth is not None:
            _try_count(bench, "depth", min(player.depth, limits.DEPTH), end)
        if player.move_time is not None:
            _try_move_time(bench, round(1000 * player.move_time), end)
        control = player.time_control
        if control is not None:
            timed = control.base > 0 or player.protocol != "usi"
            no_base = f"go {bench.dialect.first} 0 {bench.dialect.second} 0 byoyomi {CLOCK_MS}"
            _try_clock(bench, bench.dialect.clocks(CLOCK_MS, CLOCK_MS) if timed else no_base, end)
    except EngineTimeout as error:
        # no search that can be judged; games have other deadlines
        bench.skipped("limits", str(error))


def _search(bench: SearchBench, go: str, end: float) -> Answer | None:
    """Return an answer in a new game, None when no time is left for it."""
    seconds = min(EACH, end - bench.clock())
    if seconds < EACH / 5:
        return None
    bench.new_game()
    return bench.think(bench.dialect.position(bench.dialect.middlegame), go, seconds)


def _try_count(bench: SearchBench, name: str, asked: int, end: float) -> bool:
    """Try a limit that is counted; returns whether the engine keeps to it, as far as can be
    told.  What is doubtful is tried again; too few nodes with more of them, since an engine
    may say seldom how many it has searched."""
    told: list[str] = []
    while len(told) < TRIES:
        answer = _search(bench, f"go {name} {asked}", end)
        if answer is None:
            break
        reached = answer.most(name)
        verdict = _verdict(name, asked, reached, stopped=answer.was_stopped)
        if reached is None or not verdict:
            return True
        what = f"{reached:,} nodes" if name == "nodes" else f"to depth {reached}"
        told.append(f"asked for {name} {asked:,} it searched {what}")
        if answer.was_stopped:
            told.append(f"it had to be stopped after {answer.ms / 1000:.1f} s")
            break
        if name == "nodes" and verdict == "few":
            asked *= 10
    if not told:
        return True
    bench.warned(name, "twice " + told[0] if told[1:] == told[:1] else "; ".join(told))
    return False


def _verdict(name: str, asked: int, reached: int | None, *, stopped: bool) -> str:
    """Return "many" or "few" for a search that did not keep to its limit, else ""; one that
    had to be stopped may just be slow."""
    if reached is None:
        return ""
    most, least = asked, asked / 2
    if name == "nodes":
        most = max(limits.NODES_FACTOR * asked, asked + FIRST_ITERATION)
        least = limits.NODES_LEAST * asked
    if reached > most:
        return "many"
    return "few" if reached < least and not stopped else ""


def _try_move_time(bench: SearchBench, own: int, end: float) -> None:
    asked = min(own, MOVE_MS)
    used: list[float] = []
    for _ in range(TRIES):
        answer = _search(bench, f"go movetime {asked}", end)
        if answer is None:
            return
        if answer.was_stopped:
            _tell_late(bench, "movetime", f"movetime {asked}", answer)
            return
        used.append(answer.ms)
        # an engine may keep more time in reserve than this is
        if asked < own or answer.ms >= limits.LEAST_USED * asked:
            return
    spent = " and ".join(f"{ms:.0f}" for ms in used)
    bench.warned("movetime", f"asked for movetime {asked} it used {spent} ms")


def _try_clock(bench: SearchBench, go: str, end: float) -> None:
    answer = _search(bench, go, end)
    if answer is not None and answer.was_stopped:
        _tell_late(bench, "clock", f"a move with {CLOCK_MS} ms left", answer)


def _tell_late(bench: SearchBench, name: str, asked: str, answer: Answer) -> None:
    """Tell of an engine that had to be stopped, unless the machine may be to blame."""
    if not bench.is_busy:
        seconds = answer.ms / 1000
        bench.warned(name, f"asked for {asked} it had to be stopped after {seconds:.1f} s")
