"""How documents are read and cut."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.settings.section import Section


class ChunkingSettings(Section):
    strategy: Literal["parent_child", "tokens"] = Field("parent_child", description="How documents are cut.")
    passage_size: int = Field(2000, ge=200, le=20000, description="Characters per passage (parent).")
    passage_overlap: int = Field(200, ge=0, le=4000, description="Characters shared by neighbouring passages.")
    chunk_size: int = Field(400, ge=50, le=8000, description="Characters per chunk (child).")
    chunk_overlap: int = Field(50, ge=0, le=2000, description="Characters shared by neighbouring chunks.")


class IngestSettings(Section):
    keep_original: bool = Field(False, description="Keep the uploaded bytes after indexing.")
    max_file_bytes: int = Field(50_000_000, ge=1, description="Largest file accepted, bytes (413 above).")
    max_text_chars: int = Field(20_000_000, ge=1, description="Largest normalised text of one document, code points.")
    parse_memory_bytes: int = Field(1_500_000_000, ge=10**8, description="Address space of the parsing subprocess.")
    code_symbols: bool = Field(True, description="Read definitions and references of source code into the graph.")
    code_seconds: float = Field(20, gt=0, description="Time for reading the symbols of one file, seconds.")
    code_max_chars: int = Field(2_000_000, ge=0, description="Longer files of code have no symbols, code points.")
    parse_seconds: int = Field(60, ge=1, description="CPU and wall time for parsing one file, seconds.")
    max_pages: int = Field(5000, ge=1, description="Most pages of one PDF.")
    max_unpacked_bytes: int = Field(200_000_000, ge=1, description="Most bytes a zipped document may unpack to.")
    embed_batch: int = Field(32, ge=1, le=256, description="Chunks per embedding call.")
    language: str = Field("english", description="Text search configuration where the language is not recognised.")
    detect_language: bool = Field(True, description="Recognise each document's language.")
