"""Load control files, locate their settings and compare them with the last run."""
