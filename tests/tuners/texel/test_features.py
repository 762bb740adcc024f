from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.features import FeatureModel, feature_of, features_of, wiring_of
from ringmaster.tuners.texel.loss import Loss
from ringmaster.tuners.texel.ridge import Penalty
from tests.tuners.texel.worlds import Counts

Kind = Literal["squared", "cross_entropy"]
NAMES = ("pawn", "knight", "pair")


def space_of(start: npt.NDArray[np.float64]) -> Space:
    return Space(start, start - 500, start + 500, np.zeros(len(start), dtype=bool))


class Dense:
    """The same model in plain NumPy, float64, with the Jacobian written out."""

    def __init__(self, seed: int, tapered: bool, n: int = 60) -> None:
        rng = np.random.default_rng(seed)
        self.counts = rng.integers(-3, 4, (n, 3)) * (rng.random((n, 3)) < 0.6)
        self.phase = rng.random(n).astype(np.float32)
        self.target = rng.integers(0, 3, n).astype(np.float32) / 2
        self.weight = rng.integers(0, 3, n).astype(np.float32)
        self.weight[0] = 1
        self.offset = rng.normal(0, 50, n).astype(np.float32)
        self.games = rng.integers(0, 9, n).astype(np.uint32)
        self.train = n - 20
        self.tapered = tapered
        self.codes = [f"{name}{end}" for name in NAMES for end in ("_mg", "_eg")]
        if not tapered:
            self.codes = list(NAMES)

    @property
    def jacobian(self) -> npt.NDArray[np.float64]:
        if not self.tapered:
            return self.counts.astype(np.float64)
        columns = [
            self.counts[:, i] * share
            for i in range(3)
            for share in (self.phase.astype(float), 1 - self.phase.astype(float))
        ]
        return np.stack(columns, axis=1)

    def model(
        self, loss: Loss, threads: int = 1, start: npt.NDArray[np.float64] | None = None
    ) -> FeatureModel:
        matrix = Counts.of(self.counts, NAMES, self.phase)
        wiring = wiring_of(NAMES, self.codes, self.tapered)
        return FeatureModel(
            space_of(np.zeros(len(self.codes)) if start is None else start),
            matrix,
            wiring,
            self.offset,
            self.target,
            self.weight,
            self.games,
            self.train,
            loss,
            threads=threads,
        )

    def mean(self, values: Any) -> Any:
        return self.weight[: self.train] @ values / self.weight[: self.train].sum()

    def error(self, theta: npt.NDArray[np.float64], loss: Loss) -> float:
        q = self.offset.astype(float) + self.jacobian @ theta
        return float(self.mean(loss.values(q, self.target)[: self.train]))


worlds = st.builds(Dense, st.integers(0, 999), st.booleans())
losses = st.builds(Loss, st.sampled_from(["squared", "cross_entropy"]), st.floats(80, 400))


@given(worlds, losses, st.integers(0, 99))
def test_gradient_equals_finite_differences(world: Dense, loss: Loss, seed: int) -> None:
    theta = np.random.default_rng(seed).normal(0, 60, len(world.codes))
    value, slope = world.model(loss).gradient(theta)
    assert value == pytest.approx(world.error(theta, loss), rel=1e-5)
    step = 1e-3
    for i in range(len(theta)):
        there, back = theta.copy(), theta.copy()
        there[i] += step
        back[i] -= step
        expected = (world.error(there, loss) - world.error(back, loss)) / (2 * step)
        assert slope[i] == pytest.approx(expected, rel=1e-3, abs=1e-8)


@given(worlds, losses)
def test_second_derivatives_equal_those_of_the_dense_matrix(world: Dense, loss: Loss) -> None:
    count = len(world.codes)
    theta = np.linspace(-40, 90, count)
    J = world.jacobian[: world.train]
    q = (world.offset + world.jacobian @ theta)[: world.train]
    weight = world.weight[: world.train] / world.weight[: world.train].sum()
    expected = (J * (weight * loss.curvature(q))[:, np.newaxis]).T @ J
    model = world.model(loss)
    assert model.quadratic(theta).curvature == pytest.approx(expected, rel=1e-4, abs=1e-12)


def test_parameter_without_an_ending_is_both_weights_of_a_tapered_feature() -> None:
    world = Dense(1, True)
    matrix = Counts.of(world.counts, NAMES, world.phase)
    ones, loss = np.ones(60, dtype=np.float32), Loss("squared", 200)
    wiring = wiring_of(NAMES, ["pawn", "knight_mg"], True)
    model = FeatureModel(
        space_of(np.zeros(2)), matrix, wiring, world.offset, ones, ones, world.games, 60, loss
    )
    expected = world.counts[:, 0] * 100 + world.counts[:, 1] * world.phase * 300
    assert model.linear([100, 300], 0, 60) == pytest.approx(expected, rel=1e-5, abs=1e-3)
    _, slope = model.gradient([100, 300])
    q, m = world.offset + expected, ones
    pull = loss.slope(q, m) / 60
    assert slope[0] == pytest.approx(pull @ world.counts[:, 0], rel=1e-4)
    assert slope[1] == pytest.approx(pull @ (world.counts[:, 1] * world.phase), rel=1e-4)


def test_ending_of_a_code_is_removed_only_if_tapered() -> None:
    assert feature_of("pawn_mg", tapered=True) == "pawn"
    assert feature_of("pawn_mg", tapered=False) == "pawn_mg"
    assert features_of(["a_mg", "a_eg", "b"], tapered=True) == ("a", "b")


def test_parameter_without_a_feature_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="parameter Tempo has no feature 'Tempo'; there are: pawn"):
        wiring_of(NAMES, ["pawn", "Tempo"], False)


def test_two_parameters_for_one_weight_are_refused() -> None:
    with pytest.raises(ValueError, match="'pawn' has two parameters for one weight: pawn_eg"):
        wiring_of(NAMES, ["pawn", "pawn_eg"], True)


def test_least_point_balances_the_error_and_the_ridge() -> None:
    world, loss = Dense(4, True, n=3000), Loss("squared", 150.0)
    world.train = 3000
    start = np.full(6, 40.0)
    model = world.model(loss, start=start)
    (free,) = model.path([0.0], start)
    (held,) = model.path([0.3], start)
    pull = model.gradient(held.theta)[1]
    push = Penalty(model.space, 0.3).slope(held.theta)
    assert np.abs(pull + push).max() < 0.001 * np.abs(pull).max()
    assert np.linalg.norm(held.theta - start) < 0.95 * np.linalg.norm(free.theta - start)
    assert held.train > free.train
