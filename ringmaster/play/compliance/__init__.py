"""Test whether an engine obeys its protocol, for `check` and before the first game.

`examination` says which tests run when, `check_uci` and `check_gtp` have the tests, and `effects`
tests whether the options of a tune change anything.
"""
