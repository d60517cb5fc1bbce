"""Plan: selections narrowed to pages, rows and byte ranges; pure, no I/O."""
