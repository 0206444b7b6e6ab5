"""What one does with a trained run: parse, rerank, complete, generate, compress, look inside."""
