"""What a person asks for: note, why, restore, review, amend, forget, status, doctor."""
