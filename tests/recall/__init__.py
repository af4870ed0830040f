"""Tests of recall: the messages that stay, search and citations."""
