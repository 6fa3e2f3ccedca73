"""Corpora: compilations that are recorded, kept in a file, replayed and compared; the programs of those that are shipped."""
