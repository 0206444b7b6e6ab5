"""Zhang, Lu and Lapata, Top-down Tree Long Short-Term Memory Networks, 2016."""
