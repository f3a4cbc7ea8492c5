"""The parts of the Fine-tune tab: the file's draft, the settings' form, the run's panel."""
