"""One dream: from a batch of entries to findings, a draft, what waits for a person, and one commit."""
