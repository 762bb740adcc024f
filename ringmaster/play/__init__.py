"""Playing one game between two engines: the game loop, the clock, the pool of live engines."""
