"""`dream eval`: show whether memory is good, without a model that judges.

    dataset ─▶ conversations ─▶ the real pipeline, night by night, in a scratch workspace ─▶ measures ─▶ report

A measure compares text with text, so that two people get the same figure. Beside every share stands what chance
gives: the same questions against the memory of another conversation.
"""
