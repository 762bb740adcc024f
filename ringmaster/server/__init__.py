"""The live page: a small server on the loopback interface."""
