"""What rows must be like to be read: as a value, from text or polars, and what it rules out."""
