"""The log: append, read after a cursor, archive, repair."""
