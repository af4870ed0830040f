"""The versions of memory in git: commit, swap, merge, hand edits, rewrite."""
