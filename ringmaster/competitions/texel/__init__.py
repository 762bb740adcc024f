"""Texel tuning: an evaluation is fitted to labelled positions that engines score.

A position's way: its file and label (`labels`), the engine's score (`evaluations`), the loss of
its shard, the error of a pass and the optimiser (`tuning`), the `report`.
"""
