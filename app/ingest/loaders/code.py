"""Source code in the languages that the splitter knows the structure of; told by extension."""

from __future__ import annotations

from app.domain.document import LoadedDocument
from app.ingest.loaders.base import Kind, Limits
from app.ingest.loaders.text import decode

# Values are names of langchain_text_splitters.Language; Perl is missing there (declared, not implemented), and
# Markdown and HTML have loaders of their own.
LANGUAGES = {
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".cs": "csharp",
    ".cbl": "cobol",
    ".cob": "cobol",
    ".ex": "elixir",
    ".exs": "elixir",
    ".go": "go",
    ".hs": "haskell",
    ".java": "java",
    ".js": "js",
    ".jsx": "js",
    ".mjs": "js",
    ".cjs": "js",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".tex": "latex",
    ".lua": "lua",
    ".php": "php",
    ".ps1": "powershell",
    ".psm1": "powershell",
    ".proto": "proto",
    ".py": "python",
    ".pyi": "python",
    ".r": "r",
    ".rst": "rst",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".sol": "sol",
    ".swift": "swift",
    ".ts": "ts",
    ".tsx": "ts",
    ".bas": "visualbasic6",
    ".frm": "visualbasic6",
    ".cls": "visualbasic6",
}


def load(content: bytes, kind: Kind, limits: Limits) -> LoadedDocument:
    """The source as it stands; indentation is never touched."""
    return LoadedDocument(decode(content), kind.media_type, "code", code_language=kind.code_language)
