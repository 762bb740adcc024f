"""Control files to start from: made for a game and a competition type (`new`), or
from what other programs are given (`import`)."""
