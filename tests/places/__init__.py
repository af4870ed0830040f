"""What holds in one place alone: a project or a group chat."""
