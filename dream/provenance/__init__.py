"""Who said it: the user, somebody they pasted, a tool. Decided in code, because a model can be manipulated.

`user` tells which words are the user's own in a message and in a line of an entry, `vouching` who vouches for a line of
a summary, `phrases` what of a message says a line, and `rule` whether a rule is what the user wants.
"""
