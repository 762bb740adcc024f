"""Texel tuning: an evaluation is fitted to labelled positions that engines score."""
