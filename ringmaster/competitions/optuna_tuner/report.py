"""Reports of an optuna_tuner: the best candidates, the parameters, and the same as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.optuna_tuner.settings import SearchedParameter
from ringmaster.competitions.optuna_tuner.state import OptunaState, Trial
from ringmaster.competitions.tuning.opponents import results_text, uninformative
from ringmaster.competitions.tuning.parameter_settings import value_text
from ringmaster.errors import counted
from ringmaster.model.report import LEFT, Column, Listing, Table, Text
from ringmaster.stats.elo import Z95, elo_of_score
from ringmaster.tuners.search.surrogate import Surrogate

#: Candidates in a report, and on the live display.
SHOWN, SHOWN_LIVE = 10, 5
#: Candidates whose values are shown.
SHOWN_VALUES = 3
#: Distance from 0 and 1 within which a score has no useful Elo.
_EXTREME = 0.05


def _name(number: int) -> str:
    return f"trial {number}" if number else "start"


_CANDIDATES = (
    Column("trial", "best candidates", _name, LEFT),
    Column("games", "games"),
    Column("score", "score", "{:.3f}".format),
    Column("estimate_with_error", "estimate (95 %)", in_data=False),
    *map(Column, ("parameters", "estimate", "error", "ended_early")),
)


class TrialReport(msgspec.Struct, frozen=True):
    """The present state of a tune.

    title      progress of the tune
    surrogate  estimates, None without an ended trial
    wanted     number of trials
    values     returns the values of a trial for people
    start      start values
    opponents  codes, () for the start values
    """

    title: str
    parameters: Sequence[SearchedParameter]
    state: OptunaState
    surrogate: Surrogate | None
    wanted: int
    sampler: str
    values: Callable[[Trial], dict[str, Any]]
    start: list[int | float | None]
    opponents: tuple[str, ...]

    def blocks(self, *, live: bool = False) -> list[Table | Text]:
        """Return the blocks of the report, or those of the live display."""
        notes = self._results()
        if self.surrogate is None:
            return [Text((self.title, *notes))]
        candidates = self._candidates()
        shown = candidates[: SHOWN_LIVE if live else SHOWN]
        if len(candidates) > len(shown):
            notes.insert(0, f"and {len(candidates) - len(shown)} more")
        notes.append("estimate: score by all trials together; similar candidates support it")
        notes += self._gain_lines(candidates)
        blocks: list[Table | Text] = [Listing(_CANDIDATES, shown).table(self.title, notes)]
        if not live:
            blocks.append(self._values(candidates))
        lines = uninformative(self.state.tallies.values())
        return [*blocks, *(Text((line,)) for line in lines)]

    def data(self) -> dict[str, Any]:
        """Return the data of `show --json`."""
        candidates = self._candidates()
        return {
            "sampler": self.sampler,
            "trials": {"ended": self.state.ended, **self._lost(), "planned": self.wanted},
            "best": candidates[0]["trial"] if candidates else None,
            "gain": self._gain(candidates),
            "parameters": self._parameters(candidates).data(),
            "candidates": Listing(_CANDIDATES, candidates).data(),
        }

    def _candidates(self) -> tuple[dict[str, Any], ...]:
        """Return the values of all columns for each estimated trial, the best first."""
        if self.surrogate is None:
            return ()
        rows, trials = [], self.state.estimated(self.surrogate)
        for row in self.surrogate.ranking:
            (number, trial), estimate = trials[row], self.surrogate.estimates[row]
            error = Z95 * estimate.deviation
            rows.append(
                {
                    "trial": number,
                    "games": trial.games,
                    "score": trial.score,
                    "estimate": estimate.score,
                    "error": error,
                    "estimate_with_error": f"{estimate.score:.3f} ± {error:.3f}",
                    "parameters": self.values(trial),
                    "ended_early": trial.hopeless,
                }
            )
        return tuple(rows)

    def _parameters(self, candidates: Sequence[dict[str, Any]]) -> Listing:
        """Return the values of the best candidates by parameter."""
        start = self.values(Trial(self.start))
        best = candidates[0]["parameters"] if candidates else start
        shown = [row for row in candidates if row["trial"]][:SHOWN_VALUES]
        importance = {} if self.surrogate is None else self.surrogate.importance()
        rows = []
        for p in self.parameters:
            share, value = importance.get(p.code), best.get(p.code)
            scale = " log" if p.scale == "log" else ""
            bounds = f"{value_text(p.minimum)} to {value_text(p.maximum)}{scale}"
            known = "unknown" if importance else None
            rows.append(
                {
                    "code": p.code,
                    "start": start.get(p.code),
                    # on the tuner's scale, a choice is its index
                    "value": value if p.choices is None else p.choices.index(value),
                    "engine_value": value,
                    "exists": value is not None,
                    "importance": share,
                    "frozen": p.frozen,
                    "range": ", ".join(map(str, p.choices.choices)) if p.choices else bounds,
                    "share": "frozen" if p.frozen else known if share is None else f"{share:.0%}",
                    **{_name(row["trial"]): row["parameters"].get(p.code) for row in shown},
                }
            )
        columns = (
            Column("code", "parameter", align=LEFT),
            Column("start", "start", value_text),
            *(Column(n, n, value_text, in_data=False) for n in (_name(r["trial"]) for r in shown)),
            Column("range", "range", align=LEFT, in_data=False),
            Column("share", "importance", in_data=False),
            *map(Column, ("value", "engine_value", "exists", "importance", "frozen")),
        )
        return Listing(columns, tuple(rows))

    def _values(self, candidates: Sequence[dict[str, Any]]) -> Table:
        listing = self._parameters(candidates)
        notes = []
        if any(p.only_if for p in self.parameters):
            notes.append("without a value: the candidate does not have the parameter")
        if any(row["importance"] is not None for row in listing.rows):
            notes.append("importance: share of the estimates' variance that needs the parameter")
        else:
            notes.append("importance: not known yet; the candidates may be equal")
        return listing.table("values of the best candidates", notes)

    def _gain(self, candidates: Sequence[dict[str, Any]]) -> dict[str, float] | None:
        """Return the best candidate's gain over the start values, None before those have ended."""
        if self.surrogate is None or all(row["trial"] for row in candidates):
            return None
        numbers = [number for number, _ in self.state.estimated(self.surrogate)]
        gain = self.surrogate.gain(self.surrogate.best, numbers.index(0))
        return {"score": gain.score, "error": Z95 * gain.deviation}

    def _gain_lines(self, candidates: Sequence[dict[str, Any]]) -> list[str]:
        """Return a line on the best candidate's gain, with Elo where scores are not extreme."""
        best, gain = candidates[0]["trial"], self._gain(candidates)
        if gain is None or best == 0:
            return []
        score, error = gain["score"], gain["error"]
        line = (
            f"gain of trial {best} over the start values: {score:+.3f} ± {error:.3f} a game (95 %)"
        )
        start = next(row["estimate"] for row in candidates if row["trial"] == 0)
        scores = [start + score + part * error for part in (0, -1, 1)]
        if all(_EXTREME < score < 1 - _EXTREME for score in (start, *scores)):
            elo, low, high = (elo_of_score(score) - elo_of_score(start) for score in scores)
            line += f", {elo:+.0f} Elo (95 %: {low:z.0f} to {high:z.0f})"
        return [line]

    def _lost(self) -> dict[str, int]:
        """Return the numbers of trials that ended early, and of refused candidates."""
        trials = self.state.trials.values()
        return {
            "ended_early": sum(t.hopeless for t in trials if t.place is not None),
            "refused": sum(t.refused for t in trials),
        }

    def _results(self) -> list[str]:
        against = " and ".join(self.opponents) or "the start values"
        tallies = self.state.tallies.values()
        lines = [f"{results_text(tallies)} of candidates against {against}"]
        if len(self.opponents) > 1:
            lines += [f"{results_text(tallies, code)} against {code}" for code in self.opponents]
        lost = self._lost()
        if lost["ended_early"]:
            lines.append(f"ended early as hopeless: {counted(lost['ended_early'], 'trial')}")
        if lost["refused"]:
            lines.append(f"refused by the constraint: {counted(lost['refused'], 'candidate')}")
        return lines
