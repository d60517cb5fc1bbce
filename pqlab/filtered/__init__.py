"""Reading the rows that a predicate holds for: what is ruled out, what is read first, and why."""
