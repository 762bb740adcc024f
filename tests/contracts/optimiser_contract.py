"""Test the contract of every optimiser over labelled positions.

Subclass `OptimiserContract` in a test module, with a `make` fixture: a function from parameters,
seed and number of training shards to an optimiser with few passes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Protocol

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.optimiser import Optimiser, Pass, TellResult
from tests.tuners.texel.worlds import MemoryData, World, world_of

SHARDS = 6
TRUE = (40.0, 80.0, 1.5, 120.0)
#: Two integers, a fractional parameter, and one with its optimum beyond a bound.
PARAMETERS = (
    TunedParameter("a", 150, 0, 200, integer=True),
    TunedParameter("b", -40, -100, 300, integer=True),
    TunedParameter("c", 10.25, -20, 20.5),
    TunedParameter("d", 60, 10, 80, integer=True),
)


class Make(Protocol):
    def __call__(
        self, parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
    ) -> Optimiser: ...


#: Returns the place of the next pass to complete.
Choice = Callable[[Sequence[Pass]], int]


def first(passes: Sequence[Pass]) -> int:
    return 0


class Drive:
    """An optimiser with its data, its requested passes and its responses."""

    def __init__(self, optimiser: Optimiser, data: MemoryData, choice: Choice = first) -> None:
        self.optimiser, self.data, self.choice = optimiser, data, choice
        self.requested: list[Pass] = []
        self.responses: list[TellResult] = []
        self.under_way: list[Pass] = []

    def ask_all(self) -> None:
        while (request := self.optimiser.ask()) is not None:
            assert len(self.requested) < 5000, "the optimiser does not end"
            self.requested.append(request)
            self.under_way.append(request)

    def tell_one(self) -> bool:
        """Request all passes and complete one; return whether there was a pass."""
        self.ask_all()
        if not self.under_way:
            return False
        assert not self.optimiser.finished()
        one = self.under_way.pop(self.choice(self.under_way))
        responses = self.optimiser.tell(one.number, self.data.play(one), self.data)
        self.data.forget(responses)
        self.responses.append(responses)
        return True

    def to_the_end(self) -> Drive:
        while self.tell_one():
            pass
        return self


#: By class and parameter of `make`.
_DRIVES: dict[tuple[str, str], Drive] = {}


@pytest.fixture(scope="module")
def world() -> World:
    return world_of(TRUE, games=150, per_game=6, seed=2)


class OptimiserContract:
    @pytest.fixture
    def drive(self, request: pytest.FixtureRequest, make: Make, world: World) -> Drive:
        """A finished optimiser, shared by the tests of a class and a parameter of `make`."""
        call = getattr(request.node, "callspec", None)
        key = (
            f"{type(self).__module__}.{type(self).__qualname__}",
            str(call and call.params.get("make")),
        )
        if key not in _DRIVES:
            drive = Drive(make(PARAMETERS), MemoryData(world, shards=SHARDS))
            _DRIVES[key] = drive.to_the_end()
        return _DRIVES[key]

    def test_first_pass_scores_the_start_over_all_positions(self, make: Make) -> None:
        optimiser = make(PARAMETERS)
        assert optimiser.ask() == Pass(0, tuple(p.start for p in PARAMETERS), "all", keep=True)
        assert optimiser.ask() is None
        assert not optimiser.finished()

    def test_passes_are_numbered_and_have_values_within_the_bounds_and_existing_shards(
        self, drive: Drive
    ) -> None:
        assert drive.optimiser.finished()
        assert drive.optimiser.ask() is None
        assert [each.number for each in drive.requested] == list(range(len(drive.requested)))
        for each in drive.requested:
            if isinstance(each.part, tuple):
                assert each.part
                assert sorted(set(each.part)) == list(each.part)
                assert set(each.part) <= set(range(SHARDS))
        for theta in [*(each.theta for each in drive.requested), drive.optimiser.best]:
            for parameter, value in zip(PARAMETERS, theta, strict=True):
                assert parameter.minimum <= value <= parameter.maximum
                assert value == int(value) or not parameter.integer

    def test_no_pass_over_all_positions_is_requested_twice(self, drive: Drive) -> None:
        """Batches may be repeated, but not while they are under way."""
        whole = [(each.theta, each.part) for each in drive.requested if isinstance(each.part, str)]
        assert len(whole) == len(set(whole))

    def test_best_has_the_smallest_accepted_validation_error(self, drive: Drive) -> None:
        taken = [s for s in drive.optimiser.course if s.taken and s.validation is not None]
        smallest = min(s.validation for s in taken if s.validation is not None)
        assert smallest in [s.validation for s in taken if s.theta == drive.optimiser.best]

    def test_error_falls(self, drive: Drive) -> None:
        start, *_, _ = drive.optimiser.course
        best = [
            s for s in drive.optimiser.course if s.theta == drive.optimiser.best and s.validation
        ][-1]
        assert None not in (start.train, start.validation, best.train, best.validation)
        assert best.train < 0.97 * start.train  # type: ignore[operator]
        assert best.validation < 0.97 * start.validation  # type: ignore[operator]

    def test_course_begins_with_the_start_and_is_in_order(self, drive: Drive) -> None:
        course = drive.optimiser.course
        assert course[0].theta == tuple(p.start for p in PARAMETERS)
        assert course[0].train is not None
        assert [s.passes for s in course] == sorted(s.passes for s in course)
        assert len(course) <= 1000

    def test_scores_of_the_best_and_of_the_start_are_kept(self, drive: Drive, world: World) -> None:
        number, scores = drive.optimiser.best_pass, drive.data.kept
        assert number is not None
        best = drive.requested[number]
        assert (best.theta, best.part, best.keep) == (
            drive.optimiser.best,
            "all",
            True,
        )
        assert scores[number].tolist() == world.scores(drive.optimiser.best).tolist()
        assert 0 in scores

    def test_obsolete_scores_are_forgotten(self, drive: Drive) -> None:
        assert len(drive.data.kept) <= 2 * len(PARAMETERS) + 4

    def test_parameters_on_a_bound_are_flagged_and_no_others(self, drive: Drive) -> None:
        """The optimum of the last parameter is far beyond its bound."""
        best, flags = drive.optimiser.best, drive.optimiser.flags()
        assert best[3] >= 75
        for i, parameter in enumerate(PARAMETERS):
            flagged = any("bound" in words for words in flags.get(i, ()))
            assert flagged == (best[i] in (parameter.minimum, parameter.maximum))

    def test_same_seed_gives_the_same_passes(self, drive: Drive, make: Make, world: World) -> None:
        again = Drive(make(PARAMETERS), MemoryData(world, shards=SHARDS)).to_the_end()
        assert again.requested == drive.requested
        assert again.responses == drive.responses

    @pytest.mark.parametrize("seed", [1, 2])
    def test_order_of_results_makes_no_difference(
        self, drive: Drive, make: Make, world: World, seed: int
    ) -> None:
        rng = random.Random(seed)
        shuffled = Drive(
            make(PARAMETERS),
            MemoryData(world, shards=SHARDS),
            lambda passes: rng.randrange(len(passes)),
        ).to_the_end()
        assert shuffled.requested == drive.requested
        assert shuffled.optimiser.best == drive.optimiser.best
        assert shuffled.optimiser.best_pass == drive.optimiser.best_pass
        assert shuffled.optimiser.course == drive.optimiser.course
        assert plain(shuffled.optimiser) == plain(drive.optimiser)

    @pytest.mark.parametrize("halts", [(0,), (1,), (2, 3), (5, 6, 7), (20, 41), (33,)])
    def test_interrupted_optimiser_equals_an_uninterrupted_one(
        self, drive: Drive, make: Make, world: World, halts: tuple[int, ...]
    ) -> None:
        """Passes under way at an interruption complete after it."""
        going = Drive(make(PARAMETERS), MemoryData(world, shards=SHARDS))
        done = 0
        for halt in halts:
            while done < halt and going.tell_one():
                done += 1
            going.ask_all()
            later = make(PARAMETERS)
            later.restore(json.loads(json.dumps(going.optimiser.state(), allow_nan=False)))
            assert later.finished() == going.optimiser.finished()
            assert later.best == going.optimiser.best
            going.optimiser = later
        going.to_the_end()
        assert going.requested == drive.requested
        assert going.responses == drive.responses
        assert plain(going.optimiser) == plain(drive.optimiser)
        assert going.optimiser.course == drive.optimiser.course
        assert going.optimiser.report() == drive.optimiser.report()
        assert going.optimiser.flags() == drive.optimiser.flags()

    def test_pass_requested_after_the_last_state_is_requested_again(
        self, make: Make, world: World
    ) -> None:
        """The state is from before the request of the pass."""
        drive = Drive(make(PARAMETERS), MemoryData(world, shards=SHARDS))
        for _ in range(3):
            drive.tell_one()
        state = json.loads(json.dumps(drive.optimiser.state()))
        drive.under_way.clear()
        lost = drive.optimiser.ask()
        later = make(PARAMETERS)
        later.restore(state)
        assert later.ask() == lost

    def test_without_validation_the_best_has_the_smallest_training_error(self, make: Make) -> None:
        world = world_of(TRUE, games=150, per_game=6, seed=2, validation=0)
        drive = Drive(make(PARAMETERS), MemoryData(world, shards=SHARDS)).to_the_end()
        assert drive.optimiser.finished()
        assert drive.optimiser.best_pass is not None
        course = drive.optimiser.course
        assert all(s.validation is None for s in course)
        errors = [s.train for s in course if s.taken and s.train is not None]
        best_errors = [s.train for s in course if s.theta == drive.optimiser.best]
        assert min(errors) in best_errors
        assert min(errors) < 0.97 * errors[0]

    def test_constant_scores_leave_all_values_at_the_start(self, make: Make) -> None:
        world = world_of(TRUE, games=40, per_game=4, seed=2)
        world.counts = world.counts * 0
        drive = Drive(make(PARAMETERS), MemoryData(world, shards=SHARDS)).to_the_end()
        assert drive.optimiser.finished()
        assert drive.optimiser.best == tuple(p.start for p in PARAMETERS)
        assert drive.optimiser.best_pass == 0


def plain(optimiser: Optimiser) -> str:
    """Return a state as text with sorted keys."""
    return json.dumps(optimiser.state(), sort_keys=True)
