"""Test UCI and USI engines: declarations, limits, behaviour between searches, and answers."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator

from ringmaster.engines.uci_messages import LONG_MATE, OptionDeclaration
from ringmaster.errors import EngineError, IllegalMove, OptionRefused
from ringmaster.games.clean_text import one_line
from ringmaster.model.players import THREADS
from ringmaster.play.compliance.engine_check import Dialogue, EngineCheck, Fault, Info, Search
from ringmaster.play.compliance.positions import CheckPosition

#: The limits of the test searches; times in ms.
COUNTS = {"nodes": 5000, "depth": 4}
MOVE_MS = (100, 200, 150)
CLOCK_MS, SHORT_MS, SHORT_CLOCK = 400, 100, "short clock"
#: More or less than these shares of a limit is a fault: an engine may count only now and then.
MOST = {"nodes": 2.0, "depth": 1.0}
LEAST = {"nodes": 0.02, "depth": 0.5, "movetime": 0.25}
FIRST_ITERATION = 1000  # nodes that any engine may need for its first iteration
NEW_GAMES, NEW_GAMES_SECONDS = 20, 3.0  # new games in a row, and the seconds for all of them
REPEATS, RACES = 3, 5  # repetitions of the same search, and of `go` followed at once by `stop`
SLOW_STOP = 500  # a slower answer to `stop` in ms is a fault
#: More growth of memory over new games, in bytes and as a factor, is a leak.
LEAK_BYTES, LEAK_FACTOR = 64 << 20, 1.5
NONSENSE = "ringmaster-has-no-such-command"
MOST_BREAKDOWNS = 3  # the number of crashes or hangs that ends the test of moves
MATE_LIKE = 5000  # centipawns that only a mate is worth

# declarations


def try_handshake(check: EngineCheck) -> None:
    lines = check.tail.handshake
    missing = [x for x in ("id name", "id author") if not any(y.startswith(x + " ") for y in lines)]
    end, ms = f"{check.dialect.name.lower()}ok", 1000 * check.handshake_seconds
    when = f"{end} {ms:.0f} ms after its start"
    check.judge(f"no {' and no '.join(missing)} ({when})" if missing else "", when, exchange=())
    check.note("pass", f"in {1000 * check.setup_seconds:.0f} ms", "ready for a game")


def try_options(check: EngineCheck) -> None:
    names, faults = Counter[str](), list[Fault]()
    for line in check.tail.handshake:
        if not line.startswith("option"):
            continue
        option, texts = OptionDeclaration.parse(line), ["cannot be read"]
        if option is not None:
            name = option.name.casefold()
            names[name] += 1
            check.options[name] = option
            texts = [f"option {name!r} is declared twice"] if names[name] == 2 else []
            texts += _option_faults(option)
        faults += ((text, (f"< {one_line(line, 160)}",)) for text in texts)
    check.judge_all(faults, f"{names.total()} declared, their defaults within their ranges")
    if check.player.options:
        check.note("pass", f"{len(check.player.options)} accepted", "options of this player")
    for name in check.dialect.options:
        option = check.options.get(name.casefold())
        if option is None:
            check.note("skip", "it does not declare this option", name)
        else:
            limits = f"{option.minimum} to {option.maximum}, default {option.default}"
            check.note("pass", limits, name)


def _option_faults(option: OptionDeclaration) -> Iterator[str]:
    name, low, high = f"option {option.name!r}", option.minimum, option.maximum
    values = option.choices if option.type == "combo" else ("true", "false")
    if not option.name:
        yield "an option has no name"
    if not values:
        yield f"{name} has no var to choose"
    elif option.type in ("check", "combo") and option.default not in values:
        yield f"{name} has the default {option.default!r}, not {' or '.join(values)}"
    elif option.type == "spin":
        if low is None or high is None:
            yield f"{name} has no min or no max"
        elif low > high:
            yield f"{name} has a min of {low} above its max of {high}"
        try:
            option.render(option.default)
        except OptionRefused as refusal:
            yield f"the default of {refusal}"


# limits


def breach(search: Search, name: str, limit: int) -> int:
    """Return 1 if a search went far beyond its limit of nodes or depth, -1 if it fell short."""
    reached = search.most(name)
    if reached is None:
        return 0
    most = max(MOST[name] * limit, limit + FIRST_ITERATION if name == "nodes" else 0)
    # a stopped search may just be slow
    is_short = reached < LEAST[name] * limit and not search.was_stopped
    return -1 if is_short else int(reached > most)


def try_count(check: EngineCheck) -> None:
    """Test a limit of nodes or depth; calibrate a search of 50 ms."""
    name, limit, go = check.name, COUNTS[check.name], f"go {check.name} {COUNTS[check.name]}"
    search = check.search_in_new_game(go)
    reached, seconds = search.most(name), f"{search.ms / 1000:.1f} s"
    words = f"searched {search.reached(name)}, limit {limit}"
    sign = breach(search, name, limit)
    if search.was_stopped and reached is not None and reached <= limit:
        check.note("skip", f"too slow to test: {words} in {seconds}")
    elif search.was_stopped:
        # an engine that does not count may just be slow
        matters = check.matters and reached is not None
        check.judge(f"{go} did not end within {seconds}: {words}", matters=matters)
    else:
        if sign >= 0:
            speed = max(reached or 0, 1) / max(search.ms, 0.2)
            is_counted = name == "nodes" and reached is not None
            calibrated = f"go nodes {max(200, min(20_000, int(50 * speed)))}"
            check.usable[name] = calibrated if is_counted else go
        check.judge(words if sign else "", words, matters=check.matters and sign < 0)


def try_movetime(check: EngineCheck) -> None:
    used = []
    for limit in MOVE_MS:
        search = _timed(check, f"go movetime {limit}", limit)
        if search.late:
            return
        used.append(search.ms / limit)
    check.usable["movetime"] = "go movetime 60"
    text = f"used {100 * min(used):.0f} to {100 * max(used):.0f} % of its move time"
    check.judge(f"{text} only" if min(used) < LEAST["movetime"] else "", text)


def try_clock(check: EngineCheck) -> None:
    """Test the clocks of both sides, with more time for the opponent, and a short clock."""
    dialect = check.dialect
    for name, clocks, position in (
        ("clock of the first side", (CLOCK_MS, 60_000), dialect.middlegame),
        ("clock of the second side", (60_000, CLOCK_MS), dialect.reply),
    ):
        if clocks[0] > CLOCK_MS and position.game(check.settings).to_move == 0:
            check.note("skip", "no position of this variant with this side to move", name)
        elif _keeps_clock(check, dialect.go(*clocks), CLOCK_MS, name, position):
            check.usable["clock"] = dialect.go(1500, 1500)
    go = dialect.go(SHORT_MS, SHORT_MS)
    if not any(_timed(check, go, SHORT_MS, SHORT_CLOCK).late for _ in range(3)):
        check.note("pass", f"in time with {SHORT_MS} ms left, three times", SHORT_CLOCK)


def try_increment(check: EngineCheck) -> None:
    """Test an increment, beside byo-yomi where the games have both."""
    control = check.player.time_control
    byoyomi = 100 if control is not None and control.increment and control.overtime else 0
    _keeps_clock(check, check.dialect.go(200, 200, 100, byoyomi), 200 + byoyomi)


def try_overtime(check: EngineCheck) -> None:
    """Test the last move of a time control (UCI) or byo-yomi (USI)."""
    go = f"{check.dialect.go(CLOCK_MS, CLOCK_MS)} movestogo 1"
    if check.dialect.name == "USI":
        go = check.dialect.go(0, 0, 0, CLOCK_MS)
    _keeps_clock(check, go, CLOCK_MS)


def _keeps_clock(
    check: EngineCheck, go: str, allowed: int, name: str = "", own: CheckPosition | None = None
) -> bool:
    search = _timed(check, go, allowed, name, own)
    if not search.late:
        check.note("pass", f"used {search.ms:.0f} of {allowed} ms", name)
    return not search.late


def _timed(
    check: EngineCheck, go: str, allowed: int, name: str = "", own: CheckPosition | None = None
) -> Search:
    """Search with a limit of time, and record a late answer.

    own  the position of a search with less time than the opponent's
    """
    search = check.search_in_new_game(go, allowed, own)
    if check.matters and not search.was_stopped:
        check.over = max(check.over, search.over)
    if not search.late:
        return search
    evidence, equal = check.tail.evidence(), check.dialect.go(allowed, allowed)
    fault = f"{go} did not end within {search.ms / 1000:.1f} s"
    is_late = not search.was_stopped
    if own is not None and not check.search_in_new_game(equal, allowed, own).late:
        is_late = False
        fault = (
            f"took {search.ms:.0f} ms with {allowed} ms left, but is in time when both clocks "
            "are equal: the engine uses the other side's clock"
        )
    elif is_late:
        fault = f"answered {search.over:.0f} ms after its time of {allowed} ms had run out, twice"
    matters = check.matters and name != SHORT_CLOCK
    check.judge(fault, "", name, matters=matters, exchange=evidence, is_late=is_late)
    return search


def try_own_limits(check: EngineCheck) -> None:
    """Measure the time of a move in games without a clock."""
    player = check.player
    words = [f" {name} {getattr(player, name)}" for name in COUNTS if getattr(player, name)]
    if words and player.time_control is None and player.move_time is None:
        go = "go" + "".join(words)
        search = check.search_in_new_game(go)
        check.move_seconds = search.ms / 1000
        more = "more than " if search.was_stopped else ""
        text = f"{go!r} takes {more}{check.move_seconds:.2f} s a move"
        check.note("skip" if more else "pass", text)


# behaviour


def try_stop(check: EngineCheck) -> None:
    """Test isready and stop during a search, and stop directly after go."""
    seconds, matters = check.patience.stop, check.player.ponder
    search = check.begin_search("go infinite", check.patience.idle)
    has_moved = search.last != ""
    if not has_moved:
        ready = Dialogue("isready\n", b"readyok")
        fault = "" if check.is_answered(ready, seconds) else f"no readyok in {seconds:g} s"
        check.judge(fault, f"readyok after {ready.ms:.0f} ms", "isready during a search")
        has_moved = _has_move(ready.texts())
    if has_moved:
        check.judge("bestmove before `stop`", "", "go infinite")
    elif check.is_stopped(search):
        text = f"bestmove {search.ms:.0f} ms after `stop`"
        check.judge(text if search.ms > SLOW_STOP else "", text)
    else:
        check.judge(f"no bestmove in {seconds:g} s after `stop`", matters=matters)
    for _ in range(RACES):
        if not check.is_answered(Search(check.dialect.middlegame, "go infinite\nstop"), seconds):
            fault = f"no bestmove in {seconds:g} s when `stop` directly follows `go`"
            check.judge(fault, "", "stop at once", matters=matters)
            check.drop()
            return
    check.note("pass", f"obeyed {RACES} times", "stop at once")


def _has_move(lines: list[str]) -> bool:
    return any(line.startswith("bestmove") for line in lines)


def try_idle_stop(check: EngineCheck) -> None:
    lines = check.converse(Dialogue("stop\nisready\n", b"readyok")).texts()
    lines += check.unexpected_lines()
    check.judge("the engine answers with a move" if _has_move(lines) else "", "ignored")


def try_ponder(check: EngineCheck) -> None:
    """Test ponderhit, and stop during pondering, for players that ponder."""
    if not check.player.ponder:
        return
    go = check.dialect.go(2000, 2000).replace("go ", "go ponder ")
    search = check.begin_search(go, check.patience.idle)
    if search.last:
        check.judge("bestmove before ponderhit")
    else:
        search.request = b"ponderhit\n"
        check.converse(search, 2.0 + check.patience.search)
        text = f"bestmove {search.ms:.0f} ms after ponderhit, with 2000 ms left"
        is_late = search.ms > 2000 + check.margin_ms
        check.judge(text if is_late else "", text, matters=True)
    search = check.begin_search(go, check.patience.idle)
    if not search.last:
        fault = "" if check.is_stopped(search) else f"no bestmove in {check.patience.stop:g} s"
        detail = f"bestmove after {search.ms:.0f} ms"
        check.judge(fault, detail, "stop while pondering", matters=True)


def try_silence(check: EngineCheck) -> None:
    """Test that nothing is printed after bestmove."""
    lines: list[str] = []
    for _ in range(3):
        check.search(check.quick)
        lines = lines or check.unexpected_lines()
    check.judge(f"the engine also prints {lines[0]!r}" if lines else "")


def try_unknown_commands(check: EngineCheck) -> None:
    lines = check.converse(Dialogue(f"\n{NONSENSE}\nisready\n", b"readyok")).texts()
    check.note("pass", f"answered by {lines[0]!r}" if lines else "ignored")


def try_new_games(check: EngineCheck) -> None:
    """Test many new games, over UCI and USI with a search now and then, for time and memory."""

    def peak() -> int:
        if check.player.protocol != "gtp":
            check.search(check.quick)
        return check.engine().measure().peak_memory or 0

    times = [check.new_game()]
    before, start = peak(), time.monotonic()
    while len(times) < NEW_GAMES and time.monotonic() - start < NEW_GAMES_SECONDS:
        times.append(check.new_game())
        if len(times) % 5 == 0:
            peak()
    after = peak()
    check.grows = after > before + LEAK_BYTES and after > LEAK_FACTOR * before > 0
    growth = f"memory grew from {_mib(before)} to {_mib(after)} in {len(times)} games"
    detail = f"{len(times)} in a row, at most {max(times):.1f} ms each"
    check.judge(growth if check.grows else "", detail, exchange=())


def try_repeatability(check: EngineCheck) -> None:
    """Test that the same search after a new game gives the same answer."""
    go = check.usable.get("nodes") or check.usable.get("depth")
    threads = check.engine().option_number(THREADS) or 1
    if go is None or threads > 1:
        reason = "the engine obeys neither nodes nor depth"
        check.note("skip", reason if go is None else f"searches of {threads} threads differ")
        return
    answers = set()
    for _ in range(REPEATS):
        search = check.search_in_new_game(go)
        nodes = search.most("nodes")
        answers.add(f"{search.bestmove} ({search.final_info() or 'no score'}, {nodes} nodes)")
    check.is_repeatable = len(answers) == 1
    fault = f"not deterministic with {go!r} after a new game: {', '.join(sorted(answers))}"
    detail = f"the same {REPEATS} times, with {go!r}"
    check.judge("" if check.is_repeatable else fault, detail, exchange=())


def try_memory(check: EngineCheck) -> None:
    peak = check.engine().measure().peak_memory
    if peak is not None:
        check.note("pass", f"at most {_mib(peak)}")


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def try_quit(check: EngineCheck) -> None:
    """Test quit, quit during a search, and the end of standard input."""
    check.engine().channel.send(b"quit\n", check.patience.quit)
    judge_end(check, "quit")
    if check.handshake_seconds + check.setup_seconds > 1:
        check.note("skip", "the engine takes long to start", "quit during a search")
        return
    check.begin_search("go infinite", 0.05)
    check.engine().channel.send(b"quit\n", check.patience.quit)
    judge_end(check, "quit during a search")
    check.engine().channel.process.close_stdin()
    judge_end(check, "end of standard input")


def judge_end(check: EngineCheck, name: str, fault: str = "") -> None:
    """Record whether the process ends now; `fault` is another fault of the test."""
    assert check.running is not None
    process, seconds, start = check.running.channel.process, check.patience.quit, time.monotonic()
    if not process.wait(seconds):
        fault = f"the engine has not exited after {seconds:g} s"
    elif process.exit_status() != "status 0":
        fault = f"the engine exits with {process.exit_status()}"
    ms = 1000 * (time.monotonic() - start)
    check.judge(fault, f"the engine exits after {ms:.0f} ms", name)
    check.drop()


# answers


def try_positions(check: EngineCheck) -> None:
    """Search all positions and judge moves, lines, scores and mates."""
    judge = _Judge(check)
    breakdowns = 0
    for position in check.dialect.positions:
        go = check.deep if position.mate else check.quick
        try:
            judge.add(position, check.search_in_new_game(go, position=position))
        except EngineError as error:
            breakdowns += 1
            evidence = check.tail.evidence()
            check.drop()
            try:
                search = check.search_in_new_game(go, position=position)
            except EngineError as again:
                check.judge(f"{position.name}: {again}", matters=True)
                check.drop()
            else:
                check.needs_restart = True
                fault = f"{position.name}: {error}; a new process has an answer"
                check.judge(fault, matters=check.player.keeps_process, exchange=evidence)
                judge.add(position, search)
        if breakdowns == MOST_BREAKDOWNS:
            break
    if judge.counts["moves"]:
        judge.record()


def try_long_game(check: EngineCheck) -> None:
    position = check.dialect.long_game
    search = check.search_in_new_game(check.quick, position=position)
    reason = _illegality(check, position, search.bestmove)
    check.judge(reason and f"{position.name}: {reason}", position.name, matters=True)


def _illegality(check: EngineCheck, position: CheckPosition, *moves: str) -> str:
    """Return the reason why a line of moves is illegal, or ""."""
    game = position.game(check.settings)
    for move in moves:
        try:
            game.play(move)
        except IllegalMove as error:
            return f"{error.move!r} is illegal: {error.reason}" if move else "no move"
    return ""


class _Judge:
    """The faults in the answers to all positions, and the counts of answers, by finding."""

    def __init__(self, check: EngineCheck) -> None:
        self._check = check
        self.counts = Counter[str]()
        self._faults: defaultdict[str, list[Fault]] = defaultdict(list)
        #: Movers in positions with a known sign, by whether the engine's score has this sign.
        self._movers: dict[bool, list[int]] = {True: [], False: []}

    def _count(self, name: str, position: CheckPosition, fault: str, *evidence: str) -> None:
        self.counts[name] += 1
        if fault:
            self._faults[name].append((f"{position.name}: {fault}", evidence))

    def add(self, position: CheckPosition, search: Search) -> None:
        check, dialect, move = self._check, self._check.dialect, search.bestmove
        evidence, info, sign = check.tail.evidence(), search.final_info(), 0
        if info is not None:
            mover = position.game(check.settings).to_move
            sign = -info.sign if check.player.turns_scores(mover) else info.sign
            self._judge_score(position, info, mover, sign)
        if move in dialect.extra_words:
            # resignation is allowed with a negative score
            fault = "" if move == "resign" and sign < 0 else f"bestmove {move!r}"
        else:
            fault = _illegality(check, position, move)
            if search.ponder and not fault:
                illegal = _illegality(check, position, move, search.ponder)
                self._count("ponder moves", position, illegal, *evidence)
        self._count("moves", position, fault, *evidence)
        fault = ""
        for info in search.infos:
            if info.problem:
                self._count("info lines", position, info.problem)
            if info.pv and not fault:
                line = list(info.pv)
                while line and line[-1] in dialect.pv_words:
                    line.pop()
                fault = _illegality(check, position, *line)
                pv = f"< info … pv {' '.join(info.pv[:20])}"
                command = f"> position {position.arguments[:200]}"
                self._count("lines of play", position, fault, command, pv)

    def _judge_score(self, position: CheckPosition, info: Info, mover: int, sign: int) -> None:
        check, evidence = self._check, self._check.tail.evidence()
        is_right = sign == position.sign
        wrong = "" if is_right or not position.sign else f"{info}, wrong sign"
        self._count("scores", position, wrong, *evidence)
        if position.sign:
            self._movers[is_right].append(mover)
        if not position.mate:
            return
        length, text, fault = abs(position.mate), f"{info}", ""
        plies = 2 * length - (position.mate > 0)
        units = ("moves", "plies") if check.dialect.name == "UCI" else ("plies", "moves")
        in_other_unit = plies if units[0] == "moves" else (length + 1) // 2
        if info.mate is None and abs(info.score or 0) < MATE_LIKE:
            check.note("skip", f"{position.name}: not found ({info})", "mates")
            return
        if info.mate is None:
            fault = f"a mate is reported as {info}"
        elif not is_right:
            fault = wrong
        elif abs(info.mate) == in_other_unit != length:
            fault = f"{info}: the engine counts {units[1]}, {check.dialect.name} counts {units[0]}"
        elif abs(info.mate) not in (length, LONG_MATE):
            text += ", not the shortest"
        fault = fault and f"{position.name}: {fault}"
        check.judge(fault, f"{position.name}: {text}", "mates", exchange=evidence)

    def record(self) -> None:
        check, pov, faults = self._check, self._check.player.score_pov, self._faults["scores"]
        right, wrong = self._movers[True], self._movers[False]
        if not self.counts["scores"]:
            faults[:] = [("no score in any position", ())]
        elif wrong and pov != "mover":
            faults[:] = [(f"score_pov={pov!r} does not agree with them", faults[0][1])]
        elif len(set(wrong)) == len(set(right)) == 1 and wrong[0] != right[0]:
            side = check.dialect.sides[right[0]]
            fault = (
                f"they seem to be {side}'s; {check.dialect.name} requires the mover's "
                f"(score_pov={side.lower()!r} corrects them)"
            )
            faults[:] = [(fault, faults[0][1])]
        signs = f"from the mover's view in {len(right)} positions" if right else ""
        for name, detail, matters in (
            ("moves", "legal in {} positions", True),
            ("lines of play", "{} legal", False),
            ("ponder moves", "{} legal", check.player.ponder),
            ("info lines", "", False),
            ("scores", signs, False),
        ):
            detail = detail.format(self.counts[name]) if self.counts[name] else ""
            check.judge_all(self._faults[name], detail, name, matters=matters)
