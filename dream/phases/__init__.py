"""What a dream does between history and disk: phase 1 finds, phase 2 edits a draft, guards check every edit."""
