"""The texel competition type: tunes one player's evaluation on labelled positions.

A run is a sequence of passes.  A pass scores all positions with one set of values, shard by
shard; the optimiser is told its mean error.  A closing match of the tuned against the start
values may follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common_settings import SEARCH_LIMITS, PlayerDefinition, noting
from ringmaster.competitions.competition import History, Played, Reaction, Trajectory
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE
from ringmaster.competitions.texel.evaluations import (
    Evaluations,
    Reference,
    record_probe,
    record_void,
    shard_id,
    with_limit,
)
from ringmaster.competitions.texel.labels import Shards, refusing
from ringmaster.competitions.texel.move_accuracy import MoveAccuracy, MoveComparison
from ringmaster.competitions.texel.report import TuneReport, tune_charts
from ringmaster.competitions.texel.settings import TEXEL_SETTINGS, wrong_settings
from ringmaster.competitions.texel.state import (
    TexelState,
    TuneSettings,
    edit_of,
    record_positions,
    restarted,
    score_key,
    scoring_arguments,
)
from ringmaster.competitions.texel.tuning import Tuning, make_optimiser
from ringmaster.competitions.tuning.closing_match import Standing
from ringmaster.competitions.tuning.parameter_binding import contradictions
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, check_codes
from ringmaster.competitions.tuning.player_tune import Tune
from ringmaster.errors import DataFileError, SettingError, StateRefused, UsageError, counted
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import CheckJob, EvaluationJob, Task, Ticket
from ringmaster.model.players import Player
from ringmaster.model.report import ChartGroup, Progress, Table, Text
from ringmaster.model.results import EvaluationResult, Result
from ringmaster.model.settings import Setting

_NO_LIMIT = "nothing limits the moves of player {!r} in the closing match"
_LIMITS = f"one of {', '.join(SEARCH_LIMITS)}"


class TexelCompetition(Tune):
    """The `texel` competition type."""

    type_name: ClassVar[str] = "texel"
    table: ClassVar[tuple[Setting, ...]] = TEXEL_SETTINGS
    unit: ClassVar[str] = "jobs"
    _reference: Reference | None = None
    #: Whether nothing limits the moves of the tuned player.
    _unlimited = False

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._set_player(counted="passes")
        # players of make_candidate are compared when they have played
        engine = canonical({"options": values["options"]})
        if values["make_candidate"] is None:
            engine = scoring_arguments(self._definition.make(values["player"], self._game))
        reference = self._reference
        self._settings = TuneSettings.of(
            values, engine, None if reference is None else reference.settings
        )
        #: Lines printed while positions were read.
        self._said: set[str] = set()
        self._label_warnings: list[str] = []
        state = TexelState(self._settings, self.start_values)
        self.tuning = Tuning(
            values, state, lambda number, shard: self.scores(number, shard), self._report_progress
        )
        moves = values["move_accuracy"] and MoveAccuracy(values, self.start_values)
        self._moves: MoveAccuracy | None = moves
        self._evaluations = Evaluations(self.tuning, reference, self._player_with, moves)
        # reports wrong arguments before positions are read
        make_optimiser(values, state, Shards(1, 0))

    def _tuned_player(self) -> PlayerDefinition:
        definition = super()._tuned_player()
        self._unlimited = not definition.has_limits and self.values["make_candidate"] is None
        return with_limit(definition)

    def _wrong_settings(self) -> list[SettingError]:
        values, errors = self.values, []
        if values["verify"] is not None and not self._can_play:
            problem, remedy = _NO_LIMIT.format(values["player"]), f"{_LIMITS} in Verify(…)"
            errors.append(SettingError(("verify",), problem, remedy))
        for score in (values["score"], values["positions"].quiet_score):
            with noting(errors):
                score.for_game(self._game)
        with noting(errors):
            self._reference = Reference.of(values)
        return [*errors, *check_codes(self.parameters), *wrong_settings(values)]

    def _played(self, values: ValuesByCode) -> ValuesByCode:
        """Return values of all parameters as engines receive them."""
        return {p.code: p.played_value(values.get(p.code, p.start)) for p in self.parameters}

    def _player_with(self, values: ValuesByCode) -> Player:
        """Return the tuned player with values of the parameters."""
        return self._binding.player("", self._played(values))

    def estimated(self) -> ValuesByCode:
        """Return the best values so far, of all parameters."""
        state = self.tuning.state
        return self._played(state.best_values or state.values)

    @property
    def is_tuned(self) -> bool:
        moves = self.tuning.state.moves
        is_tested = self._moves is None or (moves is not None and moves.complete)
        return self.tuning.complete and is_tested

    def _standing(self) -> Standing:
        return Standing(self.tuning.state.passes, self.estimated(), 0, self._due)

    @property
    def _can_play(self) -> bool:
        match = self.values["verify"]
        return not self._unlimited or bool(match and match.limits)

    def verify(self, games: int | None = None) -> None:
        if not self._can_play:
            problem = _NO_LIMIT.format(self.values["player"])
            raise UsageError(f"{problem}: it needs {_LIMITS} in its Player(…) or in Verify(…)")
        super().verify(games)

    def prepare(self) -> list[SettingError]:
        failures = super().prepare()
        if not self._verifying:
            self._prepare_positions()
        return failures

    def _prepare_positions(self) -> None:
        assert self.positions_file is not None
        from ringmaster.datasets.position_set import build_positions

        values = self.values
        file = build_positions(
            self._game,
            values["variant"],
            values["positions"].sources,
            values["validation"],
            values["seed"],
            self.positions_file,
            self._report_progress,
        )
        state = self.tuning.state
        record_positions(file, state)
        if self._moves is not None:
            with refusing(("move_accuracy",), DataFileError):
                self._moves.prepare(
                    self.positions_file.with_suffix(".moves"), self._report_progress
                )
            self._moves.adopt(state)
        self.tuning.load(state, file)
        swept = [] if values["sweep"] is None else values["sweep"].targets(values["target"])
        for target in (values["target"], *swept):
            warnings = self.tuning.labelled.under(target).check()
            self._label_warnings += [line for line in warnings if line not in self._label_warnings]
        self.tuning.begin()
        self._record_features()

    def _report_progress(self, line: str) -> None:
        self._said.add(line)
        self.say(line)

    def _warnings(self) -> list[str]:
        lines = self.closing.warnings(self._standing())
        wanted = self.closing.settings is not None
        if wanted and not self.closing.has_openings and self.book.lacks_openings():
            lines.append(SAME_GAMES_OF_TUNE)
        if self._verifying:
            return lines
        labelling = self.tuning.state.labelling
        return lines + (self._label_warnings if labelling is None else labelling.warnings)

    def _notices(self) -> list[str]:
        notes = [] if self._verifying or self.tuning.state.told else self.tuning.state.notes
        lines = [note for note in notes if note not in self._said]
        if not self._verifying and self.tuning.positions is not None:
            if self.values["validation"] == 0:
                lines.append(
                    "validation = 0: nothing is held out; the tune cannot stop early, and the "
                    "improvement is measured on the tuned positions"
                )
            if not self.tuning.state.told:
                lines += [*self._starts_on_bounds(), *self._report().plan()]
        return lines + self.closing.notices(self._standing())

    def _starts_on_bounds(self) -> Iterator[str]:
        values = self.tuning.state.values
        for p in self.tuning.tuned:
            for bound, name in ((p.minimum, "lower"), (p.maximum, "upper")):
                if values[p.code] == bound:
                    yield f"{p.code} starts at its {name} bound, {bound:g}"

    def _reported_players(self) -> list[Player]:
        tuned, *others = super()._reported_players()
        return [msgspec.structs.replace(tuned, depth=None) if self._unlimited else tuned, *others]

    def _openings_used(self) -> dict[str, dict[str, Any]]:
        if self.closing.settings is None and not self.closing.matches:
            return {}
        return {"the closing match": self.closing.openings() or self.book.describe()}

    def _samples_to_check(self) -> dict[str, ValuesByCode]:
        samples = {"start": self.start_values}
        for end in ("minimum", "maximum"):
            values = {p.code: p.played_value(getattr(p, end)) for p in self.tuning.tuned}
            samples[end] = {**self.start_values, **values}
        return samples

    def _check_jobs(self) -> list[CheckJob]:
        jobs = super()._check_jobs()
        if self._reference is not None and not self._verifying:
            player = self._reference.player
            jobs.append(CheckJob(f"check-{player.code}-reference", player, self.settings))
        return jobs

    def next_job(self) -> Task | None:
        state = self.tuning.state
        if not self._verifying and not self.tuning.complete:
            if state.probe_due and state.probe_out is None:
                return self._issue(
                    f"probe{state.probes + 1}", {"e": state.beginning, "n": state.probes + 1}
                )
            if state.facts is None:
                return None
            shard = self.tuning.next()
            if shard is not None:
                ticket = {"e": state.beginning, "p": shard[0], "i": shard[1]}
                return self._issue(shard_id(ticket), ticket)
        moves = state.moves
        if not self._verifying and self.tuning.complete and moves and moves.next < len(moves.hits):
            ticket = {"e": state.beginning, "a": moves.number, "i": moves.next}
            return self._issue(shard_id(ticket), ticket)
        return self._match_game()

    def _register_of_tune(self, ticket: Ticket) -> bool:
        state = self.tuning.state
        if ticket["e"] != state.beginning:
            return False
        if "a" in ticket:
            return state.moves is not None and state.moves.register_issue(ticket)
        if "n" in ticket:
            if ticket["n"] >= state.probes:
                state.probes = state.probe_out = ticket["n"]
            return bool(ticket["n"] == state.probe_out)
        return self.tuning.register_issue(ticket["p"], ticket["i"])

    def _job_of_tune(self, game_id: str, attempt: int, ticket: Ticket) -> Task:
        return self._evaluations.job(game_id, attempt, ticket, self.settings)

    def complete_result(self, task: Task, result: Result) -> Result:
        if isinstance(result, EvaluationResult) and isinstance(task, EvaluationJob):
            return self._evaluations.complete_result(task, result)
        return result

    def _record_of_tune(self, ticket: Ticket, result: Any) -> Reaction:
        assert isinstance(result, EvaluationResult)
        if self.tuning.optimiser is not None:
            self._register_of_tune(ticket)
        state, player = self.tuning.state, self.values["player"]
        halt = self._faults_halt(result, [player])
        if result.outcome == "void":
            return record_void(state, ticket, result, player, halt)
        if "n" in ticket:
            return record_probe(state, ticket, result, self.values["score"])
        rate = result.positions / result.seconds if result.seconds > 0 else 0.0
        took = f"{result.positions:,} positions in {result.seconds:.2f} s ({rate:,.0f}/s)"
        log = f"{shard_id(ticket)}: {took}"
        if "a" in ticket:
            reaction = self._record_moves(ticket, result.facts["hits"])
            return msgspec.structs.replace(reaction, log=log)
        state.shards += 1
        state.positions += result.positions
        state.seconds += result.seconds
        if ticket["e"] != state.beginning or self.tuning.optimiser is None:
            # issued before an edit
            state.stale.append(score_key(ticket["e"], ticket["p"]))
            return Reaction("", log=log)
        for name, call in result.facts.get("played", {}).items():
            state.played.setdefault(name, []).append(call)
        reaction = self.tuning.record_loss(ticket["p"], ticket["i"], result.facts.get("loss"))
        return msgspec.structs.replace(reaction, log=log)

    def _record_moves(self, ticket: Ticket, hits: str) -> Reaction:
        moves = self.tuning.state.moves
        if moves is None or not self._register_of_tune(ticket):
            return Reaction("")
        moves.hits[ticket["i"]] = hits
        return Reaction(MoveComparison(moves).line() if moves.complete else "", save=moves.complete)

    def state(self) -> dict[str, Any]:
        if self.tuning.optimiser is not None:
            self.tuning.state.optimiser = self.tuning.optimiser.state()
        if self.tuning.sweep is not None:
            self.tuning.state.sweep = self.tuning.sweep.state()
        self.tuning.state.matches = self.closing.matches
        state: dict[str, Any] = msgspec.to_builtins(self.tuning.state)
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, TexelState)
        was, now = restored.settings, self._settings
        if restored.shards and was.engine != now.engine:
            raise StateRefused(
                "the scores so far belong to another engine or to other settings of it; "
                "restore the player, or use reset",
                ("players", self.values["player"]),
            )
        # raises StateRefused before anything changes
        self._edited_functions(restored)
        self.tuning.load(restored)
        # later results need the optimiser only if the settings are the same
        if restored.train and (was.parameters, was.learning) == (now.parameters, now.learning):
            self.tuning.begin()
        self.closing.restore(restored.matches)

    def apply_edits(self, outstanding: Sequence[Ticket]) -> list[str]:
        state, was, now = self.tuning.state, self.tuning.state.settings, self._settings
        if self.tuning.optimiser is not None:
            super().apply_edits(outstanding)
        edited = self._edited_functions(state)
        if was.reference != now.reference or "reference" in edited:
            self.tuning.forget_reference()
        positions = self.tuning.positions
        is_new = positions is not None and record_positions(positions.file, state)
        reasons, remeasure = edit_of(state, now, edited, new_positions=is_new)
        lines: list[str] = []
        if reasons:
            lines = self._restart("; ".join(reasons), edited, remeasure=remeasure)
        elif was.engine != now.engine:
            state.facts, state.probe_due = None, True
        elif was.in_flight != now.in_flight and state.facts is not None:
            state.probe_due = True
            lines = ["in_flight changed: the engine is probed again"]
        self.tuning.state.settings = now
        if self._moves is None:
            self.tuning.state.moves = None
        else:
            self._moves.adopt(self.tuning.state)
        if was.sweep != now.sweep and not reasons:
            self.tuning.change_sweep()
        self._record_features()
        return lines

    def _edited_functions(self, state: TexelState) -> set[str]:
        """Return the settings whose functions give other results than a state has.

        Raises StateRefused for a function that fails, and for another make_candidate.
        """
        differing = contradictions(self._evaluations.played_values(state.played))
        made = ("make_candidate",)
        if made in differing:
            raise StateRefused(f"{differing[made]}; put it back, or use reset", made)
        edited = {str(path[0]) for path in differing}
        features = self.tuning.features
        if features is not None and state.features and features.version not in ("", state.features):
            edited.add("optimiser")
        return edited

    def _record_features(self) -> None:
        features = self.tuning.features
        if features is not None and features.version:
            self.tuning.state.features = features.version

    def _restart(self, why: str, edited: Collection[str], *, remeasure: bool) -> list[str]:
        state = self.tuning.state
        passes = counted(state.passes, "pass")
        where = f"after {passes}" if state.passes else "before the first pass"
        fresh = restarted(
            state,
            self._settings,
            self.parameters,
            remeasure=remeasure,
            features=str(state.beginning + 1) if "optimiser" in edited else state.features,
        )
        self.tuning.load(fresh)
        if fresh.train:
            self.tuning.begin()
        values = ", ".join(f"{code} {value:.6g}" for code, value in fresh.values.items())
        kept = "" if remeasure or state.labelling is None else "; the win-rate scale stays"
        return [
            f"{where}: {why}",
            f"{where}: the optimiser restarts from the best values so far: {values}{kept}",
        ]

    def _report(self) -> TuneReport:
        return TuneReport(self.tuning, self.estimated(), self.start_values, self._delivered_value)

    def _progress(self) -> Progress:
        standing = self._standing()
        if standing.due:
            played, games = self.closing.progress(standing)
            return Progress(played, games, phase="closing match")
        return Progress(
            self.tuning.state.shards, None, label="shards", phase=self._report().phase()
        )

    def _work_done(self) -> str:
        state = self.tuning.state
        if state.improvement is not None:
            return state.improvement.text(brief=True)
        done = counted(state.passes, "pass")
        return done if self.is_tuned else f"{done}, {self._report().phase()}"

    def _all_blocks(self, *, live: bool) -> Iterable[Table | Text]:
        if live:
            return [*self._report().short(), *self.closing.live_blocks(self._standing())]
        return self._report().blocks(self.closing.blocks(self._standing()))

    def _summary_of_tune(self) -> dict[str, Any]:
        return self._report().data()

    def _describe_of_tune(self, ticket: Ticket) -> Played:
        return Played((self.values["player"], self.values["player"]))

    def _course(self, history: History) -> Trajectory:
        optimiser = self.tuning.optimiser
        steps = () if optimiser is None else optimiser.course
        codes = tuple(self.tuning.codes)
        points = [(step.passes, codes, step.theta) for step in steps if step.taken]
        note = "the courses before restarts of the optimiser are not kept"
        return Trajectory("passes", codes, points, note if self.tuning.state.told_before else "")

    def _charts_of_tune(self) -> list[ChartGroup]:
        return tune_charts(self.tuning)
