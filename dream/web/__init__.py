"""The page: what the night changed, why, and how it is taken back, served on this machine alone."""
