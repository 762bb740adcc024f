"""Test whether an engine obeys its protocol (`ringmaster check`).

`examine` runs all tests of an engine: those of `check_uci` over UCI and USI, those of `check_gtp`
over GTP.  `first_tests` has the short tests before the first game of a competition.
"""
