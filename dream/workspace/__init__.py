"""What lies in a workspace beside history and versions: its files, locks, places and state."""
