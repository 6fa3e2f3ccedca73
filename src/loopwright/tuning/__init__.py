"""Measuring and tuning the compiler: what code costs, corpora of recorded functions, comparisons, the search for better orders."""
