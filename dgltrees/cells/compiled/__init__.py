"""Faster ways through whole batches: a compiler for cells, and derivatives by hand.

The compiler has two representations of ``message``, ``reduce`` and ``update``:

- the graph of torch's operations that :mod:`.trace` writes down (:mod:`.graph`), by running the
  functions once on tensors without data;
- a *loop program* about one node and its children: nests of loops with assignments, and matrix
  products (:mod:`.loops`).

:mod:`.lower` turns the first into the second, with a rule for each operation
(:mod:`.rules_numbers`, :mod:`.rules_shapes`) on tensors that are expressions at an index
(:mod:`.values`, :mod:`.emit`). The rest are passes over the second: fusion and where numbers are
kept (:mod:`.schedule`), and the derivative (:mod:`.derivative`). :mod:`.printing` writes it as
Python, of which numba makes machine code (:mod:`.kernels`). :mod:`.plan` says which rows a level
has, :mod:`.run` runs the code over a batch, :mod:`.check` compares it with the functions, and
:mod:`.way` is where a traversal begins.
"""
