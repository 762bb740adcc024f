"""What is kept on disk: the transactional store and the journals made from it."""
