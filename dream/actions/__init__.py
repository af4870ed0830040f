"""What a person asks for: note, why, restore, review, forget, status, doctor."""
