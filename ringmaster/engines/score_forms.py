"""What engines answer to `eval`, by family: how the line with the score is recognised,
whose side it is from, and what one of its units is worth.

Measured on colour-flipped positions, or from the engines' sources where said.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from ringmaster.errors import EngineProtocolError
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.wording import shown

#: Lines of an answer that a refusal shows.
_SHOWN = 6
#: Characters of an answer that a message quotes.
_QUOTED = 200


@dataclass(frozen=True)
class EvaluationForm:
    """One family's answer to `eval`.

    family   for messages
    pattern  finds the line in b"\\n" + whole lines, once an answer; its group is the
             score, or "none" where the engine gives none
    unit     centipawns that 1 is
    pov      "first": of the side that moves first in a game, "mover": to move
    wakes    whether options that are set are looked at only when a search begins, so that
             one has to come before the first `eval`
    """

    family: str
    pattern: re.Pattern[bytes]
    unit: float
    pov: Literal["first", "mover"]
    wakes: bool = False


FORMS = (
    # "Final evaluation       -0.40 (white side)"; with a network a remark follows;
    # "Final evaluation: none (in check)"
    EvaluationForm(
        "Stockfish", re.compile(rb"\nFinal evaluation:?[ \t]+([^\s(]+)"), 100.0, "first"
    ),
    # Stockfish 7 to 11, and Fairy-Stockfish, for which White is whoever moves first,
    # Black in shogi, too
    EvaluationForm(
        "Stockfish", re.compile(rb"\nTotal [Ee]valuation:[ \t]+([^\s(]+)"), 100.0, "first"
    ),
    # the engine's own units, of which its middle-game pawn has 204 (value.h)
    EvaluationForm("Glaurung", re.compile(rb"\nFull eval:[ \t]+(\S+)"), 100 / 204, "mover", True),
    # "eval = 42" in units of which a pawn has 90 (usi.cpp, evaluate.h)
    EvaluationForm("YaneuraOu", re.compile(rb"\neval = (\S+)"), 100 / 90, "mover"),
)


def recognise(answer: bytes) -> EvaluationForm:
    """Return the form of an engine's answer to `eval`.

    Raises EngineProtocolError with what was seen for one that is not known.
    """
    text = b"\n" + answer
    for form in FORMS:
        found = form.pattern.findall(text)
        if len(found) == 1 and _is_score(found[0]):
            return form
    raise EngineProtocolError(
        f"its answer to 'eval' {_seen(answer)}.  Say how it is asked and where its answer has"
        ' the score: score = Score(command="eval", pattern=r"Total: (\\S+)", unit=100,'
        ' pov="white"); or let it search: score = "depth 1"'
    )


def is_to_be_woken(answer: bytes) -> bool:
    """Whether an answer is of a family that looks at its options when a search begins."""
    text = b"\n" + answer
    return any(form.wakes and form.pattern.search(text) is not None for form in FORMS)


def _is_score(text: bytes) -> bool:
    if text == b"none":
        return True
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _seen(answer: bytes) -> str:
    lines = [line for line in answer.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        return "is nothing at all"
    told = " / ".join(shown(line.strip()) for line in lines[-_SHOWN:])
    return f"has no score in a form that is known: {told}"


class CustomForm:
    """A score that the control file says how to find.

    Raises EngineProtocolError for a pattern that is none, or has no group.
    """

    def __init__(self, kind: ScoreKind) -> None:
        assert kind.pattern is not None
        self.unit, self.pov = kind.unit, kind.pov
        try:
            self._pattern = re.compile(kind.pattern)
        except re.error as error:
            raise EngineProtocolError(
                f"the pattern {kind.pattern!r} is no regular expression: {error}"
            ) from None
        if not self._pattern.groups:
            raise EngineProtocolError(
                f"the pattern {kind.pattern!r} has no group; put the score in brackets,"
                r' as in r"Total: (\S+)"'
            )

    def value(self, answer: bytes) -> float:
        """Return the score of an answer in the engine's units, NaN without one.

        Raises EngineProtocolError for what is found but is no number.
        """
        search = self._pattern.search
        for line in reversed(answer.decode("utf-8", "replace").splitlines()):
            if (match := search(line)) is not None:
                break
        else:
            return math.nan
        if (match[1] or "").casefold() == "none":
            return math.nan
        try:
            value = float(match[1] or "")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise EngineProtocolError(
                f"the pattern {self._pattern.pattern!r} finds {shown(match[1] or '')} in"
                f" {shown(line.strip())}, which is no score"
            )
        return value

    def explain(self, answer: bytes) -> str:
        """Return what the pattern is and what it is looked for in, for a message."""
        text = answer.decode("utf-8", "replace").strip()[-_QUOTED:]
        return f"the pattern {self._pattern.pattern!r} is looked for in {shown(text, _QUOTED)}"
