"""Moving in and moving out: what other tools remember becomes memory, and memory goes where they look."""
