"""What a UCI or USI engine answers over a set of positions: whether its moves and
its lines of play are legal, and its scores and mates what the protocol means."""

from __future__ import annotations

from dataclasses import dataclass, field

from ringmaster.errors import EngineError, IllegalMove
from ringmaster.play.compliance.answers import Answer, Info
from ringmaster.play.compliance.dialects import Probe
from ringmaster.play.compliance.searchbench import SearchBench

#: After so many searches that ended in a crash or a hang no more are tried.
MOST_BREAKDOWNS = 3
#: Faults of the same kind that are told one by one.
MOST = 3
#: Centipawns that nothing but a mate is worth.
MATE_LIKE = 5000

Evidence = tuple[str, ...]


@dataclass
class _Log:
    """What was seen over all positions."""

    searched: int = 0
    illegal: list[tuple[str, Evidence]] = field(default_factory=list)
    lines: int = 0
    bad_lines: list[tuple[str, Evidence]] = field(default_factory=list)
    ponders: int = 0
    bad_ponders: list[tuple[str, Evidence]] = field(default_factory=list)
    unreadable: list[tuple[str, Evidence]] = field(default_factory=list)
    scored: int = 0
    #: Probes with a side far ahead whose scores have the right, the wrong sign.
    right: list[Probe] = field(default_factory=list)
    wrong: list[tuple[Probe, str, Evidence]] = field(default_factory=list)


def try_positions(bench: SearchBench) -> None:
    log = _Log()
    breakdowns = 0
    for probe in bench.dialect.probes:
        go = bench.deep if probe.mate else bench.quick
        answer: Answer | None
        try:
            answer = bench.in_new_game(probe, go)
        except EngineError as error:
            breakdowns += 1
            answer = _again(bench, probe, go, error)
        if breakdowns == MOST_BREAKDOWNS:
            break
        if answer is None:
            continue
        log.searched += 1
        evidence = bench.tape.evidence()
        _judge_move(bench, log, probe, answer, evidence)
        _judge_lines(bench, log, probe, answer)
        _judge_score(bench, log, probe, answer, evidence)
        if probe.mate:
            _judge_mate(bench, probe, answer, evidence)
    if log.searched:
        _tell(bench, log)


def _again(bench: SearchBench, probe: Probe, go: str, error: EngineError) -> Answer | None:
    """Record a crash or hang, and return the answer of a new process, None when
    that breaks down, too."""
    evidence = bench.tape.evidence()
    bench.drop()
    try:
        answer = bench.in_new_game(probe, go)
    except EngineError as again:
        bench.failed("moves", f"{probe.name}: {again}")
        bench.drop()
        return None
    bench.needs_restart = True
    bench.failed(
        "moves",
        f"{probe.name}: {error}; a new process has an answer",
        matters=bench.player.keeps_process,
        exchange=evidence,
    )
    return answer


def try_long_game(bench: SearchBench) -> None:
    probe = bench.dialect.long_game
    answer = bench.in_new_game(probe, bench.quick)
    why = _why_illegal(bench, probe, answer.bestmove)
    if why:
        bench.failed("long game", f"{probe.name}: {why}")
    else:
        bench.passed("long game", probe.name)


def _why_illegal(bench: SearchBench, probe: Probe, *moves: str) -> str:
    """Return what is wrong with moves played one after the other from a probe's
    position, "" for nothing."""
    game = bench.dialect.game(probe)
    for move in moves:
        try:
            game.play(move)
        except IllegalMove as error:
            return f"{error.move!r} is illegal: {error.reason}" if move else "no move"
    return ""


def _judge_move(
    bench: SearchBench, log: _Log, probe: Probe, answer: Answer, evidence: Evidence
) -> None:
    if answer.bestmove in bench.dialect.extra_words:
        # it may resign what it thinks is lost
        info = answer.verdict()
        if answer.bestmove != "resign" or info is None or _sign(bench, probe, info) >= 0:
            log.illegal.append((f"{probe.name}: it says {answer.bestmove!r}", evidence))
        return
    why = _why_illegal(bench, probe, answer.bestmove)
    if why:
        log.illegal.append((f"{probe.name}: {why}", evidence))
    elif answer.ponder:
        log.ponders += 1
        why = _why_illegal(bench, probe, answer.bestmove, answer.ponder)
        if why:
            log.bad_ponders.append((f"{probe.name}: {why}", evidence))


def _judge_lines(bench: SearchBench, log: _Log, probe: Probe, answer: Answer) -> None:
    for info in answer.infos:
        if info.problem:
            log.unreadable.append((f"{probe.name}: {info.problem}", ()))
        if not info.pv:
            continue
        log.lines += 1
        line = list(info.pv)
        # such words may end a line of play (USI)
        while line and line[-1] in bench.dialect.pv_words:
            line.pop()
        why = _why_illegal(bench, probe, *line)
        if why:
            shown = f"< info … pv {' '.join(info.pv[:20])}"
            log.bad_lines.append(
                (f"{probe.name}: {why}", (f"> {bench.dialect.position(probe)[:200]}", shown))
            )
            return


def _sign(bench: SearchBench, probe: Probe, info: Info) -> int:
    """Return the sign of a score as the mover sees it, by what the player's
    score_pov says of the engine."""
    turned = bench.player.turns_scores(bench.dialect.game(probe).to_move)
    return -info.sign if turned else info.sign


def _judge_score(
    bench: SearchBench, log: _Log, probe: Probe, answer: Answer, evidence: Evidence
) -> None:
    info = answer.verdict()
    if info is None:
        return
    log.scored += 1
    # at depth 1 a quiet search has seen little; a queen is seen all the same
    if probe.sign and _sign(bench, probe, info) == probe.sign:
        log.right.append(probe)
    elif probe.sign:
        log.wrong.append((probe, _shown(info), evidence))


def _judge_mate(bench: SearchBench, probe: Probe, answer: Answer, evidence: Evidence) -> None:
    info = answer.verdict()
    unit = bench.dialect.mate_unit
    if info is None:
        return
    if not info.is_mate:
        if info.score is not None and abs(info.score) >= MATE_LIKE:
            bench.warned("mates", f"{probe.name}: a mate is given as {_shown(info)}", evidence)
        else:
            bench.skipped("mates", f"{probe.name}: not found ({_shown(info)})")
    elif _sign(bench, probe, info) != probe.sign:
        bench.warned("mates", f"{probe.name}: it says {_shown(info)}, the sign is wrong", evidence)
    elif info.mate is None or abs(info.mate) == abs(probe.mate):
        bench.passed("mates", f"{probe.name}: {_shown(info)}")
    elif abs(info.mate) == (probe.plies if unit == "moves" else (probe.plies + 1) // 2):
        other = "plies" if unit == "moves" else "moves"
        bench.warned(
            "mates",
            f"{probe.name}: it says {_shown(info)}: it counts {other}, "
            f"{bench.dialect.name} counts {unit}",
            evidence,
        )
    else:
        bench.passed("mates", f"{probe.name}: {_shown(info)}, not the shortest")


def _shown(info: Info) -> str:
    """Return a score as the protocol writes it."""
    if info.is_mate:
        return f"mate {'+' if info.sign > 0 else '-'}" if info.mate is None else f"mate {info.mate}"
    return f"cp {info.score}"


def _tell(bench: SearchBench, log: _Log) -> None:
    """Record the findings over all positions."""
    dialect = bench.dialect
    _tell_kind(bench, "moves", log.illegal, f"legal in {log.searched} positions", matters=True)
    _tell_kind(bench, "lines of play", log.bad_lines, f"{log.lines} legal", matters=False)
    if log.ponders:
        matters = bench.player.ponder
        _tell_kind(bench, "ponder moves", log.bad_ponders, f"{log.ponders} legal", matters=matters)
    if log.unreadable:
        _tell_kind(bench, "info lines", log.unreadable, "", matters=False)
    if not log.scored:
        bench.warned("scores", "it gave no score in any position", ())
        return
    if not log.wrong:
        if log.right:
            bench.passed("scores", f"the mover's in {len(log.right)} positions")
        return
    view = bench.player.score_pov
    if view != "mover":
        bench.warned("scores", f"score_pov={view!r} does not agree with them", log.wrong[0][2])
        return
    one_sided = _first_mover_only(bench, log)
    if one_sided:
        bench.warned(
            "scores",
            f"they seem to be {one_sided}'s; {dialect.name} wants the mover's "
            f"(score_pov={one_sided.lower()!r} puts them right)",
            log.wrong[0][2],
        )
        return
    for probe, shown, evidence in log.wrong[:MOST]:
        bench.warned("scores", f"{probe.name}: {shown}, the sign is wrong", evidence)


def _first_mover_only(bench: SearchBench, log: _Log) -> str:
    """Return the side whose scores the engine gives, whoever moves; "" if it
    gives the mover's, or nobody can tell."""
    wrong = {bench.dialect.game(probe).to_move for probe, _, _ in log.wrong}
    right = {bench.dialect.game(probe).to_move for probe in log.right}
    if len(wrong) == len(right) == 1 and wrong != right:
        return bench.dialect.sides[right.pop()]
    return ""


def _tell_kind(
    bench: SearchBench,
    name: str,
    faults: list[tuple[str, Evidence]],
    fine: str,
    *,
    matters: bool,
) -> None:
    for detail, evidence in faults[:MOST]:
        bench.failed(name, detail, matters=matters, exchange=evidence)
    if len(faults) > MOST:
        more = f"the same in {len(faults) - MOST} more"
        bench.failed(name, more, matters=matters, exchange=())
    if not faults:
        bench.passed(name, fine)
