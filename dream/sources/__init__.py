"""Where transcripts come from: what is configured, which files are to be read, and the sessions in them."""
