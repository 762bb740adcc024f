"""Pure ask/tell algorithms: no engines, no files, no clocks."""
