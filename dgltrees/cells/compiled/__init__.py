"""A compiler for cells, and fast implementations with manual derivatives.

The compiler has two representations of ``message``, ``reduce`` and ``update``:

- the graph of torch's operations (:mod:`.graph`), which :mod:`.trace` records by running the
  functions once on tensors without data;
- a *loop program* about one node and its children: nests of loops with assignments, and matrix
  products (:mod:`.loops`).

:mod:`.lower` turns the first into the second, with a rule for each operation
(:mod:`.rules_numbers`, :mod:`.rules_shapes`) on tensors that are expressions at an index
(:mod:`.values`, :mod:`.emit`). Passes over the loop program fuse loops, assign memory
(:mod:`.schedule`) and derive it (:mod:`.derivative`). :mod:`.printing` writes it as Python, which
numba compiles to machine code (:mod:`.kernels`). :mod:`.plan` computes the rows of each level,
:mod:`.run` runs the code over a batch, :mod:`.check` compares it with the functions, and
:mod:`.way` is the entry point of a traversal.
"""
