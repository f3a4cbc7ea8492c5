"""What the page says, as templates: ``{0}``, ``{1}`` … stand for what is filled in. Read from the code, without running it."""
