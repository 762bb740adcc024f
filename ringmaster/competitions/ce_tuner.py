"""ce_tuner: the cross-entropy method.  Each generation of candidates is drawn from
a Gaussian distribution that moves towards the candidates that won most."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec

from ringmaster.competitions.candidates import (
    CANDIDATE_SETTINGS,
    PARAMETER_ARGUMENTS,
    CandidateTuner,
)
from ringmaster.competitions.common import result_line
from ringmaster.competitions.competition import Played, Verdict
from ringmaster.competitions.tuned_options import TunedOptions
from ringmaster.competitions.voids import REMEDY, VoidKinds, count_void
from ringmaster.errors import SettingError, StateRefused
from ringmaster.model.jobs import CheckJob, GameJob, Ticket
from ringmaster.model.players import Player
from ringmaster.model.report import RIGHT, Cell, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import (
    CallOf,
    Float,
    Function,
    Integer,
    ListOf,
    Maybe,
    Setting,
)
from ringmaster.tuners.cross_entropy import (
    MOST_SAMPLES,
    Distribution,
    elite_size,
    ranked,
)

#: Candidates of the present generation on the live display.
SHOWN_LIVE = 10
#: Standard deviations from the mean to which transforms are probed, in how many steps to a
#: deviation, and with how many candidates of the present generation.
PROBED_DEVIATIONS, PROBED_STEPS, PROBED_CANDIDATES = 4, 8, 1000


def _identity(value: float) -> float:
    return value


class CeParameter(msgspec.Struct, frozen=True):
    """A Parameter(…) of a ce_tuner control file."""

    code: str
    initial_mean: float
    initial_variance: float
    transform: Callable[[float], Any] | None
    format: str | None
    option: str | None

    @property
    def function(self) -> Callable[[float], Any]:
        """See `CandidateParameter`."""
        return self.transform or _identity

    @property
    def function_name(self) -> str:
        """See `CandidateParameter`."""
        return "transform"


PARAMETER = CallOf(
    "Parameter",
    (
        *PARAMETER_ARGUMENTS,
        Setting("initial_mean", Float(), "Mean of the first generation."),
        Setting("initial_variance", Float(minimum=0), "Variance of the first generation."),
        Setting(
            "transform",
            Maybe(Function("a function of a number")),
            "From an optimiser parameter to an engine parameter; by default they are the same.",
            None,
            change="played",
        ),
    ),
    lambda values, context: CeParameter(**values),
    positional=("code",),
)


def _only_more(before: Any, now: Any) -> str:
    if isinstance(before, int) and isinstance(now, int) and now < before:
        return "candidates may have played more games than that; it can only be raised"
    return ""


class State(msgspec.Struct):
    """What the tuner carries from result to result.

    codes       of the parameters
    generation  from 0; the number of generations once all are done
    means, variances  of the present generation's distribution
    points, games  of the present generation's candidates
    issued      games given out, by candidate
    repeats     games that repeat an earlier one of the same candidate
    """

    codes: list[str]
    samples: int
    means: list[float]
    variances: list[float]
    generation: int = 0
    points: list[float] = []
    games: list[int] = []
    issued: list[int] = []
    completed: int = 0
    void: int = 0
    opponent: str = ""
    repeats: int = 0
    void_kinds: VoidKinds = {}


class CeTuner(CandidateTuner):
    """The `ce_tuner` competition type."""

    type_name: ClassVar[str] = "ce_tuner"
    table: ClassVar[tuple[Setting, ...]] = (
        *CANDIDATE_SETTINGS,
        Setting("parameters", ListOf(PARAMETER, minimum=1), "What is tuned.", change="refused"),
        Setting(
            "number_of_generations",
            Integer(minimum=1, maximum=10**9),
            "How often the distribution is moved.",
        ),
        Setting(
            "samples_per_generation",
            Integer(minimum=1, maximum=MOST_SAMPLES),
            "Candidates of each generation.",
            change="refused",
        ),
        Setting(
            "batch_size",
            Integer(minimum=1, maximum=10**9),
            "Games of each candidate; may be raised between runs.",
            rule=_only_more,
            limits="It may be raised, not lowered.",
        ),
        Setting(
            "elite_proportion",
            Float(above=0, maximum=1),
            "Share of a generation that is elite; 0.01 to 0.1 is recommended.",
        ),
        Setting(
            "step_size",
            Float(above=0, maximum=1),
            "How far the distribution moves towards the elite.",
        ),
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        #: The players of the present generation.
        self._made: dict[str, Player] = {}
        self._state = State(
            codes=[p.code for p in self.parameters],
            samples=values["samples_per_generation"],
            means=[p.initial_mean for p in self.parameters],
            variances=[p.initial_variance for p in self.parameters],
        )
        self._samples: list[tuple[float, ...]] = []
        #: Results since the competition was loaded.
        self._heard = 0
        self._begin_generation()
        means = self.engine_values(self._distribution.means)
        self._specimen = self.candidate("candidate", means)

    def _sample(self, index: int) -> float:
        return float(self.parameters[index].initial_mean)

    def _probes(self, index: int) -> list[float]:
        mean, variance = self._state.means[index], self._state.variances[index]
        end = PROBED_DEVIATIONS * PROBED_STEPS
        steps = (step / PROBED_STEPS for step in range(-end, end + 1))
        found = {mean + step * math.sqrt(variance) for step in steps}
        found |= {sample[index] for sample in self._samples[:PROBED_CANDIDATES]}
        return sorted(found)

    def _point(self, ticket: Ticket) -> Sequence[float]:
        return cast(Sequence[float], ticket["p"])

    @property
    def _distribution(self) -> Distribution:
        return Distribution(tuple(self._state.means), tuple(self._state.variances))

    def _begin_generation(self) -> None:
        count = self._state.samples
        self._state.points = [0.0] * count
        self._state.games = [0] * count
        self._state.issued = [0] * count
        self._draw()

    def _draw(self) -> None:
        """Draw the generation's samples, and try to make what engines are given of
        them only when they play: a transform that fails must not fail here."""
        distribution, generation = self._distribution, self._state.generation
        self._samples = [
            distribution.sample(self.values["seed"], generation, i)
            for i in range(self._state.samples)
        ]
        self._made.clear()

    def _code(self, generation: int, candidate: int) -> str:
        return f"g{generation}#{candidate}"

    def warnings(self) -> list[str]:
        lines = super().warnings()
        elite = elite_size(self.values["elite_proportion"], self._state.samples)
        if elite == self._state.samples > 1:
            lines.append("every candidate is elite: the distribution will not move")
        return lines

    @property
    def _most_games_of_candidate(self) -> int | None:
        games: int = self.values["batch_size"]
        return games

    def check_jobs(self) -> list[CheckJob]:
        first = self.engine_values(self._samples[0])
        return self.candidate_checks([self.engine_values(self._distribution.means), first])

    def tuned_options(self) -> TunedOptions | None:
        """See `Competition.tuned_options`: two standard deviations to either side."""
        now = self._distribution
        spreads = [2 * math.sqrt(variance) for variance in now.variances]
        means = list(zip(now.means, spreads, strict=True))
        try:
            ends = [self.engine_values([m + sign * s for m, s in means]) for sign in (1, -1)]
        except SettingError:
            # functions need not take what is so far away
            return None
        return self.options_between(self.engine_values(now.means), *ends)

    # issuing

    def may_run_ahead(self, parallel: int) -> bool:
        """See `Competition.may_run_ahead`: the candidates of a generation are drawn at once."""
        return True

    def next_job(self) -> GameJob | None:
        state = self._state
        if state.generation >= self.values["number_of_generations"]:
            return None
        # the candidate with the fewest games given out first
        candidate = min(range(state.samples), key=state.issued.__getitem__)
        round_number = state.issued[candidate]
        if round_number >= self.values["batch_size"]:
            return None
        ticket: Ticket = {
            "g": state.generation,
            "c": candidate,
            "r": round_number,
            "p": list(self._samples[candidate]),
            "s": self.seat(self._number(state.generation, candidate, round_number)),
        }
        job = self.make_job(f"{self._code(state.generation, candidate)}r{round_number}", 0, ticket)
        state.issued[candidate] += 1
        return job

    def _number(self, generation: int, candidate: int, round_number: int) -> int:
        """Return a number for a game: all candidates of a generation meet the same
        openings and colours in the same rounds."""
        return generation * MOST_SAMPLES + round_number

    def resume(self, ticket: Ticket) -> bool:
        state = self._state
        if ticket["g"] != state.generation:
            return False
        candidate = ticket["c"]
        state.issued[candidate] = max(state.issued[candidate], ticket["r"] + 1)
        return state.generation < int(self.values["number_of_generations"])

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        generation, candidate, round_number = ticket["g"], ticket["c"], ticket["r"]
        values = self.engine_values(ticket["p"])
        code = self._code(generation, candidate)
        player = self._made.get(code)
        if player is None:
            player = self._made[code] = self.candidate(code, values)
        number = self._number(generation, candidate, round_number)
        return self.candidate_job(game_id, attempt, ticket, ticket["s"], number, (player, values))

    def describe(self, ticket: Ticket) -> Played:
        code = self._code(ticket["g"], ticket["c"])
        return self.played(ticket, ticket["s"], code, self.values_to_show(ticket["p"]))

    # learning

    def take(self, ticket: Ticket, result: GameResult) -> Verdict:
        state = self._state
        candidate, seat = ticket["c"], ticket["s"]
        present = ticket["g"] == state.generation
        if present:
            state.issued[candidate] = max(state.issued[candidate], ticket["r"] + 1)
        first = not self._heard
        if result.outcome == "void":
            state.void += 1
            codes = [self._code(ticket["g"], candidate), self.opponent.code]
            line = result_line(result, (codes[seat], codes[1 - seat]))
            # candidates are many, and one engine
            sides = ["candidate", self.opponent.code]
            count_void(state.void_kinds, result, [sides[seat], sides[1 - seat]])
            # replayed once, then the run ends (Gomill)
            halt = "the first game of this run was void" if first else ""
            if result.attempt:
                halt = halt or f"game {result.game_id} was void again"
            return Verdict(line, replay=True, halt=halt and f"{halt}; {REMEDY}")
        self._heard += 1
        state.completed += 1
        state.repeats += result.repeats
        state.opponent = result.usage[1 - seat].name or state.opponent
        shown = f"{self._code(ticket['g'], candidate)} {self._shown(ticket['p'])}"
        line = self.outcome_line(result, seat, shown)
        if not present:
            return Verdict(line)
        state.points[candidate] += result.points(seat)
        state.games[candidate] += 1
        if any(games < self.values["batch_size"] for games in state.games):
            return Verdict(line)
        return Verdict(line, notes=tuple(self._finish_generation()), save=True)

    def _shown(self, sample: Any) -> str:
        return self.formatted(self.values_to_show(sample))

    def _finish_generation(self) -> list[str]:
        """Move the distribution; returns the generation's report for the history."""
        state = self._state
        order = ranked(state.points)
        elite = order[: elite_size(self.values["elite_proportion"], state.samples)]
        notes = [f"generation {state.generation}", *self._distribution_lines()]
        chosen = set(elite)
        for candidate in order:
            mark = "*" if candidate in chosen else " "
            notes.append(
                f"{self._code(state.generation, candidate)}{mark} "
                f"{self._shown(self._samples[candidate])} {state.points[candidate]:g}"
            )
        distribution = self._distribution.update(
            [self._samples[candidate] for candidate in elite], self.values["step_size"]
        )
        state.means, state.variances = list(distribution.means), list(distribution.variances)
        state.generation += 1
        self._begin_generation()
        return notes

    def finished(self) -> bool:
        return self._state.generation >= int(self.values["number_of_generations"])

    # state

    def state(self) -> dict[str, Any]:
        return msgspec.to_builtins(self._state)  # type: ignore[no-any-return]  # a struct: a dict

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        present = self._state
        if restored.codes != present.codes:
            raise StateRefused(
                f"the tune is of {', '.join(restored.codes)}, the control file has "
                f"{', '.join(present.codes)} now; put the parameters back, or use reset",
                ("parameters",),
            )
        if restored.samples != present.samples:
            raise StateRefused(
                f"generations have {restored.samples} candidates, not {present.samples}; "
                "put samples_per_generation back, or use reset",
                ("samples_per_generation",),
            )
        self._state = restored
        self._heard = 0
        self._draw()

    # reports

    def progress(self) -> Progress:
        state = self._state
        size = self.values["batch_size"] * state.samples
        left = max(0, self.values["number_of_generations"] - state.generation)
        total = state.completed - sum(state.games) + left * size
        # more than that when generations were taken away
        return Progress(
            state.completed, max(total, state.completed), phase=f"generation {state.generation}"
        )

    def report(self) -> Report:
        state = self._state
        conditions = self.conditions(
            state.opponent, state.void, state.void_kinds, state.completed, state.repeats
        )
        return Report((*self._blocks(None), conditions))

    def void_kinds(self) -> VoidKinds:
        return self._state.void_kinds

    def live_report(self) -> Report:
        return Report(tuple(self._blocks(SHOWN_LIVE)))

    def _distribution_lines(self) -> list[str]:
        means = self._distribution.means
        optimiser = " ".join(
            f"{p.code} {mean:.2f}~{variance:.2f}"
            for p, mean, variance in zip(
                self.parameters, self._state.means, self._state.variances, strict=True
            )
        )
        return [f"  {self._shown(means)}", f"  mean~variance: {optimiser}"]

    def _blocks(self, limit: int | None) -> list[Table | Text]:
        state = self._state
        wanted = self.values["number_of_generations"]
        if self.finished():
            heading = f"final distribution, after {state.generation} generations:"
            return [Text((heading, *self._distribution_lines()))]
        heading = f"distribution for generation {state.generation} (of {wanted}, from 0):"
        blocks: list[Table | Text] = [Text((heading, *self._distribution_lines()))]
        order = ranked(state.points)
        played = [c for c in order if state.games[c]]
        rows: list[tuple[Cell, ...]] = [
            (
                self._code(state.generation, c),
                self._shown(self._samples[c]),
                f"{state.points[c]:g}",
                f"{state.games[c]}/{self.values['batch_size']}",
            )
            for c in played[:limit]
        ]
        more = len(played) - len(rows)
        if rows:
            blocks.append(
                Table(
                    headers=("candidate", "parameters", "wins", "games"),
                    rows=tuple(rows),
                    title=f"candidates of generation {state.generation}",
                    notes=(f"and {more} more",) if more else (),
                    align=("left", "left", RIGHT, RIGHT),
                )
            )
        return blocks

    def summary(self) -> dict[str, Any]:
        state = self._state
        return {
            "generation": state.generation,
            "repeats": state.repeats,
            "parameters": [
                {"code": p.code, "mean": mean, "variance": variance}
                for p, mean, variance in zip(
                    self.parameters, state.means, state.variances, strict=True
                )
            ],
            "candidates": [
                {
                    "candidate": self._code(state.generation, c),
                    "parameters": self.named(self.values_to_show(self._samples[c])),
                    "games": state.games[c],
                    "points": state.points[c],
                }
                for c in range(state.samples)
                if state.games[c]
            ],
        }
