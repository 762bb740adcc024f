"""Proposals of Optuna's samplers (Akiba et al., "Optuna", KDD 2019) by ask and tell.

The study is in memory only; Optuna's storages, which need a database or pickles, are not used.
Each proposal has a new sampler, whose seed depends on the tune's seed and the trial's number: a
proposal is a function of the trials before it.  A study is thus rebuilt from a list of events,
`Asked` and `Told`.  The samplers tpe, gp and random read the trials alone.  cmaes, nsga2 and qmc
keep notes beside them, so their proposals are made again, and the stored values replace them.

`optuna` takes a quarter of a second to import; only a new study does so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from ringmaster.model.randomness import OPTUNA_STREAM, words
from ringmaster.tuners.search.space import Dimension, Space, Values

if TYPE_CHECKING:
    import optuna

SamplerName = Literal["tpe", "gp", "cmaes", "nsga2", "random", "qmc"]
SAMPLERS: tuple[SamplerName, ...] = get_args(SamplerName)
#: Packages that a sampler needs beside optuna.
NEEDS: dict[str, str] = {"cmaes": "cmaes", "gp": "torch"}
#: Samplers that keep notes beside the trials.
_KEEPING_NOTES = ("cmaes", "nsga2", "qmc")
#: Most refused candidates of the sampler in a row, then of the random sampler.
SAMPLER_TRIES, RANDOM_TRIES = 100, 900
#: Attempts of one trial have numbers of their own.
_ATTEMPTS = 10_000


class Refused(Exception):
    """Raised when the constraint refuses every candidate."""


class Asked(msgspec.Struct, frozen=True):
    """A proposal made earlier.

    sampler  None for values that no sampler proposed
    refused  candidates that the constraint refused before
    """

    number: int
    values: Values
    sampler: SamplerName | None
    refused: int = 0


class Told(msgspec.Struct, frozen=True):
    """The score of a finished trial, 0 to 1."""

    number: int
    score: float


class Study:
    """Proposes candidates.  Raises ImportError where a package is missing."""

    def __init__(self, space: Space, seed: int, events: Iterable[Asked | Told] = ()) -> None:
        """Rebuild a study from earlier events, in their order."""
        import optuna

        self._optuna = optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = space
        self._seed = seed
        self._study = optuna.create_study(direction="maximize")
        self._distributions = {
            d.code: self._distribution(d) for d in space.dimensions if not d.fixed
        }
        #: Optuna's numbers of the trials, which count refused candidates too.
        self._numbers: dict[int, int] = {}
        for event in events:
            if isinstance(event, Told):
                self.tell(event)
            else:
                self._repeat(event)

    def ask(self, number: int, sampler: SamplerName, accepts: Callable[[Values], bool]) -> Asked:
        """Return the proposal for a new trial.

        accepts  the constraint
        Raises Refused after SAMPLER_TRIES and RANDOM_TRIES refused candidates.
        """
        for attempt in range(SAMPLER_TRIES + RANDOM_TRIES):
            trial = self._ask(number, attempt, sampler)
            values = self._suggest(trial)
            if accepts(values):
                self._numbers[number] = trial.number
                return Asked(number, values, sampler, attempt)
            self._refuse(trial)
        raise Refused

    def tell(self, told: Told) -> None:
        """Finish a trial."""
        self._study.tell(self._numbers[told.number], told.score)

    def _ask(self, number: int, attempt: int, sampler: SamplerName) -> optuna.Trial:
        name = sampler if attempt < SAMPLER_TRIES else "random"
        with warnings.catch_warnings():
            # experimental and deprecated arguments of this version, which setup.cfg fixes
            warnings.simplefilter("ignore")
            self._study.sampler = self._sampler(name, number * _ATTEMPTS + attempt)
            trial = self._study.ask()
            # makes the sampler's notes, also for a trial whose values are given
            _ = trial.relative_params
            return trial

    def _refuse(self, trial: optuna.Trial) -> None:
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)

    def _repeat(self, asked: Asked) -> None:
        """Add a trial that was proposed earlier."""
        params = {
            d.code: value
            for d, value in zip(self._space.dimensions, asked.values, strict=True)
            if value is not None and not d.fixed
        }
        create, states = self._optuna.trial.create_trial, self._optuna.trial.TrialState
        if asked.sampler in _KEEPING_NOTES:
            for attempt in range(asked.refused):
                self._refuse(self._ask(asked.number, attempt, asked.sampler))
            self._study.enqueue_trial(params)
            trial = self._ask(asked.number, asked.refused, asked.sampler)
            self._suggest(trial)
            self._numbers[asked.number] = trial.number
            return
        # seeds and notes depend on Optuna's numbers
        for _ in range(asked.refused):
            self._study.add_trial(create(state=states.FAIL))
        distributions = {code: self._distributions[code] for code in params}
        self._study.add_trial(
            create(state=states.RUNNING, params=params, distributions=distributions)
        )
        self._numbers[asked.number] = len(self._study.get_trials(deepcopy=False)) - 1

    def _suggest(self, trial: optuna.Trial) -> list[int | float | None]:
        """Return the values of a trial, dimension by dimension."""
        values: list[int | float | None] = []
        for d in self._space.dimensions:
            value: int | float | None
            if not d.exists(values):
                value = None
            elif d.fixed:
                value = d.start
            elif d.choices:
                value = trial.suggest_categorical(d.code, range(int(d.high) + 1))
            elif d.integer:
                step = 1 if d.step is None else int(d.step)
                value = trial.suggest_int(d.code, int(d.low), int(d.high), step=step, log=d.log)
            else:
                value = trial.suggest_float(d.code, d.low, d.high, step=d.step, log=d.log)
            values.append(value)
        return values

    def _distribution(self, d: Dimension) -> Any:
        distributions = self._optuna.distributions
        if d.choices:
            return distributions.CategoricalDistribution(range(int(d.high) + 1))
        if d.integer:
            step = 1 if d.step is None else int(d.step)
            return distributions.IntDistribution(int(d.low), int(d.high), log=d.log, step=step)
        return distributions.FloatDistribution(d.low, d.high, log=d.log, step=d.step)

    def _sampler(self, name: SamplerName, number: int) -> optuna.samplers.BaseSampler:
        """Return a new sampler.

        Optuna would derive the space from the finished trials, at a cost that grows with
        them; and its first proposals would be random.
        """
        samplers = self._optuna.samplers
        seed = words(self._seed, OPTUNA_STREAM, number, 1)[0] >> 32
        joint = {
            d.code: self._distributions[d.code]
            for d in self._space.dimensions
            if not d.conditional and not d.fixed and not (d.choices and name == "cmaes")
        }
        sampler: optuna.samplers.BaseSampler
        match name:
            case "tpe":
                sampler = samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
            case "gp":
                sampler = samplers.GPSampler(seed=seed)
            case "cmaes":
                start = {d.code: d.start for d in self._space.dimensions if d.code in joint}
                sampler = samplers.CmaEsSampler(seed=seed, x0=start)
            case "nsga2":
                sampler = samplers.NSGAIISampler(seed=seed)
            case "qmc":
                # one sequence for the whole tune
                own = words(self._seed, OPTUNA_STREAM, 0, 1)[0] >> 32
                independent = samplers.RandomSampler(seed=seed)
                sampler = samplers.QMCSampler(
                    seed=own, scramble=True, independent_sampler=independent
                )
            case "random":
                sampler = samplers.RandomSampler(seed=seed)
        sampler.infer_relative_search_space = lambda study, trial: joint  # type: ignore[method-assign]
        return sampler
