"""Who said it: the user, somebody they pasted, a tool. In code, for a model can be talked round.

`message` and `line` tell what is really somebody's own in a message and in a line of an entry; `user`, `others` and
`secondhand` compare the two.
"""
