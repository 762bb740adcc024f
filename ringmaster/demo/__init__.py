"""The engines that ship with ringmaster: chess over UCI and Go over GTP.

They exist so that a first tune needs nothing else on the machine: their
evaluation weights are options, their play is a function of the options, the
seed and the game, and a whole game takes some tens of milliseconds.  Nothing of
ringmaster imports them; they run as any foreign engine would, in a process of
their own, and take nothing from ringmaster but the names of Go vertices.
"""
