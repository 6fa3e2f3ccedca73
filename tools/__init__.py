"""Programs that make files of the repository."""
