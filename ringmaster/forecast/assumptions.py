"""Assumptions of `plan` and `simulate`: options of the command line, and measurements of
the status file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import UsageError, counted
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.storage.store import Store
from ringmaster.tuners.simulation import (
    DRAW_MODELS,
    SHAPES,
    Clop,
    EloModel,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    spsa_tuner,
)
from ringmaster.tuners.space import Array, Space

#: Values of an option by parameter code; the key None holds the value of other codes.
ByCode = Mapping[str | None, Any]

DEFAULT_ELO = 2.0
#: Draw ratio of chess without measurements, as in fishtest.
_DRAWS_IN_CHESS = 0.61
#: Most recent results that are measured.
_MEASURED_RESULTS = 2000


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """Options of both actions.

    elo, optimum  values of --elo and --optimum
    draw_ratio    None: as measured
    concurrency   games in progress in the real run
    parallel      games at a time in the real run (`plan`), or processes of `simulate`
    """

    elo: ByCode = field(default_factory=dict)
    optimum: ByCode = field(default_factory=dict)
    draw_ratio: float | None = None
    concurrency: int = 1
    seed: int = 0
    parallel: int = 1


def spsa_of(loaded: LoadedCompetition) -> SpsaCompetition:
    """Return the competition of an spsa tune.  Raises UsageError."""
    if not isinstance(loaded.competition, SpsaCompetition):
        raise UsageError(
            f"plan and simulate are for competition_type 'spsa'; {loaded.code} is of type "
            f"{loaded.competition.type_name!r}"
        )
    return loaded.competition


def games_of(competition: SpsaCompetition) -> int:
    """Return the number of games of a whole tune."""
    return competition.iterations * competition.tuner.counting.games_per_iteration


@dataclass(frozen=True)
class Measured:
    """Measurements of the last games in the status file; None without games.

    games       number of measured games
    seconds     wall time of a game
    draw_ratio  share of draws
    """

    games: int = 0
    seconds: float | None = None
    draw_ratio: float | None = None


def measured(loaded: LoadedCompetition) -> Measured:
    """Return the measurements of the status file.  Raises StoreError."""
    if not loaded.paths.has_results:
        return Measured()
    store = Store.open_readonly(loaded.paths.status)
    try:
        last = sum(store.counts())
        results = [r.result for r in store.games(max(0, last - _MEASURED_RESULTS))]
    finally:
        store.close()
    played = [result for result in results if result.outcome != "void"]
    if not played:
        return Measured()
    draws = sum(result.outcome == "draw" for result in played)
    return Measured(
        len(played),
        sum(result.seconds for result in played) / len(played),
        draws / len(played),
    )


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Assumptions about the players of a tune.

    elo      Elo lost at half a range from the optimum, (n,)
    optimum  (n,), None if random
    lines    the assumptions in words
    asked    whether the user gave the Elo of all parameters
    """

    space: Space
    elo: Array
    optimum: Array | None
    draw_ratio: float
    concurrency: int
    lines: tuple[str, ...]
    asked: bool = True

    def lost_at_start(self) -> Array:
        """Return the Elo loss at the start for a quadratic loss, (n,)."""
        from ringmaster.tuners.spsa.planning import uniform_loss

        if self.optimum is None:
            return uniform_loss(self.space, self.elo)
        distance = (self.space.start - self.optimum) / (self.space.width / 2)
        return self.elo * np.square(distance)


def assume(options: ForecastOptions, competition: SpsaCompetition, known: Measured) -> Assumptions:
    """Return the assumptions by options, measurements and defaults.  Raises UsageError."""
    codes = [p.code for p in competition.tuned]
    space = competition.tuner.space
    elo, elo_text = _elo(options.elo, codes)
    optimum, place_text = _optimum(options.optimum, codes, space)
    ratio, ratio_text = _draw_ratio(options.draw_ratio, competition, known)
    lines = (elo_text, place_text, ratio_text)
    asked = None in options.elo or options.elo.keys() >= set(codes)
    return Assumptions(space, elo, optimum, ratio, options.concurrency, lines, asked)


def _by_parameter(values: ByCode, codes: list[str], option: str) -> list[Any]:
    """Return an option's value for each parameter, None if it is not set."""
    for code in values:
        if code is not None and code not in codes:
            raise UsageError(
                f"{option}: no parameter {code!r} is tuned; there are {', '.join(codes)}"
            )
    return [values.get(code, values.get(None)) for code in codes]


def _elo(option: ByCode, codes: list[str]) -> tuple[Array, str]:
    values = [
        DEFAULT_ELO if value is None else value for value in _by_parameter(option, codes, "--elo")
    ]
    if len(set(values)) == 1:
        text = f"{values[0]:g} Elo are lost at half a range from the optimum of each parameter"
    else:
        each = ", ".join(f"{c} {v:g}" for c, v in zip(codes, values, strict=True))
        text = f"Elo lost at half a range from the optimum: {each}"
    return np.array(values, dtype=np.float64), f"{text} (--elo)"


def _optimum(option: ByCode, codes: list[str], space: Space) -> tuple[Array | None, str]:
    places = _by_parameter(option, codes, "--optimum")
    kinds = {place for place in places if place is not None} or {"random"}
    if kinds == {"random"}:
        return None, "optima may be anywhere within the bounds (--optimum)"
    if "random" in kinds or None in places:
        raise UsageError("--optimum is random for all parameters or for none; give each a place")
    shares = {"centre": 0.5}
    optimum = np.array(
        [
            space.start[i]
            if place == "start"
            else space.minimum[i] + shares.get(place, place) * space.width[i]
            for i, place in enumerate(places)
        ],
        dtype=np.float64,
    )
    values = zip(codes, space.values(optimum).tolist(), strict=True)
    each = ", ".join(f"{code} {value:.6g}" for code, value in values)
    return optimum, f"optima: {each} (--optimum)"


def _draw_ratio(
    option: float | None, competition: SpsaCompetition, known: Measured
) -> tuple[float, str]:
    if option is not None:
        return option, f"{100 * option:g} % draws (--draw-ratio)"
    if known.draw_ratio is not None:
        ratio = min(known.draw_ratio, 0.999)
        return ratio, f"{100 * ratio:.1f} % draws, as in the last {counted(known.games, 'game')}"
    ratio = _DRAWS_IN_CHESS if competition.settings.game == "chess" else 0.0
    return ratio, f"{100 * ratio:g} % draws (--draw-ratio)"


def make_tune(competition: SpsaCompetition, concurrency: int) -> SimulatedTune:
    """Return the tune of a competition with a number of games in progress."""
    tuner = competition.tuner
    games = tuner.counting.games_per_iteration
    return SimulatedTune(
        tuner.method,
        competition.iterations,
        tuner.counting,
        tuner.rounding,
        math.ceil(concurrency / games),
        competition.pairing,
        tuner.estimate_rule,
    )


@dataclass(frozen=True, eq=False)
class OnScales(EloModel):
    """A model of the parameters' places on their scales."""

    model: EloModel
    space: Space

    def loss(self, x: Array) -> Array:
        return self.model.loss(self.space.theta(x))

    def at(self, optimum: Array) -> OnScales:
        return OnScales(self.model.at(optimum), self.space)


def make_players(
    assumed: Assumptions,
    *,
    elo_model: str = "quadratic",
    draw_model: str = "fixed",
    bias: float = 0.0,
    correlation: float = 0.0,
) -> SimulatedPlayers:
    """Return simulated players.  Raises UsageError."""
    if draw_model not in DRAW_MODELS:
        raise UsageError(
            f"--draw-model: there is no {draw_model!r}; choose from {', '.join(DRAW_MODELS)}"
        )
    n = len(assumed.space)
    if n > 1 and not -1 / (n - 1) <= correlation <= 1:
        raise UsageError(
            f"--correlation of {n} parameters is from {-1 / (n - 1):.3g} to 1, not {correlation:g}"
        )
    model, moves = _elo_model(elo_model, assumed, correlation if n > 1 else 0.0)
    if assumed.space.logarithmic is not None:
        model = OnScales(model, assumed.space)
    draws = DRAW_MODELS[draw_model](assumed.draw_ratio)
    return SimulatedPlayers(model, draws, bias, moves and assumed.optimum is None)


def _elo_model(text: str, assumed: Assumptions, correlation: float) -> tuple[EloModel, bool]:
    """Return a model, and whether its optimum can be moved."""
    name, colon, constant = text.partition(":")
    space = assumed.space
    if name == "spsa_tuner":
        return spsa_tuner(assumed.elo), False
    if name.startswith("clop-") and not colon:
        try:
            return Clop.of(name.removeprefix("clop-"), space), False
        except (KeyError, ValueError) as error:
            if isinstance(error, ValueError):
                raise UsageError(f"--elo-model: {error}") from None
    if name in SHAPES and not (colon and name == "quadratic"):
        _, value = SHAPES[name]
        try:
            value = float(constant) if colon else value
        except ValueError:
            value = math.nan
        if not 0 < value <= 100:
            raise UsageError(f"--elo-model: {constant!r} is not a number from above 0 to 100")
        centre = (space.minimum + space.maximum) / 2
        optimum = centre if assumed.optimum is None else assumed.optimum
        return Shaped(optimum, assumed.elo, space.width / 2, name, value, correlation), True
    raise UsageError(
        f"--elo-model: there is no {text!r}; choose from {', '.join(SHAPES)} (all but the first "
        "with a constant, as power:1.5), spsa_tuner and clop-…"
    )
