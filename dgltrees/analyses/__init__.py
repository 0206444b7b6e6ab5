"""Uses of a trained run: parse, rerank, complete, generate, compress, and inspect what it does."""
