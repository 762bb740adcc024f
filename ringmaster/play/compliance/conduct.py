"""How a UCI or USI engine behaves between searches, when it is interrupted, over
many games, and when it is told to quit."""

from __future__ import annotations

import time

from ringmaster.errors import EngineTimeout
from ringmaster.play.compliance.answers import Answer, Think
from ringmaster.play.compliance.searchbench import SearchBench

#: New games announced in a row, and seconds that they may take all together.
NEW_GAMES = 20
NEW_GAMES_SECONDS = 3.0
#: The same search so many times.
REPEATS = 3
#: Times that `stop` follows at once on `go`.
RACES = 5
#: Milliseconds from `stop` to the move that a person would notice.
SLOW_STOP = 500
#: Growth of memory over new games that is no accident, in bytes and as a factor.
LEAK_BYTES, LEAK_FACTOR = 64 << 20, 1.5
#: Options that set a number of threads.
THREADS = ("threads", "thread", "number of threads", "max cpus", "cores")
NONSENSE = "ringmaster-has-no-such-command"


def try_stop(bench: SearchBench) -> None:
    """go infinite, isready meanwhile, stop."""
    think = _go_on(bench, "go infinite")
    if think is None:
        bench.warned("go infinite", "it answered before it was told to stop")
    else:
        _ask_ready(bench)
        _stop(bench, think)
    for _ in range(RACES):
        position = bench.dialect.position(bench.dialect.middlegame)
        race = Think(f"{position}\ngo infinite\nstop\n".encode())
        try:
            bench.converse(race, bench.patience.stop)
        except EngineTimeout:
            bench.failed(
                "stop at once",
                f"no bestmove in {bench.patience.stop:g} s when `stop` follows at once on `go`",
                matters=bench.player.ponder,
            )
            bench.drop()
            return
    bench.passed("stop at once", f"obeyed {RACES} times")


def _go_on(bench: SearchBench, go: str, idle: float | None = None) -> Think | None:
    """Begin a search that has no end; returns None if it ended all the same."""
    channel = bench.engine().channel
    channel.discard_input()
    bench.tape.bestmoves = 0
    position = bench.dialect.position(bench.dialect.middlegame)
    think = Think(f"{position}\n{go}\n".encode())
    try:
        bench.converse(think, bench.patience.idle if idle is None else idle)
        return None
    except EngineTimeout:
        channel.has_failed = False
    return think


def _ask_ready(bench: SearchBench) -> None:
    name = "isready during a search"
    try:
        ms, _ = bench.ready(seconds=bench.patience.stop)
        bench.passed(name, f"readyok after {ms:.0f} ms")
    except EngineTimeout:
        bench.forgive()
        bench.warned(name, f"no readyok in {bench.patience.stop:g} s")


def _stop(bench: SearchBench, think: Think) -> None:
    if bench.tape.bestmoves:
        # it came together with readyok
        bench.warned("go infinite", "it answered before it was told to stop")
        return
    try:
        _, ms = bench.stop(think.infos)
    except EngineTimeout:
        bench.failed(
            "stop",
            f"no bestmove in {bench.patience.stop:g} s after `stop`",
            matters=bench.player.ponder,
        )
        bench.drop()
        return
    if ms > SLOW_STOP:
        bench.warned("stop", f"bestmove {ms:.0f} ms after `stop`")
    else:
        bench.passed("stop", f"bestmove after {ms:.0f} ms")


def try_idle_stop(bench: SearchBench) -> None:
    bench.tape.bestmoves = 0
    bench.ready("stop")
    bench.overhear()
    if bench.tape.bestmoves:
        bench.warned("stop without a search", "it answers with a move that nobody asked for")
    else:
        bench.passed("stop without a search", "ignored")


def try_ponder(bench: SearchBench) -> None:
    """go ponder, then ponderhit, then again and stop; for players that ponder."""
    if not bench.player.ponder:
        return
    dialect = bench.dialect
    go = dialect.clocks(2000, 2000).replace("go ", "go ponder ")
    think = _go_on(bench, go)
    if think is None:
        bench.warned("ponder", "it answered before ponderhit")
    else:
        hit = Think(b"ponderhit\n", think.infos)
        ms = bench.converse(hit, 2.0 + bench.patience.search)
        late = ms > 2000 + 1000 * bench.margin
        if late:
            bench.failed("ponder", f"{ms:.0f} ms for a move after ponderhit, with 2000 ms left")
        else:
            bench.passed("ponder", f"bestmove {ms:.0f} ms after ponderhit")
    think = _go_on(bench, go)
    if think is not None:
        _, ms = bench.stop(think.infos)
        bench.passed("stop while it ponders", f"bestmove after {ms:.0f} ms")


def try_silence(bench: SearchBench) -> None:
    """Nothing may be said after bestmove."""
    for _ in range(3):
        bench.search(bench.dialect.middlegame, bench.quick)
        said = bench.overhear()
        if said:
            bench.warned("silence after bestmove", f"it goes on to say {said[0]!r}")
            return
    bench.passed("silence after bestmove")


def try_unknown_commands(bench: SearchBench) -> None:
    _, said = bench.ready("", NONSENSE)
    answer = f"it says {said[0]!r} and goes on" if said else "ignored"
    bench.passed("unknown command and empty line", answer)


def try_new_games(bench: SearchBench) -> None:
    """Many new games in a row, and a move in each of the last."""
    bench.new_game()
    bench.search(bench.dialect.middlegame, bench.quick)
    before = bench.engine().measure().peak_memory
    times: list[float] = []
    start = bench.clock()
    while len(times) < NEW_GAMES and bench.clock() - start < NEW_GAMES_SECONDS:
        times.append(bench.new_game())
        if len(times) % 5 == 0:
            bench.search(bench.dialect.middlegame, bench.quick)
    after = bench.engine().measure().peak_memory
    name = "new games"
    if before and after and after > before + LEAK_BYTES and after > LEAK_FACTOR * before:
        bench.grows = True
        bench.warned(
            name, f"memory grew from {_mib(before)} to {_mib(after)} in {len(times)} games", ()
        )
    else:
        bench.passed(name, f"{len(times)} in a row, {max(times):.1f} ms at most for each")


def try_repeatability(bench: SearchBench) -> None:
    """The same search after a new game gives the same answer."""
    name = "the same search again"
    if bench.fixed is None:
        bench.skipped(name, "it obeys neither nodes nor depth")
        return
    threads = _threads(bench)
    if threads > 1:
        bench.skipped(name, f"searches of {threads} threads differ")
        return
    seen: list[tuple[str, int | None, int | None]] = []
    for _ in range(REPEATS):
        bench.new_game()
        answer = bench.search(bench.dialect.middlegame, bench.fixed)
        seen.append(_fingerprint(answer))
    if len(set(seen)) == 1:
        bench.passed(name, f"the same {REPEATS} times, with {bench.fixed!r}")
        return
    bench.is_repeatable = False
    shown = ", ".join(f"{move} ({score})" for move, score, _ in seen)
    bench.warned(name, f"not deterministic with {bench.fixed!r} after a new game: {shown}", ())


def _fingerprint(answer: Answer) -> tuple[str, int | None, int | None]:
    info = answer.verdict()
    if info is None:
        return answer.bestmove, None, None
    return answer.bestmove, info.score if info.mate is None else info.mate, answer.most("nodes")


def _threads(bench: SearchBench) -> int:
    """Return how many threads the engine searches with, as far as its options say."""
    given = {name.casefold(): value for name, value in bench.player.options.items()}
    for name in THREADS:
        if name in bench.options:
            try:
                return int(given.get(name, bench.options[name].default))
            except ValueError:
                return 1
    return 1


def try_memory(bench: SearchBench) -> None:
    peak = bench.engine().measure().peak_memory
    if peak is not None:
        bench.passed("memory", f"{_mib(peak)} at its peak")


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def try_quit(bench: SearchBench) -> None:
    """quit, quit during a search, and the end of its input."""
    _quit(bench, "quit")
    if bench.handshake_seconds + bench.setup_seconds > 1:
        bench.skipped("quit during a search", "it takes long to start")
        return
    bench.engine()
    _go_on(bench, "go infinite", 0.05)
    _quit(bench, "quit during a search")
    bench.engine()
    _quit(bench, "end of its input", b"")


def _quit(bench: SearchBench, name: str, words: bytes = b"quit\n") -> None:
    process = bench.engine().channel.process
    start = time.monotonic()
    if words:
        bench.engine().channel.send(words, bench.patience.quit)
    else:
        process.close_stdin()
    if process.wait(bench.patience.quit):
        status = process.exit_status()
        ms = 1000 * (time.monotonic() - start)
        if status == "status 0":
            bench.passed(name, f"it exits after {ms:.0f} ms")
        else:
            bench.warned(name, f"it exits with {status}")
    else:
        bench.warned(name, f"it has not exited after {bench.patience.quit:g} s")
    bench.drop()
