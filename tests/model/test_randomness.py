"""The random words are Philox's, however many are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.randomness import uniform, word_array, words

WORD = st.integers(0, 2**64 - 1)


@given(st.integers(-(2**200), 2**200), WORD, WORD, st.integers(0, 70))
def test_words_are_those_of_numpy_s_philox(seed: int, stream: int, number: int, count: int) -> None:
    counter = np.array([0, number, stream, 0], dtype=np.uint64)
    generator = np.random.Philox(key=seed % (1 << 128), counter=counter)
    assert words(seed, stream, number, count) == [int(w) for w in generator.random_raw(count)]


@given(st.integers(-(2**200), 2**200), WORD, WORD, st.integers(0, 70))
def test_array_has_the_same_words(seed: int, stream: int, number: int, count: int) -> None:
    array = word_array(seed, stream, number, count)
    assert array.dtype == np.uint64
    assert array.tolist() == words(seed, stream, number, count)


@given(WORD, st.integers(1, 200), st.integers(1, 200))
def test_fewer_words_are_the_beginning_of_more(number: int, one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert words(7, 1, number, few) == words(7, 1, number, many)[:few]


@pytest.mark.parametrize(("word", "number"), [(0, 0.0), (1 << 63, 0.5), (2**64 - 1, 1 - 2**-53)])
def test_uniform_numbers_fill_the_unit_interval_but_its_end(word: int, number: float) -> None:
    assert uniform(word) == number
