"""Files of games, openings and positions, as this and other programs read and write them."""
