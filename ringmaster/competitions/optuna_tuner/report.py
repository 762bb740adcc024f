"""Reports of an optuna_tuner: the best candidates, the parameters, and the same as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.optuna_tuner.settings import SearchedParameter
from ringmaster.competitions.optuna_tuner.state import OptunaState, Trial
from ringmaster.competitions.tuning.opponents import counts_text
from ringmaster.errors import counted
from ringmaster.model.report import RIGHT, Cell, Table, Text
from ringmaster.stats.elo import Z95, elo_of_score
from ringmaster.tuners.search.surrogate import Estimate, Surrogate

#: Candidates in a report, and on the live display.
SHOWN, SHOWN_LIVE = 10, 5
#: Candidates whose values are shown.
SHOWN_VALUES = 3
#: Shown for a parameter that does not exist.
_NONE = "–"
#: Games of one result after which an opponent counts as too weak or too strong.
_TELLING = 40
#: Distance from 0 and 1 within which a score has no useful Elo.
_EXTREME = 0.05


class TrialReport(msgspec.Struct, frozen=True):
    """The present state of a tune.

    surrogate  estimates, None without an ended trial
    numbers    numbers of the trials that it estimates, in its order
    wanted     number of trials
    values     returns the values of a trial for people
    start      start values
    opponents  codes, () for the start values
    """

    parameters: Sequence[SearchedParameter]
    state: OptunaState
    surrogate: Surrogate | None
    numbers: Sequence[int]
    wanted: int
    sampler: str
    values: Callable[[Trial], dict[str, Any]]
    start: list[int | float | None]
    opponents: tuple[str, ...]

    def blocks(self) -> list[Table | Text]:
        """Return the report's blocks."""
        if self.surrogate is None:
            return [Text((self._title(), *self._results()))]
        return [self._candidates(SHOWN), self._values(), *self._doubts()]

    def short(self) -> list[Table | Text]:
        """Return the blocks of the live display."""
        if self.surrogate is None:
            return [Text((self._title(), *self._results()))]
        return [self._candidates(SHOWN_LIVE), *self._doubts()]

    def data(self) -> dict[str, Any]:
        """Return the data of `show --json`."""
        ranking, surrogate = self._ranking(), self.surrogate
        best = ranking[0][0] if ranking else None
        start = self._start_values()
        values = start if best is None else self._played(best)
        importance = self._importance()
        parameters = []
        for p in self.parameters:
            shown = values.get(p.code)
            # on the tuner's scale, a choice is its index
            value = shown if p.choices is None else p.choices.index(shown)
            parameters.append(
                {
                    "code": p.code,
                    "start": start.get(p.code),
                    "value": value,
                    "engine_value": shown,
                    "exists": shown is not None,
                    "importance": importance.get(p.code),
                    "frozen": p.frozen,
                }
            )
        gain = None if surrogate is None else self._gain(surrogate)
        return {
            "sampler": self.sampler,
            "trials": {
                "ended": self.state.ended,
                "ended_early": self._ended_early(),
                "refused": sum(t.refused for t in self.state.trials.values()),
                "planned": self.wanted,
            },
            "best": best,
            "gain": None if gain is None else {"score": gain.score, "error": Z95 * gain.deviation},
            "parameters": parameters,
            "candidates": [
                {
                    "trial": number,
                    "parameters": self._played(number),
                    "games": self.state.trials[number].games,
                    "score": self.state.trials[number].score,
                    "estimate": estimate.score,
                    "error": Z95 * estimate.deviation,
                    "ended_early": self.state.trials[number].hopeless,
                }
                for number, estimate in ranking
            ],
        }

    def _played(self, number: int) -> dict[str, Any]:
        return self.values(self.state.trials[number])

    def _start_values(self) -> dict[str, Any]:
        return self.values(Trial(self.start))

    def _ranking(self) -> list[tuple[int, Estimate]]:
        """Return trials with their estimates, the best first."""
        if self.surrogate is None:
            return []
        estimates = self.surrogate.estimates
        return [(self.numbers[row], estimates[row]) for row in self.surrogate.ranking]

    def _gain(self, surrogate: Surrogate) -> Estimate | None:
        """Return the best candidate's gain over the start values, None before those have ended."""
        if 0 not in self.numbers:
            return None
        return surrogate.gain(surrogate.best, self.numbers.index(0))

    def _gain_lines(self, surrogate: Surrogate) -> Iterator[str]:
        """Yield a line on the best candidate's gain, with Elo where scores are not extreme."""
        best = self._ranking()[0]
        gain = self._gain(surrogate)
        if gain is None or best[0] == 0:
            return
        start = surrogate.estimates[self.numbers.index(0)]
        line = (
            f"gain of trial {best[0]} over the start values: {gain.score:+.3f} ± "
            f"{Z95 * gain.deviation:.3f} a game (95 %)"
        )
        error = Z95 * gain.deviation
        scores = [start.score + gain.score + part * error for part in (0, -1, 1)]
        if all(_EXTREME < score < 1 - _EXTREME for score in (start.score, *scores)):
            elo, low, high = (elo_of_score(s) - elo_of_score(start.score) for s in scores)
            line += f", {elo:+.0f} Elo (95 %: {low:z.0f} to {high:z.0f})"
        yield line

    def _importance(self) -> dict[str, float]:
        return {} if self.surrogate is None else self.surrogate.importance()

    def _ended_early(self) -> int:
        return sum(t.hopeless for t in self.state.trials.values() if t.place is not None)

    def _title(self) -> str:
        return (
            f"{self.state.ended} of {counted(self.wanted, 'trial')} ended, sampler {self.sampler}"
        )

    def _results(self) -> list[str]:
        against = " and ".join(self.opponents) or "the start values"
        lines = [f"{counts_text(self.state.results)} of candidates against {against}"]
        for code, counts in sorted(self.state.against.items()):
            lines.append(f"{counts_text(counts)} against {code}")
        early = self._ended_early()
        if early:
            lines.append(f"ended early as hopeless: {counted(early, 'trial')}")
        refused = sum(t.refused for t in self.state.trials.values())
        if refused:
            lines.append(f"refused by the constraint: {counted(refused, 'candidate')}")
        return lines

    def _candidates(self, most: int) -> Table:
        ranking = self._ranking()
        rows: list[tuple[Cell, ...]] = []
        for number, estimate in ranking[:most]:
            trial = self.state.trials[number]
            rows.append(
                (
                    _name(number),
                    trial.games,
                    None if trial.known is not None else f"{trial.score:.3f}",
                    f"{estimate.score:.3f} ± {Z95 * estimate.deviation:.3f}",
                )
            )
        more = len(ranking) - len(rows)
        notes = [f"and {more} more"] if more else []
        notes += self._results()
        notes.append("estimate: score by all trials together; similar candidates support it")
        assert self.surrogate is not None
        notes += self._gain_lines(self.surrogate)
        return Table(
            headers=("best candidates", "games", "score", "estimate (95 %)"),
            rows=tuple(rows),
            title=self._title(),
            notes=tuple(notes),
            align=("left", *([RIGHT] * 3)),
        )

    def _values(self) -> Table:
        best = [number for number, _ in self._ranking() if number][:SHOWN_VALUES]
        values = [self._played(number) for number in best]
        start, importance = self._start_values(), self._importance()
        rows: list[tuple[Cell, ...]] = []
        for p in self.parameters:
            if p.choices is not None:
                bounds = ", ".join(map(str, p.choices.choices))
            else:
                bounds = f"{_number(p.minimum)} to {_number(p.maximum)}{' log' if p.log else ''}"
            share = importance.get(p.code)
            unknown = "unknown" if importance else None
            rows.append(
                (
                    p.code,
                    _number(start[p.code]) if p.code in start else _NONE,
                    *(_number(row[p.code]) if p.code in row else _NONE for row in values),
                    bounds,
                    "frozen" if p.frozen else unknown if share is None else f"{share:.0%}",
                )
            )
        notes = []
        if any(_NONE in row for row in rows):
            notes.append(f"{_NONE}  the parameter does not exist")
        if importance:
            notes.append("importance: share of the estimates' variance that needs the parameter")
        else:
            notes.append("importance: not known yet; the candidates may be equal")
        return Table(
            headers=("parameter", "start", *map(_name, best), "range", "importance"),
            rows=tuple(rows),
            title="values of the best candidates",
            notes=tuple(notes),
            align=("left", RIGHT, *([RIGHT] * len(best)), "left", RIGHT),
        )

    def _doubts(self) -> Iterator[Text]:
        """Yield a warning about each opponent whose games tell nothing."""
        several = self.state.against or {
            (self.opponents or ("the start values",))[0]: self.state.results
        }
        for code, (wins, draws, losses) in sorted(several.items()):
            games = wins + draws + losses
            if games < _TELLING or games not in (wins, draws, losses):
                continue
            did, advice = "drawn", "a longer or an unbalanced set of openings"
            if games == losses:
                did, advice = "lost", "a weaker opponent, or less time for it"
            elif games == wins:
                did, advice = "won", "a stronger opponent, or more time for it"
            yield Text(
                (
                    f"no information: candidates have {did} all {games} games against {code}; "
                    f"use {advice}",
                )
            )


def _name(number: int) -> str:
    return "start" if number == 0 else f"trial {number}"


def _number(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.6g}" if is_number else str(value)
