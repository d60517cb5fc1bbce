"""I/O: sources, range fetching, footers and their caches."""
