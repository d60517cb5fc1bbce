"""Frames one after the other, in bounded memory, while later pages are fetched and decoded."""
