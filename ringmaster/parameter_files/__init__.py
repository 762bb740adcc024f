"""Parameter files of other tuners: recognise, read and write them."""
