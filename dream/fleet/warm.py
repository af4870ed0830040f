"""Loads LiteLLM, for the process from which nights are forked; it is imported for nothing else."""

from dream.llm import gateway

gateway._litellm()  # noqa: SLF001 - the door's own way to load it: quiet, and without a look into the network
