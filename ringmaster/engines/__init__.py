"""Engine processes and the protocols they speak (GTP, UCI): no rules of any game, no decisions."""
