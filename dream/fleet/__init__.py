"""The fleet: the nights of many workspaces, on one machine or several, as durable workflows.

The workspaces are the truth. What the fleet knows of one lies in its `.dream/nightly/fleet.json`; the database holds
who is next, and can be thrown away. Nothing outside this room knows of it.
"""
