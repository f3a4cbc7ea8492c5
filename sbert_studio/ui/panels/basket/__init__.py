"""The basket: pairs of texts that a visitor says belong together or do not, gathered from every tab to train on."""
