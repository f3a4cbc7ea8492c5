"""LoRA: where adapters sit, how they are put in, and how they are kept."""
