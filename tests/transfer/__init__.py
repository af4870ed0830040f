"""Moving in and moving out."""
