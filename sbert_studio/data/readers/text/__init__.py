"""Text files: bytes → characters → lines → records of cells."""
