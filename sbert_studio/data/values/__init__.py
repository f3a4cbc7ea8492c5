"""What cells and columns hold: numbers, classes, dates, codes, and no answer."""
