"""Opening books: files of start positions, lines and games, and the order of their use.

A list of openings, in any format, is indexed at first; each opening is read when it is used
or verified.  A book is a tree with weights, and its lines are drawn one by one.
"""
