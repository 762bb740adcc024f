"""Texel tuning: an evaluation is fitted to labelled positions that engines score.

A position's way: its file and label (`labels`), the engine's score (`evaluations`), the loss of
its shard and the error of a pass (`tuning`), the optimiser (`methods`), the `report`.
"""
