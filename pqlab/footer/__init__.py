"""Footer: bytes to values. Schema, file metadata, page table, frames; no I/O."""
