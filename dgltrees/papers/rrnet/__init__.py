"""RRNet: a recurrent-recursive network that splits, recurs and merges while it reads.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).

The equations are in :mod:`dgltrees.cells.rrnet`. This subpackage has the graphs of operations
(``graphs``), encoders and policies (``models``), and the tasks: math expressions, logical
relations, language models.
"""
