"""What is general about language: words, sentences, days, quotations, and what kind of thing a sentence states.

Nothing here knows of memory, models or files. What differs between languages stands in `tables/`, one file each.
"""
