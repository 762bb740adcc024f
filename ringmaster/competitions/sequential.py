"""SPRT(…) on a matchup: its settings, what a tally keeps of it, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.errors import SettingError
from ringmaster.model.settings import Boolean, CallOf, Context, Float, Maybe, OneOf, Setting
from ringmaster.stats.sprt import FARTHEST, Accepted, Sprt

_RATE = Float(above=0, maximum=0.45)
_ELO = Float(minimum=-FARTHEST, maximum=FARTHEST)
#: Forfeits, or void games, that are fewer than this, or than this share of all games,
#: are no reason to doubt a test.
_FEW, _SHARE = 2, 0.02


def _build(values: dict[str, Any], context: Context) -> Sprt:
    if not values["elo0"] < values["elo1"]:
        raise SettingError(
            ("elo1",),
            f"elo1 = {values['elo1']:g} is not above elo0 = {values['elo0']:g}",
            "the strength to show in elo1, the one to rule out in elo0",
        )
    return Sprt(**values)


SPRT = CallOf(
    "SPRT",
    (
        Setting("elo0", _ELO, "The first player's advantage under H0."),
        Setting("elo1", _ELO, "The first player's advantage under H1."),
        Setting("alpha", _RATE, "How often H1 may be accepted where H0 is true.", 0.05),
        Setting("beta", _RATE, "How often H0 may be accepted where H1 is true.", 0.05),
        Setting(
            "model",
            OneOf("normalized", "logistic"),
            "What elo0 and elo1 are: normalised Elo, or Elo of the expected score.",
            "normalized",
        ),
        Setting(
            "pentanomial",
            Boolean(),
            "Count results by pairs where colours alternate; otherwise by games.",
            True,
        ),
    ),
    _build,
    positional=("elo0", "elo1"),
)

SPRT_SETTING = Setting(
    "sprt", Maybe(SPRT), "A test that ends a matchup as soon as it is decided.", None
)


class Reading(msgspec.Struct, frozen=True):
    """The ratio of some results, worst to best."""

    llr: float
    counts: list[int]


class Decision(msgspec.Struct, frozen=True):
    """What a test came to, on which results, with which ratio."""

    accepted: Accepted
    llr: float
    counts: list[int]


class Trial(msgspec.Struct):
    """A matchup's test as far as it has come; kept with the tally.

    first     whose advantage is tested
    in_pairs  whether results are counted by pairs
    decision  for good, whatever games in progress bring; None while undecided
    latest    the last results looked at: kept, since a ratio takes milliseconds, and
              the first one of a process half a second
    """

    test: Sprt
    first: str
    in_pairs: bool
    decision: Decision | None = None
    latest: Reading | None = None

    def same(self, other: Trial | None) -> bool:
        """Whether both ask the same of the same results."""
        return other is not None and (self.test, self.first, self.in_pairs) == (
            other.test,
            other.first,
            other.in_pairs,
        )

    def judge(self, counts: list[int]) -> bool:
        """Look at results, worst to best; returns whether they are the ones that
        decide it."""
        self.latest = Reading(self.llr(counts), list(counts))
        if self.decision is not None:
            return False
        accepted = self.test.accepted_at(self.latest.llr)
        if accepted:
            self.decision = Decision(accepted, self.latest.llr, list(counts))
        return bool(accepted)

    def llr(self, counts: list[int]) -> float:
        """Return the ratio of results, worst to best."""
        if self.latest is not None and self.latest.counts == counts:
            return self.latest.llr
        return self.test.llr(counts)


def fault_warning(games: int, forfeits: Mapping[str, int], void: int) -> str:
    """Return what is to be said of a test many of whose games were not decided on
    the board, "" when these are few.

    games     that count
    forfeits  games lost by a fault, by player code
    void      results that do not count
    """
    parts = []
    lost = sum(forfeits.values())
    if lost >= _FEW and lost > _SHARE * games:
        by = ", ".join(f"{code} {count}" for code, count in forfeits.items() if count)
        parts.append(f"{lost} of {games} games were forfeits ({by})")
    if void >= _FEW and void > _SHARE * (games + void):
        parts.append(f"{void} games were void beside {games} that count")
    if not parts:
        return ""
    return f"{' and '.join(parts)}: the SPRT may tell faults, not strength"


def sequential_warnings(limit: int | None, alternating: bool, trial: Trial) -> list[str]:
    """Return what a test may surprise with.

    limit  games of the matchup, None for no limit
    """
    lines = []
    if limit is None and trial.test.elo0 == -trial.test.elo1:
        lines.append(
            f"draws alone never decide between {trial.test.elo0:g} and {trial.test.elo1:g}: "
            "without a number of games, an SPRT that goes so has no end"
        )
    if not alternating:
        lines.append(f"colours do not alternate: the SPRT is of {trial.first} with the first move")
    elif trial.in_pairs and limit is not None and limit % 2:
        lines.append(f"the last of {limit} games is half a pair, which the SPRT does not count")
    return lines


class SprtReport(msgspec.Struct, frozen=True):
    """Where the test of a matchup stands.

    players   first is tested to be stronger than second by test.elo1, not test.elo0
    counts    results now: losses, draws, wins of games, or pairs by 0, ½, 1, 1½, 2
    llr       logarithm of the likelihood ratio of all these
    decision  None while undecided
    finished  whether no more games come
    doubts    reasons to doubt the test: games that were not decided on the board
              (`fault_warning`), games that repeat (`repeats_warning`)
    """

    test: Sprt
    players: tuple[str, str]
    counts: tuple[int, ...]
    llr: float
    decision: Decision | None = None
    finished: bool = False
    doubts: tuple[str, ...] = ()

    @property
    def accepted(self) -> Accepted:
        """ "H0", "H1", or "" while undecided."""
        return "" if self.decision is None else self.decision.accepted

    @property
    def bounds(self) -> tuple[float, float]:
        """The ratios at which H0, H1 is accepted."""
        return self.test.bounds

    @property
    def games(self) -> int:
        """Games in `counts`."""
        return _games(self.counts)

    @property
    def games_at_decision(self) -> int | None:
        """Games on which it was decided."""
        return None if self.decision is None else _games(self.decision.counts)

    @property
    def remaining(self) -> int | None:
        """Games that it takes if they go on as they went; None if that says nothing."""
        if self.decision is not None or self.finished:
            return None
        more = self.test.remaining(sum(self.counts), self.llr)
        return None if more is None else more * (2 if len(self.counts) == 5 else 1)

    @property
    def conclusion(self) -> str:
        """What was found, in words; "" while undecided."""
        first, second = self.players
        test = self.test
        match self.accepted:
            case "H1":
                if test.elo0 < 0:
                    return f"{first} is not {-test.elo0:g} {test.unit} weaker than {second}"
                return f"{first} is {_more(test.elo0, test.unit)}stronger than {second}"
            case "H0":
                if test.elo1 <= 0:
                    return f"{first} is {_more(-test.elo1, test.unit)}weaker than {second}"
                return f"{first} is not {test.elo1:g} {test.unit} stronger than {second}"
        return ""

    @property
    def status(self) -> str:
        """The conclusion, or that there is none yet."""
        more = self.remaining
        if self.decision is not None:
            return f"{self.accepted}: {self.conclusion}"
        if self.finished:
            return "undecided after the last game"
        return "undecided" if more is None else f"undecided, some {_round(more)} games to go"

    def lines(self) -> list[str]:
        """Return one line, or a few, for a report."""
        return [*self._lines(), *(f"warning: {doubt}" for doubt in self.doubts)]

    def _lines(self) -> list[str]:
        test, (low, high) = self.test, self.test.bounds
        head = f"SPRT {test.elo0:g} to {test.elo1:g} {test.unit}: "
        ratio = f"LLR {self.llr:.2f} ({low:.2f} to {high:.2f})"
        if self.decision is not None:
            head += f"{self.accepted} accepted after {self.games_at_decision} games, "
            if self.decision.counts == list(self.counts):
                return [head + ratio, self.conclusion]
            head += f"LLR {self.decision.llr:.2f} ({low:.2f} to {high:.2f})"
            return [head, f"{self.conclusion} (LLR {self.llr:.2f} after {self.games} games)"]
        return [f"{head}{ratio}, {self.status}"]

    def summary(self) -> dict[str, Any]:
        """Return the keys of `show --json`."""
        low, high = self.test.bounds
        return {
            **msgspec.structs.asdict(self.test),
            "llr": self.llr,
            "lower_bound": low,
            "upper_bound": high,
            "counts": list(self.counts),
            "accepted": self.accepted or None,
            "conclusion": self.conclusion or None,
            "llr_at_decision": None if self.decision is None else self.decision.llr,
            "games_at_decision": self.games_at_decision,
            "expected_remaining_games": self.remaining,
            "warning": "; ".join(self.doubts) or None,
        }


def _games(counts: tuple[int, ...] | list[int]) -> int:
    return sum(counts) * (2 if len(counts) == 5 else 1)


def _more(elo: float, unit: str) -> str:
    return f"more than {elo:g} {unit} " if elo else ""


def _round(games: int) -> int:
    """Return a number of games without digits that mean nothing."""
    return round(games, min(0, 2 - len(str(games))))
