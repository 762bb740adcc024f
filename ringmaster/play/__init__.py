"""Play one game between two engines: game loop, clocks, referees, pool of live engines."""
