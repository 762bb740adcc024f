"""The values that are played, and how tickets hold them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.spsa.played import Grid, decode
from ringmaster.model.parameters import TunedParameter
from tests.competitions.test_spsa import parameter, spsa


@st.composite
def ranges(draw: Any) -> tuple[TunedParameter, float]:
    """A parameter and its smallest perturbation."""
    width = draw(st.floats(1e-6, 1e9))
    low = draw(st.floats(-1e6, 1e6)) * width
    integer = draw(st.booleans())
    if integer:
        low, width = float(int(low)), float(int(width) + 1)
    c = draw(st.floats(1e-3, 0.5)) * width
    found = TunedParameter("x", low, low, low + width, integer=integer)
    return found, max(c, 0.5) if integer else c


@given(st.lists(ranges(), min_size=1, max_size=5), st.data())
def test_ticket_gives_back_exactly_what_was_played(
    several: list[tuple[TunedParameter, float]], data: st.DataObject
) -> None:
    parameters = [p for p, _ in several]
    grid = Grid(parameters, [c for _, c in several])
    sides = [
        grid.played([data.draw(st.floats(p.minimum, p.maximum)) for p in parameters])
        for _ in range(2)
    ]
    text = grid.encode(*sides)
    assert decode(
        text, msgspec.json.decode(msgspec.json.encode(grid.layout), type=type(grid.layout))
    ) == tuple(sides)
    for values in sides:
        for p, value in zip(parameters, values, strict=True):
            assert p.minimum <= value <= p.maximum
            assert isinstance(value, int) == p.integer


@given(ranges())
def test_fraction_is_found_between_the_bounds_wherever_one_is_played(
    one: tuple[TunedParameter, float],
) -> None:
    p, c = one
    grid = Grid([p], [c])
    (value,) = grid.between()
    assert p.minimum <= value <= p.maximum
    if grid.layout.places[0] > 0 and abs(p.minimum) + abs(p.maximum) < 1e9:
        assert value != int(value)
    assert grid.played([value]) == [value]


@given(ranges(), st.data())
def test_what_is_played_is_off_by_less_than_a_hundredth_of_the_perturbation(
    one: tuple[TunedParameter, float], data: st.DataObject
) -> None:
    p, c = one
    value = data.draw(st.floats(p.minimum, p.maximum))
    (played,) = Grid([p], [c]).played([value])
    most = 0.5 if p.integer else c / 100
    # binary fractions: a part of 1e-15 of the size of the numbers
    assert abs(played - value) <= most + 1e-15 * max(abs(p.minimum), abs(p.maximum))


def test_format_says_how_many_places_are_played() -> None:
    given = parameter(integer=False, format="%.2f", c_end=10)
    job = spsa(parameters=[given]).next_job()
    for player, values in zip(job.players, job.parameters, strict=True):
        value = values["Mobility"]
        assert round(value, 2) == value
        assert player.options["Mobility"] == f"{value:.2f}"


def test_ticket_of_twelve_fractions_is_short() -> None:
    many = [parameter(f"p{i}", integer=False, min=-1000, max=1000) for i in range(12)]
    job = spsa(parameters=many).next_job()
    assert len(msgspec.json.encode(job.ticket)) < 120


def test_ticket_of_an_earlier_version_is_read() -> None:
    tune = spsa()
    ticket = {"k": 1, "g": 1, "p": [54, 46.5], "m": [46, 53.5]}
    assert [dict(p) for p in tune.describe(ticket).parameters] == [
        {"Mobility": 46, "Space": 53.5},
        {"Mobility": 54, "Space": 46.5},
    ]


@pytest.mark.parametrize("value", [0, 1, -1, 63, 64, -64, -65, 10**15, -(10**15)])
def test_whole_numbers_of_any_size_and_sign_come_back(value: int) -> None:
    p = TunedParameter("x", 0, -1e15, 1e15, integer=True)
    grid = Grid([p], [0.5])
    assert decode(grid.encode([value], [0]), grid.layout) == ([value], [0])
