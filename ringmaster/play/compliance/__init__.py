"""Test whether an engine obeys its protocol (`ringmaster check`).

`examine` runs all tests of an engine.  The tests are in `check_uci` for UCI and
USI, and in `check_gtp` for GTP.  `first_tests` has the short tests before a competition's first
game.
"""
