"""What becomes history: where to cut a session, who summarises it, and what counts as a summary."""
