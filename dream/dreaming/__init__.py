"""One dream: from a batch of entries to findings, a draft, proposals for review, and one commit."""
