"""The `optuna_tuner` competition: Optuna proposes candidates, which play a number of games each.

A candidate is a trial: pairs of games against the start values or opponents.  Hopeless ones end
early.  The best candidate is the one with the highest estimate by all trials together
(`tuners.search.surrogate`).  A closing match against the start values may follow.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.competition import Played, Reaction
from ringmaster.competitions.optuna_tuner.settings import (
    OPTUNA_SETTINGS,
    check_packages,
    check_parameters,
    check_sampler,
    doubts,
    space_of,
)
from ringmaster.competitions.optuna_tuner.trials import OptunaState, ReportedTrials, Trial
from ringmaster.competitions.tuning.closing_match import Standing
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, check_unchanged
from ringmaster.competitions.tuning.player_tune import OPPONENT
from ringmaster.errors import SettingError, counted
from ringmaster.model.jobs import Task, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import Progress
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Setting
from ringmaster.tuners.search.early_end import is_hopeless
from ringmaster.tuners.search.optuna_study import (
    RANDOM_TRIES,
    SAMPLER_TRIES,
    Asked,
    Refused,
    Study,
    Told,
)
from ringmaster.tuners.search.space import Values


class OptunaTuner(ReportedTrials):
    """The `optuna_tuner` competition type.

    A value is the index of a choice, or a number; Optuna's numbers are stored in full, and
    rounded for engines (`SearchedParameter.played_value`).
    """

    type_name: ClassVar[str] = "optuna_tuner"
    table: ClassVar[tuple[Setting, ...]] = OPTUNA_SETTINGS

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._set_player(counted="trials")
        if not self._accepts(self.space.start()):
            raise SettingError(
                ("constraint",), "it refuses the start values", "start values that it allows"
            )
        state = OptunaState([p.code for p in self.parameters], {})
        if not self.opponents:
            # the start values score ½ against themselves
            state.trials[0] = Trial(self.space.start(), place=0)
            state.ended = 1
        self._use(state)

    def _use(self, state: OptunaState) -> None:
        self._state = state
        #: Trials in progress.
        self._running = {n: t for n, t in state.trials.items() if t.place is None}
        self._study: Study | None = None
        #: Estimates by the first ended trials; reports need those of two numbers.
        self._by_first = functools.lru_cache(2)(functools.partial(state.surrogate, self.space))

    def _wrong_settings(self) -> Iterable[SettingError]:
        if wrong := list(check_parameters(self.parameters)):
            return wrong
        self.space = space_of(self.parameters)
        return check_sampler(self.values["sampler"], self.space)

    # values

    def estimated(self) -> ValuesByCode:
        surrogate = self._surrogate()
        if surrogate is None:
            return self.start_values
        _, best = self._state.estimated(surrogate)[surrogate.best]
        return self._by_code(best.values)

    def _accepts(self, values: Values) -> bool:
        """Return whether the constraint allows a candidate.  Raises SettingError."""
        constraint = self.values["constraint"]
        if constraint is None:
            return True
        shown = self.shown_values(self._by_code(values))
        return bool(constraint(**{p.code: shown.get(p.code) for p in self.parameters}))

    def _playable(self, values: ValuesByCode) -> ValuesByCode | None:
        """Return the values that a candidate plays, None if the constraint refuses it."""
        settled = self.space.settle([values[p.code] for p in self.parameters])
        return self._by_code(settled) if self._accepts(settled) else None

    def _function_failures(self) -> list[SettingError]:
        return self._binding.failures_between(self._playable)

    # the closing match

    @property
    def is_tuned(self) -> bool:
        wanted: int = self.values["number_of_trials"]
        return len(self._state.trials) >= wanted and all(n >= wanted for n in self._running)

    def _standing(self) -> Standing:
        due = self._due
        planned = self.values["number_of_trials"] * self.values["games_per_trial"] // 2
        return Standing(
            self._state.ended,
            # estimates take time, and only a match needs them
            self.estimated() if due or self.closing.matches else self.start_values,
            self._state.pairs if self.is_tuned else planned,
            due,
        )

    # before the games

    def prepare(self) -> list[SettingError]:
        check_packages(self.values["sampler"])
        return super().prepare()

    def _warnings(self) -> list[str]:
        lines = super()._warnings()
        return lines if self._verifying else lines + list(doubts(self.values, self.space))

    def _samples_to_check(self) -> Mapping[str, ValuesByCode]:
        samples = {"start": self.start_values}
        most = max((int(p.maximum) for p in self.parameters if p.choices is not None), default=1)
        for number in range(most + 1):
            values = {
                p.code: p.start
                if p.frozen
                else number % (int(p.maximum) + 1)
                if p.choices is not None
                else p.played_value((p.minimum, p.maximum)[number % 2])
                for p in self.parameters
            }
            playable = self._playable(values)
            if playable is not None:
                samples[f"sample {number + 1}"] = playable
        return samples

    def _optional(self) -> Iterable[TunedParameter]:
        # beside the start values, the option of a parameter with only_if may have no effect
        return [p for p in self.parameters if not p.frozen and not p.only_if]

    # issuing games

    def next_job(self) -> Task | None:
        if self._verifying:
            return self._match_game()
        wanted, games = self.values["number_of_trials"], self.values["games_per_trial"]
        # the games of one trial first: the next proposal then knows more
        for number, trial in sorted(self._running.items()):
            if number < wanted and trial.wants_game(games):
                return self._issue_game(number, trial)
        number = len(self._state.trials)
        if number >= wanted:
            return self._match_game()
        try:
            return self._issue_game(number, self._propose(number))
        except SettingError:
            # the study has a trial without a game
            self._study = None
            raise

    def _propose(self, number: int) -> Trial:
        """Return a new trial.  Raises SettingError."""
        after = self._state.ended
        if number == 0:
            return Trial(self.space.start())
        if self._study is None:
            self._study = Study(self.space, self.values["seed"], self._state.events())
        try:
            asked: Asked = self._study.ask(number, self.values["sampler"], self._accepts)
        except Refused:
            raise SettingError(
                ("constraint",),
                f"it refused {SAMPLER_TRIES} candidates of the sampler in a row, and "
                f"{RANDOM_TRIES} random ones",
                "a constraint that allows more, or narrower ranges",
            ) from None
        judging = self.values["end_hopeless"] is not None
        surrogate = self._surrogate(latest=False) if judging else None
        reference = None if surrogate is None else surrogate.estimates[surrogate.best].score
        return Trial(list(asked.values), after, asked.sampler, asked.refused, reference)

    def _issue_game(self, number: int, trial: Trial) -> Task:
        game = trial.issued
        pair = trial.pair if game % 2 else self._state.pairs
        ticket: Ticket = {"t": number, "g": game, "n": pair, "p": trial.values, "a": trial.after}
        more = {"s": trial.sampler, "f": trial.refused or None, "b": trial.reference}
        ticket |= {key: value for key, value in more.items() if value is not None}
        if len(self.opponents) > 1:
            ticket["r"] = self._opponent_cycle[game // 2 % len(self._opponent_cycle)]
        digits = [
            len(str(self.values[name] - 1)) for name in ("number_of_trials", "games_per_trial")
        ]
        return self._issue(f"{number:0{digits[0]}d}_{game:0{digits[1]}d}", ticket)

    def _sides(self, ticket: Ticket) -> tuple[str, str]:
        sides = ":trial", OPPONENT if self.opponents else ":start"
        return sides[::-1] if ticket["g"] % 2 else sides

    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self.start_values if side == ":start" else self._by_code(ticket["p"])

    def _opening(self, ticket: Ticket) -> int:
        return int(ticket["n"])

    def _describe_of_tune(self, ticket: Ticket) -> Played:
        return msgspec.structs.replace(super()._describe_of_tune(ticket), pair=ticket["n"])

    def _register_of_tune(self, ticket: Ticket) -> bool:
        state = self._state
        number = ticket["t"]
        trial = state.trials.get(number)
        if trial is None:
            asked = ticket.get("s"), ticket.get("f", 0), ticket.get("b")
            trial = state.trials[number] = Trial(list(ticket["p"]), ticket["a"], *asked)
        if trial.place is None:
            self._running[number] = trial
        if ticket["g"] >= trial.issued:
            trial.issued, trial.pair = ticket["g"] + 1, ticket["n"]
        state.pairs = max(state.pairs, ticket["n"] + 1)
        return bool(number < self.values["number_of_trials"])

    # results

    def _name(self, ticket: Ticket) -> str:
        return f"trial {ticket['t']}"

    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        state, number = self._state, ticket["t"]
        points = result.points(ticket["g"] % 2)
        trial = state.trials[number]
        trial.pairs.record_result(ticket["g"] // 2, points)
        notes = []
        if self._is_hopeless(trial):
            trial.hopeless = True
            notes.append(f"trial {number} is hopeless: {trial.score:.3f} of {trial.reference:.3f}")
        notes += self._end(number, trial)
        # later settings must not judge or end it again
        return Reaction(line, notes=tuple(notes), save=bool(notes))

    def _is_hopeless(self, trial: Trial) -> bool:
        """Return whether to end a trial early by its results so far."""
        error, reference = self.values["end_hopeless"], trial.reference
        if error is None or reference is None or trial.hopeless or trial.place is not None:
            return False
        is_short = trial.issued < self.values["games_per_trial"]
        return is_short and is_hopeless(trial.pairs.counts, reference, error)

    def _end(self, number: int, trial: Trial) -> list[str]:
        """End a trial whose games are complete.  Return lines for the history."""
        more = trial.wants_game(self.values["games_per_trial"])
        if trial.place is not None or more or trial.games < trial.issued:
            return []
        state = self._state
        trial.place = state.ended
        state.ended += 1
        del self._running[number]
        if self._study is not None:
            self._study.tell(Told(number, trial.score))
        shown = self.shown_values(self._by_code(trial.values)).items()
        values = ", ".join(f"{code} {value}" for code, value in shown)
        return [f"trial {number}: {trial.score:.3f} in {counted(trial.games, 'game')}; {values}"]

    # state

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, OptunaState, str_keys=True)
        check_unchanged(restored.codes, [p.code for p in self.parameters])
        self._use(restored)
        self.closing.restore(restored.matches)

    def apply_edits(self, outstanding: Sequence[Ticket]) -> list[str]:
        lines = super().apply_edits(outstanding)
        # fewer games a trial may end it without another result
        for number, trial in sorted(self._running.items()):
            lines += self._end(number, trial)
        last = self._state.trials.get(len(self._state.trials) - 1)
        sampler = self.values["sampler"]
        if last is not None and last.sampler not in (None, sampler) and not self.is_tuned:
            lines.append(
                f"from trial {len(self._state.trials)} on, {sampler!r} proposes candidates "
                f"instead of {last.sampler!r}"
            )
        return lines

    # reports

    def _progress(self) -> Progress:
        state = self._state
        each, wanted = self.values["games_per_trial"], self.values["number_of_trials"]
        left = max(0, wanted - len(state.trials)) * each
        left += sum(
            max((t.issued + t.issued % 2 if t.hopeless else each), t.issued) - t.games
            for n, t in self._running.items()
            if n < wanted
        )
        return self._progress_to(self._games + left, f"trial {max(state.trials, default=0)}")

    def _work_done(self) -> str:
        ended, games = self._state.ended, counted(self._games, "game")
        return f"{ended:,} of {counted(self.values['number_of_trials'], 'trial')}, {games}"
