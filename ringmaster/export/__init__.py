"""Write the results of a competition to one file for other programs."""
