"""Curvature between parameters: a regression on all products, and its principal axes.

Where parameters act together, the loss is a ridge, and the optimum of one moves with the
values of the others.  With the half range as the unit of d and m, an iteration of g games has

    E[W−L] = g·Σᵢ dᵢ·(γᵢ − Σⱼ Bᵢⱼ·mⱼ)        γ = B·o

which is linear in γ and the symmetric B, so the sums of its least squares, F = Σg·f·fᵀ and
Σ(W−L)·f over the features f, summarise all results.  Bᵢⱼ ~ N(0, ρ²·Bᵢᵢ·Bⱼⱼ) has one ρ for all
pairs; it is 0 unless the evidence speaks for another one.

Along the eigenvectors of B parameters are independent again.  `along` fits the line of each
axis to what the other axes leave of the results, in turn (mean-field variational Bayes): along
clipped perturbations axes are not independent of each other.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa.posterior import Posterior, infer

#: Most parameters with this regression: its sums have about n⁴/4 elements.
MOST_PARAMETERS = 8
#: The grid of ρ besides 0.
CORRELATIONS = (0.1, 0.3, 1.0)
#: As `posterior.ELO_SPREAD`: curvatures along axes differ more than those of parameters.
_ELO_SPREAD = 3.0
#: Rounds of the fit along axes.
_ROUNDS = 5


@lru_cache
def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the indices i ≤ j of B."""
    return np.triu_indices(n)


def features(d: Array, m: Array) -> Array:
    """Return d, then dᵢ·mⱼ + dⱼ·mᵢ, or dᵢ·mᵢ, by pair, (…, n·(n + 3)/2).

    d, m  half difference and midpoint of θ⁺ and θ⁻, half ranges from the start, (…, n)
    """
    i, j = _pairs(d.shape[-1])
    one, other = d[..., i] * m[..., j], d[..., j] * m[..., i]
    return np.concatenate([d, np.where(i == j, one, one + other)], axis=-1)


def fit(gram: Array, moments: Array, beta: Array) -> tuple[Array, Array]:
    """Return the evidence for ρ > 0, as a logarithm, (…), and B at the best ρ, (…, n, n).

    gram, moments  Σg·f·fᵀ and Σ(W−L)·f over the variance of W−L a game
    beta           estimate of B's diagonal, (…, n)
    """
    n = beta.shape[-1]
    i, j = _pairs(n)
    mean = np.concatenate([np.zeros_like(beta), np.where(i == j, -beta[..., i], 0.0)], axis=-1)
    scale = np.sqrt(beta[..., i] * beta[..., j])
    evidence, coefficients = [], []
    for correlation in (0.0, *CORRELATIONS):
        deviation = np.concatenate([beta, scale * np.where(i == j, 0.5, correlation)], axis=-1)
        rest = deviation * (moments - np.einsum("...ij,...j->...i", gram, mean))
        inner = deviation[..., np.newaxis] * gram * deviation[..., np.newaxis, :]
        inner += np.eye(inner.shape[-1])
        solved = np.linalg.solve(inner, rest[..., np.newaxis])[..., 0]
        evidence.append(((rest * solved).sum(axis=-1) - np.linalg.slogdet(inner)[1]) / 2)
        coefficients.append(mean + deviation * solved)
    excess = np.stack(evidence[1:]) - evidence[0]
    best = excess.argmax(axis=0)
    pairs = np.take_along_axis(
        np.stack(coefficients[1:]), best[np.newaxis, ..., np.newaxis], axis=0
    )[0, ..., n:]
    curvature = np.empty((*pairs.shape[:-1], n, n))
    curvature[..., i, j] = curvature[..., j, i] = -pairs
    return excess.max(axis=0), curvature


def along(gram: Array, moments: Array, axes: Array, unit: Array) -> Posterior:
    """Return the posterior along axes.

    gram, moments  as for `fit`
    axes           orthonormal columns, (…, n, n)
    unit           half ranges, (…)
    """
    n = axes.shape[-1]
    i, j = _pairs(n)
    unit = unit[..., np.newaxis, np.newaxis]
    turn = np.zeros((*axes.shape[:-2], gram.shape[-1], 2 * n))
    turn[..., :n, :n] = axes / unit
    turn[..., n:, n:] = axes[..., i, :] * axes[..., j, :] / unit**2
    gram = np.swapaxes(turn, -1, -2) @ gram @ turn
    moments = np.einsum("...ij,...i->...j", turn, moments)
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    own = np.diagonal(gram[..., :n, n:], axis1=-2, axis2=-1)
    # what is left of the matrix couples different axes
    others = gram * np.tile(1 - np.eye(n), (2, 2))
    left = moments
    for _ in range(_ROUNDS):
        sums = [diagonal[..., :n], own, diagonal[..., n:], left[..., :n], left[..., n:]]
        posterior = infer(sums, unit, _ELO_SPREAD)
        beta, slope = posterior.slope()
        coefficients = np.concatenate([slope, -beta], axis=-1)
        left = moments - np.einsum("...ij,...j->...i", others, coefficients)
    return posterior
