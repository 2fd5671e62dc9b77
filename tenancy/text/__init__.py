"""How numbers, times, names and tables are read and printed: one module for each, for every room."""
