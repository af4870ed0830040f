"""What any text is asked, whatever it means: its sentences, words, days, language, tokens, and what in it is unsafe.

Nothing here knows of memory, models or files. Rows of words stand in `words.toml`, names of days in `days.toml`.
"""
