"""Test whether an engine obeys its protocol, for `check` and before the first game.

`protocol_tests` has the table of tests.
"""
