"""Test the answers of UCI and USI engines: legal moves and lines of play, scores, mates."""

from __future__ import annotations

from collections import defaultdict

from ringmaster.errors import EngineError, IllegalMove
from ringmaster.play.compliance.engine_check import Answer, EngineCheck, Info
from ringmaster.play.compliance.positions import CheckPosition

#: The number of crashes or hangs that ends the test.
MOST_BREAKDOWNS = 3
#: Faults of one kind that are reported.
MOST_FAULTS = 3
#: Centipawns that only a mate is worth.
MATE_LIKE = 5000

#: A detail, and the protocol lines that show it.
Fault = tuple[str, tuple[str, ...]]


def try_positions(check: EngineCheck) -> None:
    """Search all positions and judge moves, lines, scores and mates."""
    judge = _Judge(check)
    breakdowns = 0
    for position in check.dialect.positions:
        go = check.deep if position.mate else check.quick
        answer: Answer | None
        try:
            answer = check.search_in_new_game(position, go)
        except EngineError as error:
            breakdowns += 1
            answer = _search_again(check, position, go, error)
        if breakdowns == MOST_BREAKDOWNS:
            break
        if answer is not None:
            judge.add(position, answer)
    if judge.searched:
        judge.record()


def _search_again(
    check: EngineCheck, position: CheckPosition, go: str, error: EngineError
) -> Answer | None:
    """Record a crash or hang; return the answer of a new process, or None."""
    evidence = check.tail.evidence()
    check.drop()
    try:
        answer = check.search_in_new_game(position, go)
    except EngineError as again:
        check.failed("moves", f"{position.name}: {again}")
        check.drop()
        return None
    check.needs_restart = True
    detail = f"{position.name}: {error}; a new process has an answer"
    check.failed("moves", detail, matters=check.player.keeps_process, exchange=evidence)
    return answer


def try_long_game(check: EngineCheck) -> None:
    """Search a position after hundreds of moves."""
    position = check.dialect.long_game
    answer = check.search_in_new_game(position, check.quick)
    reason = _illegality(check, position, answer.bestmove)
    fault = reason and f"{position.name}: {reason}"
    check.judged("long game", fault, position.name, matters=True)


def _illegality(check: EngineCheck, position: CheckPosition, *moves: str) -> str:
    """Return the reason why a line of moves is illegal, or ""."""
    game = check.dialect.game(position)
    for move in moves:
        try:
            game.play(move)
        except IllegalMove as error:
            return f"{error.move!r} is illegal: {error.reason}" if move else "no move"
    return ""


class _Judge:
    """Judge the answers over all positions."""

    def __init__(self, check: EngineCheck) -> None:
        self._check = check
        self.searched = self._lines = self._ponders = self._scored = 0
        #: Faults by the name of the finding.
        self._faults: defaultdict[str, list[Fault]] = defaultdict(list)
        #: Positions with a known sign of the score, by whether the engine's score has this sign.
        self._right: list[CheckPosition] = []
        self._wrong: list[tuple[CheckPosition, Fault]] = []

    def add(self, position: CheckPosition, answer: Answer) -> None:
        """Judge the last answer."""
        self.searched += 1
        evidence = self._check.tail.evidence()
        info = answer.final_info()
        fault = self._fault_of_move(position, answer, info)
        if fault:
            self._faults["moves"].append((f"{position.name}: {fault}", evidence))
        elif answer.ponder and answer.bestmove not in self._check.dialect.extra_words:
            self._ponders += 1
            fault = _illegality(self._check, position, answer.bestmove, answer.ponder)
            if fault:
                self._faults["ponder moves"].append((f"{position.name}: {fault}", evidence))
        self._judge_lines(position, answer)
        if info is not None:
            self._scored += 1
            self._judge_score(position, info, evidence)

    def _fault_of_move(self, position: CheckPosition, answer: Answer, info: Info | None) -> str:
        if answer.bestmove not in self._check.dialect.extra_words:
            return _illegality(self._check, position, answer.bestmove)
        # resignation is allowed with a negative score
        if answer.bestmove == "resign" and info is not None and self._sign(position, info) < 0:
            return ""
        return f"bestmove {answer.bestmove!r}"

    def _judge_lines(self, position: CheckPosition, answer: Answer) -> None:
        for info in answer.infos:
            if info.problem:
                self._faults["info lines"].append((f"{position.name}: {info.problem}", ()))
            if not info.pv:
                continue
            self._lines += 1
            line = list(info.pv)
            while line and line[-1] in self._check.dialect.pv_words:
                line.pop()
            fault = _illegality(self._check, position, *line)
            if fault:
                pv = f"< info … pv {' '.join(info.pv[:20])}"
                evidence = (f"> {position.command[:200]}", pv)
                self._faults["lines of play"].append((f"{position.name}: {fault}", evidence))
                return

    def _sign(self, position: CheckPosition, info: Info) -> int:
        """Return the sign of a score from the mover's view, by the player's score_pov."""
        to_move = self._check.dialect.game(position).to_move
        return -info.sign if self._check.player.turns_scores(to_move) else info.sign

    def _judge_score(self, position: CheckPosition, info: Info, evidence: tuple[str, ...]) -> None:
        check, name = self._check, position.name
        is_right = self._sign(position, info) == position.sign
        if position.sign and is_right:
            self._right.append(position)
        elif position.sign:
            self._wrong.append((position, (f"{name}: {info}, wrong sign", evidence)))
        if not position.mate:
            return
        unit = check.dialect.mate_unit
        plies = 2 * position.mate - 1 if position.mate > 0 else -2 * position.mate
        in_other_unit = plies if unit == "moves" else (abs(position.mate) + 1) // 2
        if not info.is_mate and info.score is not None and abs(info.score) < MATE_LIKE:
            check.skipped("mates", f"{name}: not found ({info})")
        elif not info.is_mate:
            check.warned("mates", f"{name}: a mate is reported as {info}", evidence)
        elif not is_right:
            check.warned("mates", f"{name}: {info}, wrong sign", evidence)
        elif info.mate is None or abs(info.mate) == abs(position.mate):
            check.passed("mates", f"{name}: {info}")
        elif abs(info.mate) == in_other_unit:
            other = "plies" if unit == "moves" else "moves"
            counts = f"the engine counts {other}, {check.dialect.name} counts {unit}"
            check.warned("mates", f"{name}: {info}: {counts}", evidence)
        else:
            check.passed("mates", f"{name}: {info}, not the shortest")

    def record(self) -> None:
        """Record the findings over all positions."""
        check = self._check
        for name, detail, matters in (
            ("moves", f"legal in {self.searched} positions", True),
            ("lines of play", f"{self._lines} legal", False),
            ("ponder moves", self._ponders and f"{self._ponders} legal", check.player.ponder),
            ("info lines", "", False),
        ):
            faults = self._faults[name]
            for fault, evidence in faults[:MOST_FAULTS]:
                check.failed(name, fault, matters=matters, exchange=evidence)
            if len(faults) > MOST_FAULTS:
                more = f"the same in {len(faults) - MOST_FAULTS} more"
                check.failed(name, more, matters=matters, exchange=())
            if not faults and detail:
                check.passed(name, detail)
        if not self._scored:
            check.warned("scores", "no score in any position", ())
        elif self._wrong:
            self._record_wrong_scores()
        elif self._right:
            check.passed("scores", f"from the mover's view in {len(self._right)} positions")

    def _record_wrong_scores(self) -> None:
        check = self._check
        evidence = self._wrong[0][1][1]
        wrong = {check.dialect.game(position).to_move for position, _ in self._wrong}
        right = {check.dialect.game(position).to_move for position in self._right}
        if check.player.score_pov != "mover":
            detail = f"score_pov={check.player.score_pov!r} does not agree with them"
            check.warned("scores", detail, evidence)
        elif len(wrong) == len(right) == 1 and wrong != right:
            side = check.dialect.sides[right.pop()]
            detail = (
                f"they seem to be {side}'s; {check.dialect.name} requires the mover's "
                f"(score_pov={side.lower()!r} corrects them)"
            )
            check.warned("scores", detail, evidence)
        else:
            for _, (detail, lines) in self._wrong[:MOST_FAULTS]:
                check.warned("scores", detail, lines)
