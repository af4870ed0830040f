"""The nights: what one does, `dream serve`, and timers of crontab, systemd and launchd.

`serve` has them on time where a process stays.
"""
