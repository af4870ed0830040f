"""What is round the dreams of one run: its models and their bill before, its ending and its record after."""
