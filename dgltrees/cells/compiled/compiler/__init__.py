"""A compiler for cells: from message, reduce and update functions to machine code.

:mod:`.trace` runs the three functions once on tensors without data and writes down their
operations. :mod:`.lower` turns these into statements about one node and its children
(:mod:`.expressions`); whatever does not depend on the children, such as a product with the inputs,
is left to torch, once for all nodes. :mod:`.generate` writes the statements and their derivatives
as Python loops that numba compiles: matrix products over the rows of a level, and between them one
loop over its nodes. :mod:`.program` keeps and runs the result.
"""
