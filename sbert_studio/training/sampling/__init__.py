"""What makes up each batch."""
