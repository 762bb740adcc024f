"""The command line: its options and its actions, a module for those that need the same."""
