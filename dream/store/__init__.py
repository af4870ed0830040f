"""What is on disk: the workspace, history, versions, locks, what waits for review, and the records of runs."""
