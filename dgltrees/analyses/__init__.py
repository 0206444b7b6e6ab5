"""Uses of a trained run: parse, rerank, complete, generate, shorten, simplify, look inside."""
