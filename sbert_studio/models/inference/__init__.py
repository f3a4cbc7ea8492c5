"""Fast inference: batching, packed and int8 layers, BERT without padding, ZeroGPU."""
