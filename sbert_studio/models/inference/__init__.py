"""Fast inference: batching, packed and int8 layers for the CPU, BERT without padding, and ZeroGPU."""
