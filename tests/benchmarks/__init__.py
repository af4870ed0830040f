"""What `dream` costs, as ratios against a peer or a floor: `python -m tests.benchmarks`."""
