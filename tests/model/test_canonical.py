"""Conversion of values to JSON data."""

from __future__ import annotations

import enum
import functools
import json
import threading
from collections import Counter, deque, namedtuple
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ringmaster.control.changes import same
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.parameters import Explicit, Linear
from ringmaster.model.settings import Call

Pair = namedtuple("Pair", "a b")


class Colour(enum.Enum):
    RED = 1


class Net:
    def __init__(self, size: Any) -> None:
        self.size = size


class Curve(Net):
    def __call__(self, f: float) -> float:
        return f


class Broken(Net):
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise ValueError


FUNCTION = {"$": "function"}


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"a": [1, (2.5, None)], 3: True}, {"a": [1, [2.5, None]], "3": True}),
        (float("nan"), "nan"),
        (1 << 70, hex(1 << 70)),
        ("\ud800", "\\ud800"),
        ({3, 1}, [1, 3]),
        (deque([1, 2]), [1, 2]),
        (Pair(1, 2), [1, 2]),
        (Counter("aa"), {"a": 2}),
        (b"x", {"$": "bytes", "text": "b'x'"}),
        (Fraction(1, 2), {"$": "Fraction", "text": "Fraction(1, 2)"}),
        (Colour.RED, {"$": "Colour", "name": "RED", "value": 1}),
        ([np.float64(0.5), np.int8(2), np.bool_(True)], [0.5, 2, True]),
        (np.zeros(2), [0.0, 0.0]),
        (Net([1]), {"$": "Net", "size": [1]}),
        (Linear(1, 2), {"$": "Linear", "lower_bound": 1, "upper_bound": 2, "integer": False}),
        (Explicit((1, len)), {"$": "Explicit", "values": [1, FUNCTION]}),
        (Call("Player", ("x",), {"n": 1}, None, ("command",)),
         {"$": "Player", "command": "x", "n": 1}),
    ],
)  # fmt: skip
def test_value_becomes_data(value: Any, data: Any) -> None:
    assert canonical(value) == data
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize(
    "function",
    [
        lambda: 1,
        len,
        Net,
        Net(1).__init__,
        functools.partial(len, []),
        functools.cache(len),
        Curve(3),
    ],
)
def test_nothing_of_a_function_is_stored(function: Any) -> None:
    assert canonical({"f": [function]}) == {"f": [FUNCTION]}


@pytest.mark.parametrize("value", [threading.Lock(), object(), Broken(1), iter([])])
def test_object_that_cannot_be_read_is_known_by_its_type(value: Any) -> None:
    assert canonical(value) == {"$": type(value).__name__}


def test_record_with_a_field_named_kind_is_converted() -> None:
    assert canonical(ScoreKind("depth", 3))["kind"] == "depth"


def test_values_that_go_in_circles_or_are_too_large_end() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    assert canonical(circle) == [1, {"$": "list"}]
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert json.dumps(canonical(deep))
    wide: Any = 1
    for _ in range(60):
        wide = [wide, wide]
    assert len(json.dumps(canonical(wide))) < 10_000_000


def test_numbers_are_the_same_and_truth_values_are_not() -> None:
    assert same([1, {"a": 2}], [1.0, {"a": 2.0}])
    assert not same([1], [True])
    assert not same({"a": 1}, {"a": 1, "b": 1})
