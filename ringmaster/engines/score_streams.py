"""Streams of requests for the scores of many positions, and the forms of their answers.

Requests are written ahead of answers, and output is searched by the chunk, never line by
line: some engines print two kilobytes for a position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ringmaster.engines.channel import Stream
from ringmaster.engines.uci_messages import find_line, last_score_lines, read_score
from ringmaster.errors import EngineProtocolError, shown
from ringmaster.model.jobs import ScoreKind

#: Centipawns of a mate.
MATE = 10_000.0
#: Bytes kept of the end of an answer.
MAX_ANSWER = 1 << 14

_READY = b"isready\n"
_READYOK = re.compile(rb"\n[ \t]*readyok[ \t\r]*(?=\n)")


class EvaluationStream(Stream):
    """Answers with one line of a known form each; isready follows the last request, so a
    missing answer is noticed at once.

    pattern  begins with a newline; its group is the score, or "none"
    values   the scores as printed, NaN for "none"
    """

    def __init__(
        self, requests: Sequence[bytes], in_flight: int, pattern: re.Pattern[bytes]
    ) -> None:
        super().__init__(requests, in_flight, _READY)
        self._find = pattern.findall
        self.values: list[float] = []

    def take(self, lines: bytes) -> bytes | None:
        text = b"\n" + lines
        scores = self._find(text)
        if scores:
            self.values += map(_printed_score, scores)
            self.done = len(self.values)
            self._check_count()
        if self._sent < len(self._requests):
            return self.more()
        if _READYOK.search(text) is None:
            return b""
        if self.done != len(self._requests):
            raise EngineProtocolError(
                f"it gave a score for {self.done} of {len(self._requests)} positions, and"
                " it is unknown for which"
            )
        return None


def _printed_score(text: bytes) -> float:
    """Return a score as printed, NaN for "none"."""
    if text == b"none":
        return math.nan
    try:
        score = float(text)
    except ValueError:
        raise EngineProtocolError(
            f"it gave {shown(text.decode('ascii', 'replace'))} for a score"
        ) from None
    if not math.isfinite(score):
        raise EngineProtocolError(f"it gave {score} for a score")
    return score


def score_of(line: bytes) -> float:
    """Return the score of an info line for the mover, NaN for b""."""
    score, mate = read_score(line)
    if mate is not None:
        # "mate 0": the mover is mated.
        return MATE if mate > 0 else -MATE
    return math.nan if score is None else float(score)


def end_of_answer(text: bytes) -> bytes:
    """Return the last MAX_ANSWER bytes of an answer."""
    return text[-MAX_ANSWER:]


def exact_score(text: bytes) -> bytes:
    """Return the line with an answer's last exact score for the mover, b"" without one."""
    line = last_score_lines(text)[0]
    return line + b"\n" if line else b""


class AnswerStream(Stream):
    """Answers as texts: the output up to readyok (isready follows each request), or up to
    and with the bestmove line where the request is a `go`.

    shorten  returns the part to keep of an answer, and of whole lines at its beginning
    answers  the kept parts
    """

    def __init__(
        self,
        requests: Sequence[bytes],
        in_flight: int,
        *,
        searches: bool,
        shorten: Callable[[bytes], bytes] = end_of_answer,
    ) -> None:
        if not searches:
            requests = [request + _READY for request in requests]
        super().__init__(requests, in_flight)
        self.answers: list[bytes] = []
        self._searches = searches
        self._shorten = shorten
        self._unfinished = b""

    def take(self, lines: bytes) -> bytes | None:
        lines = lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
        sign = b"bestmove" if self._searches else b"readyok"
        text = self._unfinished + lines
        at, begin = 0, len(self._unfinished)
        while (index := find_line(text, sign, begin)) >= 0:
            end = text.index(b"\n", index) + 1
            answer = text[at : end if self._searches else index]
            self.answers.append(self._shorten(answer))
            at = begin = end
        self._unfinished = self._shorten(text[at:])
        self.done = len(self.answers)
        self._check_count()
        return None if self.done == len(self._requests) else self.more()


#: Lines of an answer in a refusal.
_SHOWN = 6
#: Characters of an answer in a message.
_QUOTED = 200


@dataclass(frozen=True)
class EvaluationForm:
    """One engine family's answer to `eval`.

    pattern       matches the line in b"\\n" + whole lines, once an answer; its group is the
                  score, or "none"
    unit          centipawns of 1
    pov           "first": of the side that moves first in a game, "mover": to move
    needs_search  whether new options take effect only when a search begins, so that one has
                  to precede the first `eval`
    """

    pattern: re.Pattern[bytes]
    unit: float
    pov: Literal["first", "mover"]
    needs_search: bool = False


#: Measured on colour-flipped positions, or from the engines' sources where noted.
FORMS = (
    # "Final evaluation       -0.40 (white side)"; with a network a remark follows;
    # "Final evaluation: none (in check)" (Stockfish)
    EvaluationForm(re.compile(rb"\nFinal evaluation:?[ \t]+([^\s(]+)"), 100.0, "first"),
    # Stockfish 7 to 11, and Fairy-Stockfish, whose White moves first in shogi, too.
    EvaluationForm(re.compile(rb"\nTotal [Ee]valuation:[ \t]+([^\s(]+)"), 100.0, "first"),
    # Glaurung, whose middle-game pawn has 204 units (value.h).
    EvaluationForm(re.compile(rb"\nFull eval:[ \t]+(\S+)"), 100 / 204, "mover", True),
    # YaneuraOu: "eval = 42"; its pawn has 90 units (usi.cpp, evaluate.h).
    EvaluationForm(re.compile(rb"\neval = (\S+)"), 100 / 90, "mover"),
)


def recognise(answer: bytes) -> EvaluationForm:
    """Return the form of an engine's answer to `eval`.

    Raises EngineProtocolError with the answer for an unknown form.
    """
    text = b"\n" + answer
    for form in FORMS:
        scores = form.pattern.findall(text)
        if len(scores) == 1 and (scores[0] == b"none" or _is_number(scores[0])):
            return form
    raise EngineProtocolError(
        f"its answer to 'eval' {_shown_end(answer)}.  Name the command and the place of the"
        ' score: score = Score(command="eval", pattern=r"Total: (\\S+)", unit=100,'
        ' pov="white"); or let it search: score = "depth 1"'
    )


def needs_search(answer: bytes) -> bool:
    """Return whether an answer's family reads its options when a search begins."""
    text = b"\n" + answer
    return any(form.needs_search and form.pattern.search(text) is not None for form in FORMS)


def _is_number(text: bytes | str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _shown_end(answer: bytes) -> str:
    lines = [line for line in answer.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        return "is nothing at all"
    end = " / ".join(shown(line.strip()) for line in lines[-_SHOWN:])
    return f"has no score in a known form: {end}"


class CustomForm:
    """The score's place by the control file's own pattern, which has a group."""

    def __init__(self, kind: ScoreKind) -> None:
        assert kind.pattern is not None
        self.unit, self.pov = kind.unit, kind.pov
        self._pattern = re.compile(kind.pattern)

    def value(self, answer: bytes) -> float:
        """Return the score of an answer in the engine's units, NaN without one.

        Raises EngineProtocolError for a match that is no number.
        """
        search = self._pattern.search
        for line in reversed(answer.decode("utf-8", "replace").splitlines()):
            if (match := search(line)) is not None:
                break
        else:
            return math.nan
        score = match[1] or ""
        if score.casefold() == "none":
            return math.nan
        if not _is_number(score):
            raise EngineProtocolError(
                f"the pattern {self._pattern.pattern!r} finds {shown(score)} in"
                f" {shown(line.strip())}, which is no score"
            )
        return float(score)

    def explain(self, answer: bytes) -> str:
        """Return the pattern and the answer for a message."""
        text = answer.decode("utf-8", "replace").strip()[-_QUOTED:]
        return f"the pattern {self._pattern.pattern!r} is looked for in {shown(text, _QUOTED)}"
