"""The fleet: the nights of many workspaces, on one machine or several, as durable workflows.

The workspaces are the truth. What the fleet knows about one is a note in the root's `.dream-fleet/notes/`, which no
tenant writes; the database holds the queue, and can be thrown away. Nothing outside this room imports it.
"""
