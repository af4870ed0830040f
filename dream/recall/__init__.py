"""Recall: what memory, history and the messages beneath it say of a question, found and cited."""
