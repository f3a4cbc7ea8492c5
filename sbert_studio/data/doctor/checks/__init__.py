"""What the doctor looks for, one file a subject."""
