"""What is measured, a file each: rows and vectors become a report."""
