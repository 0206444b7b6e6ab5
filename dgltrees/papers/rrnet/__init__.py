"""Jacob, Lin, Sordoni and Bengio, Learning Hierarchical Structures On-The-Fly, 2018."""
