"""What stands in the tabs: a panel each idea, with its handlers."""
