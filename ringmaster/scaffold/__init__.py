"""New control files: from a game and a competition type (`new`), or from the files and command
lines of other programs (`import`)."""
