"""The nights: what one does, and what the machine's own clocks are told so that there is one every night.

`serve` has them on time where a process stays.
"""
