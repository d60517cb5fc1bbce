"""What a file is that is not Parquet, from its size, first bytes and last bytes."""

from __future__ import annotations

from pqlab.errors import CorruptError, EncryptedError, PqlabError

MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"
TRAILER_BYTES = 8  # the footer's length (uint32, little endian) and the magic
MIN_FILE_BYTES = len(MAGIC) + TRAILER_BYTES
SHOWN_BYTES = 64  # of the file's beginning and end: enough for every sign below

_DECOMPRESS = "Decompress it first (Parquet compresses its pages itself)"
_EXTRACT = "Extract the Parquet file from it first"
_WEB = "Check the URL and its access rights"
_READ_TEXT = "Read it as text to see what it says"

# first bytes -> (what begins with them, what to do)
_SIGNATURES = {
    b"\x1f\x8b": ("a gzip archive", _DECOMPRESS),
    b"\x28\xb5\x2f\xfd": ("a zstd archive", _DECOMPRESS),
    b"BZh": ("a bzip2 archive", _DECOMPRESS),
    b"\xfd7zXZ\x00": ("an xz archive", _DECOMPRESS),
    b"PK\x03\x04": ("a zip archive or an Excel workbook", _EXTRACT),
    b"PK\x05\x06": ("an empty zip archive", "Check the path"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", _EXTRACT),
    b"ARROW1": ("an Arrow IPC (Feather v2) file", "Read it with polars.read_ipc"),
    b"FEA1": ("a Feather v1 file", "Read it with pyarrow.feather.read_table"),
    b"\xff\xff\xff\xff": ("an Arrow IPC stream", "Read it with polars.read_ipc_stream"),
    b"ORC": ("an ORC file", "Read it with pyarrow.orc.read_table"),
    b"Obj\x01": ("an Avro file", "Read it with polars.read_avro"),
    b"SQLite format 3\x00": ("an SQLite database", "Read it with polars.read_database"),
    b"\x89HDF\r\n\x1a\n": ("an HDF5 file", "Read it with pandas.read_hdf or h5py"),
    b"%PDF": ("a PDF document", "Check the path"),
    b"version https://git-lfs": ("a Git LFS pointer to the file", "Run `git lfs pull`"),
    b"<?xml": ("XML, often an object store's error message", _READ_TEXT),
    b"<Error": ("an object store's error message", _READ_TEXT),
    b"<!DOCTYPE": ("a web page, often an error or a login page", _WEB),
    b"<!doctype": ("a web page, often an error or a login page", _WEB),
    b"<html": ("a web page, often an error or a login page", _WEB),
    b"{": ("JSON", "Read it with polars.read_json or polars.read_ndjson"),
    b"[": ("JSON", "Read it with polars.read_json"),
}


def not_parquet(size: int, head: bytes, tail: bytes) -> PqlabError:
    """The error for a file without the trailer of a plaintext footer.

    `head` and `tail` are its first and last bytes, up to `SHOWN_BYTES` of each. The error tells
    size, first and last bytes and the likely cause: an `EncryptedError` where the magic says so,
    else a `CorruptError`.
    """
    if size == 0:
        return CorruptError("the file is empty (0 bytes)", hint="Was its writer closed?")
    shown = f"{size:,} bytes, first {head[:8]!r}, last {tail[-8:]!r}"
    if ENCRYPTED_MAGIC in (head[:4], tail[-4:]) and size >= MIN_FILE_BYTES:
        hint = "pqlab holds no keys: decrypt the file with the tool that wrote it"
        return EncryptedError(f"the footer is encrypted ({shown})", hint=hint)
    cause, hint = _unfinished(head, tail) or _foreign(head)
    return CorruptError(f"{cause} ({shown})", hint=hint)


def _unfinished(head: bytes, tail: bytes) -> tuple[str, str] | None:
    """Cause and hint for what was once meant to be Parquet."""
    if not any(head) and not any(tail):
        return "the file holds only zeros: its content never arrived", "Copy it again"
    if not head.startswith(MAGIC):
        return None
    if not any(tail):
        cause = "the file begins as Parquet and ends in zeros: a copy that was not finished"
        return cause, "Copy it again"
    cause = "the file begins as Parquet but has no footer: it is still being written, or truncated"
    return cause, "Wait until its writer has closed it, or copy it again"


def _foreign(head: bytes) -> tuple[str, str]:
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for signature, (what, hint) in _SIGNATURES.items():
        if head.startswith(signature) or begin.startswith(signature):
            return f"this is not Parquet but {what}", hint
    text = _as_text(begin)
    if text is None:
        return "this is not Parquet: it does not end in the magic bytes PAR1", "Check the path"
    if any(mark in text.splitlines()[0] for mark in ",;\t|"):
        return "this is not Parquet but text, probably CSV", "Read it with polars.read_csv"
    return "this is not Parquet but text", _READ_TEXT


def _as_text(data: bytes) -> str | None:
    """The bytes as text if they are UTF-8 without controls; the last character may be cut."""
    text = data.decode(errors="ignore")
    is_cut_at_most = len(data) - len(text.encode()) < 4
    is_shown = all(character.isprintable() or character in "\t\r\n" for character in text)
    return text if text and is_cut_at_most and is_shown else None
