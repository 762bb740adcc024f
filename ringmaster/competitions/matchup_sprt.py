"""The ends of a matchup: SPRT(…), Precision(…), HandicapLadder(…), Race(…).

Their settings, the progress stored with the tally, and their reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.competitions.setting_types import ENDS, flag, one_of, optional
from ringmaster.errors import SettingError, counted
from ringmaster.games.go import max_fixed_handicap
from ringmaster.model.jobs import GameSettings
from ringmaster.model.settings import Call, CallOf, Context, Float, Integer, Setting, SettingPath
from ringmaster.stats.ladder import HandicapLadder
from ringmaster.stats.sprt import FARTHEST, Sprt
from ringmaster.stats.stopping import UNKNOWN, Precision, Race

End = Sprt | Precision | HandicapLadder

_RATE = Float(above=0, maximum=0.45)
_ELO = Float(minimum=-FARTHEST, maximum=FARTHEST)


def _build(values: dict[str, Any], context: Context) -> Sprt:
    if not values["elo0"] < values["elo1"]:
        raise SettingError(
            ("elo1",),
            f"elo1 = {values['elo1']:g} is not above elo0 = {values['elo0']:g}",
            "elo0 below elo1, such as SPRT(0, 5)",
        )
    return Sprt(**values)


SPRT = CallOf(
    "SPRT",
    (
        Setting("elo0", _ELO, "The first player's advantage under H0."),
        Setting("elo1", _ELO, "The first player's advantage under H1."),
        Setting("alpha", _RATE, "Probability of accepting H1 where H0 is true.", 0.05),
        Setting("beta", _RATE, "Probability of accepting H0 where H1 is true.", 0.05),
        one_of(
            "model",
            ("normalized", "logistic"),
            "Scale of elo0 and elo1: normalised Elo, or Elo of the expected score.",
        ),
        flag(
            "pentanomial",
            "Count pairs of games where colours alternate.  False: count single games.",
            True,
        ),
    ),
    _build,
    positional=("elo0", "elo1"),
)

SPRT_SETTING = optional(
    "sprt", SPRT, "Sequential test that ends a matchup as soon as it is decided."
)


_PRECISION = CallOf(
    "Precision",
    (Setting("elo", Float(minimum=0.1), "Half the width of the 95 % interval in Elo."),),
    lambda values, context: Precision(**values),
    positional=("elo",),
)


class _SwitchedCall(CallOf):
    """A call, True for one without arguments, or False for none."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, bool):
            return super().interpret(Call(self.kind, (), {}), path, context) if value else None
        return super().interpret(value, path, context)


#: What may end a matchup before its number of games.
END_SETTINGS = (
    SPRT_SETTING,
    optional(
        "stop_at",
        _PRECISION,
        "End a matchup as soon as the 95 % interval of its Elo is this narrow; not with ``sprt``.",
    ),
    optional(
        "handicap_ladder",
        _SwitchedCall(
            "HandicapLadder",
            (
                optional("komi_step", Float(minimum=0.5), "Points of komi a level, not a stone."),
                Setting("precision", Float(minimum=0.25), "Half the 95 % interval in levels.", 0.5),
            ),
            # the board is not known yet
            lambda values, context: HandicapLadder(values["komi_step"], values["precision"]),
        ),
        "Play at the handicaps of Go near the one at which the players are even, until it is "
        "known (True, or ``HandicapLadder(…)``); not with ``sprt`` or ``stop_at``.  A matchup "
        "with games keeps its levels.",
    ),
)


RACE_SETTING = optional(
    "race",
    _SwitchedCall(
        "Race",
        (
            Setting("error", _RATE, "Greatest probability of dropping the best candidate.", 0.05),
            Setting("number_of_games", Integer(minimum=2), "Most games of a candidate.", 4000),
        ),
        lambda values, context: Race(**values),
    ),
    "The first players of all matchups are candidates against one base (True, or ``Race(…)``): "
    "the weakest are dropped, and the winner plays the ``stages`` or the ``sprt`` with new games.",
)


def end_of(values: Mapping[str, Any], game: GameSettings) -> End | None:
    """Return what ends a matchup before its number of games.  Raises SettingError."""
    ends = [name for name in ENDS if values[name]]
    if len(ends) > 1:
        raise SettingError((ends[1],), f"{ends[0]!r} is an end of the games, too", "one of the two")
    end: End | None = values[ends[0]] if ends else None
    if not isinstance(end, HandicapLadder):
        return end
    if game.game != "go":
        raise SettingError((ends[0],), f"{game.game} has no handicap and no komi", "another end")
    for name in ("race", "handicap", "alternating", *([] if end.komi_step else ["openings"])):
        if values[name]:
            raise SettingError((ends[0],), f"{name!r} does not go with a ladder", "one of the two")
    # of more free stones, many engines place fewer than they are asked for
    reach = end.reach if end.komi_step else max(1, max_fixed_handicap(game.board_size))
    return msgspec.structs.replace(end, komi=game.komi, reach=reach)


class LikelihoodRatio(msgspec.Struct, frozen=True):
    """The log-likelihood ratio of result counts, worst to best; without an SPRT, the error."""

    llr: float
    counts: list[int]


class Decision(LikelihoodRatio, frozen=True):
    """The accepted hypothesis, with the ratio at that time.

    accepted  also "reached" or "beyond" (the ladder); "won", "dropped" or "behind" of a Race
    by        code of the candidate that is better, or leads
    """

    accepted: str
    by: str = ""


class Trial(msgspec.Struct):
    """The progress of what ends a matchup, stored with the tally.

    first     code of the player whose advantage is tested
    in_pairs  whether results are counted by pairs
    decision  final, whatever the games in progress yield; None while undecided
    latest    the last ratio; a new one takes milliseconds, the first of a process 0.5 s
    """

    test: End | Race
    first: str
    in_pairs: bool
    decision: Decision | None = None
    latest: LikelihoodRatio | None = None

    def same(self, other: Trial | None) -> bool:
        return other is not None and (self.test, self.first, self.in_pairs) == (
            other.test,
            other.first,
            other.in_pairs,
        )

    def judge(self, counts: list[int]) -> bool:
        """Update the test, no race, with results, worst to best.  Return whether they decide it."""
        if isinstance(self.test, Race):
            return False
        self.latest = LikelihoodRatio(self.llr(counts), list(counts))
        return self.accept(counts, self.test.accepted_at(self.latest.llr))

    def accept(self, counts: list[int], accepted: str, by: str = "") -> bool:
        """Store a decision, "" for none.  Return whether it is the first."""
        decides = bool(accepted) and self.decision is None
        if decides:
            self.decision = Decision(self.llr(counts), list(counts), accepted, by)
        return decides

    def llr(self, counts: list[int]) -> float:
        """Return the log-likelihood ratio of results, worst to best."""
        if self.latest is not None and self.latest.counts == counts:
            return self.latest.llr
        return 0.0 if isinstance(self.test, Race) else self.test.measure(counts)

    def stop(self, counts: list[int], finished: bool) -> str:
        """Return the state of a precision, a ladder or a race in words, "" for none."""
        test, decision = self.test, self.decision
        goal = Precision(test.precision) if isinstance(test, HandicapLadder) else test
        unit = "Elo" if goal is test else "levels"
        wanted = f"± {goal.elo:g} {unit} (95 %)" if isinstance(goal, Precision) else ""
        if decision is not None and decision.accepted in _CONCLUSIONS:
            games = counted(_games(decision.counts), "game")
            return _CONCLUSIONS[decision.accepted].format(games=games, by=decision.by, elo=wanted)
        if not isinstance(goal, Precision):
            return ""
        error = self.llr(counts)
        if error >= UNKNOWN:
            return f"until {wanted}"
        more = f", about {counted(_round(goal.remaining(_games(counts), error)), 'game')} more"
        return f"± {error:.1f} of {wanted}{'' if finished else more}"


#: Decisions of a precision, a ladder and a race.
_CONCLUSIONS = {
    "reached": "{elo} reached after {games}",
    "beyond": "off the ladder after {games}",
    "won": "won the race after {games}",
    "dropped": "dropped after {games}: {by} is better",
    "behind": "out of the race after {games}: {by} leads",
}


def sequential_warnings(limit: int | None, alternating: bool, trial: Trial) -> list[str]:
    lines: list[str] = []
    test = trial.test
    if not isinstance(test, Sprt):
        return lines
    if limit is None and test.elo0 == -test.elo1:
        lines.append(
            f"draws alone never decide between {test.elo0:g} and {test.elo1:g}: "
            "set number_of_games, or such an SPRT may never end"
        )
    if not alternating:
        lines.append(f"colours do not alternate: the SPRT tests {trial.first} moving first")
    elif trial.in_pairs and limit is not None and limit % 2:
        lines.append(f"the last of {limit} games is half a pair, which the SPRT does not count")
    return lines


class SprtReport(msgspec.Struct, frozen=True):
    """The state of a matchup's test.

    players   H1: the first is test.elo1 stronger than the second; H0: test.elo0
    counts    losses, draws, wins of games, or pairs by points 0, ½, 1, 1½, 2
    llr       logarithm of the likelihood ratio of `counts`
    decision  None while undecided
    finished  whether all games have been played
    """

    test: Sprt
    players: tuple[str, str]
    counts: tuple[int, ...]
    llr: float
    decision: Decision | None = None
    finished: bool = False

    @property
    def accepted(self) -> str:
        """ "H0", "H1", or "" while undecided."""
        return "" if self.decision is None else self.decision.accepted

    @property
    def bounds(self) -> tuple[float, float]:
        """The ratios that accept H0 and H1."""
        return self.test.bounds

    @property
    def games_at_decision(self) -> int | None:
        return None if self.decision is None else _games(self.decision.counts)

    @property
    def remaining(self) -> int | None:
        """Estimated number of further games; None where there is no estimate."""
        if self.decision is not None or self.finished:
            return None
        more = self.test.remaining(sum(self.counts), self.llr)
        return None if more is None else more * (2 if len(self.counts) == 5 else 1)

    @property
    def conclusion(self) -> str:
        """The decision in words; "" while undecided."""
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
        """The conclusion, or "undecided"."""
        more = self.remaining
        if self.decision is not None:
            return f"{self.accepted}: {self.conclusion}"
        if self.finished:
            return "undecided after the last game"
        return (
            "undecided"
            if more is None
            else f"undecided, some {counted(_round(more), 'game')} to go"
        )

    def lines(self) -> list[str]:
        test, (low, high) = self.test, self.test.bounds
        head = f"SPRT {test.elo0:g} to {test.elo1:g} {test.unit}: "
        ratio = f"LLR {self.llr:.2f} ({low:.2f} to {high:.2f})"
        if self.decision is not None:
            at_decision = counted(self.games_at_decision or 0, "game")
            head += f"{self.accepted} accepted after {at_decision}, "
            if self.decision.counts == list(self.counts):
                return [head + ratio, self.conclusion]
            head += f"LLR {self.decision.llr:.2f} ({low:.2f} to {high:.2f})"
            now = counted(_games(self.counts), "game")
            return [head, f"{self.conclusion} (LLR {self.llr:.2f} after {now})"]
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
        }


def _games(counts: tuple[int, ...] | list[int]) -> int:
    return sum(counts) * (2 if len(counts) == 5 else 1)


def _more(elo: float, unit: str) -> str:
    return f"more than {elo:g} {unit} " if elo else ""


def _round(games: int) -> int:
    """Round a number of games to two significant digits."""
    return round(games, min(0, 2 - len(str(games))))
