"""Simultaneous perturbation stochastic approximation (SPSA).

J. C. Spall, "Implementation of the simultaneous perturbation algorithm for stochastic
optimization", IEEE Trans. Aerospace and Electronic Systems 34(3), 1998.  In every
method two sides play each other:

    θ± = clip(θ ± c_k·δ)        δᵢ = ±1

All but the adaptive method then move by θ ← clip(θ + R_k·d·(W−L)).  Here d is the
played difference (θ⁺ − θ⁻)/2 after clipping and rounding, or c_k·δ to reproduce other
programs.  The adaptive method infers θ from all results so far.

Tuners ask and tell; they know no engines, files or clocks.  δ and the rounding are
functions of (seed, iteration).  Arrays have the shape (…, n) for n parameters; leading
axes are independent tunes, which only simulations have.
"""
