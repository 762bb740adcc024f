"""Tuning an evaluation over labelled positions: targets, losses, optimisers."""
