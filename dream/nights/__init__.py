"""The nights: what one does, and what the machine's own clocks are told so that there is one every night.

`dream/schedule.py` has them on time where a process stays; `dream/crontime.py` knows the times of a cron expression.
"""
