"""The engines that ship with ringmaster: chess over UCI, shogi over USI, Go over GTP.

With them a first tune needs no other engine.  Their evaluation weights are options, their
moves are a function of options, seed and game, and a game takes some tens of
milliseconds.  They run in processes of their own; ringmaster does not import them.
"""
