"""Overview: a file at a glance, as plain values (`view`), static HTML, or text for a terminal."""
