"""Assemble: decoded buffers to Arrow and polars."""
