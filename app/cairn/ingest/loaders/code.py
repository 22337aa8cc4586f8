"""Source code in the languages that the splitter knows the structure of; told by suffix."""

from __future__ import annotations

from cairn.ingest.loaders.base import LoadedText, LoadLimits
from cairn.ingest.loaders.text import decode

# Keys are names of langchain_text_splitters.Language; Perl is missing there (declared, not implemented), and
# Markdown, HTML, reStructuredText and LaTeX documents have loaders of their own.
SUFFIXES = {
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hh", ".hpp"),
    "csharp": (".cs",),
    "cobol": (".cbl", ".cob"),
    "elixir": (".ex", ".exs"),
    "go": (".go",),
    "haskell": (".hs",),
    "java": (".java",),
    "js": (".js", ".jsx", ".mjs", ".cjs"),
    "kotlin": (".kt", ".kts"),
    "latex": (".sty", ".dtx"),
    "lua": (".lua",),
    "php": (".php",),
    "powershell": (".ps1", ".psm1"),
    "proto": (".proto",),
    "python": (".py", ".pyi"),
    "r": (".r",),
    "ruby": (".rb",),
    "rust": (".rs",),
    "scala": (".scala",),
    "sol": (".sol",),
    "swift": (".swift",),
    "ts": (".ts", ".tsx"),
    "visualbasic6": (".bas", ".frm", ".cls"),
}

# Of these the splitter knows none: they are cut at empty lines, then at others.
CONFIGURATION = {
    "yaml": (".yaml", ".yml"),
    "toml": (".toml",),
    "json": (".json", ".jsonc", ".json5"),
    "ini": (".ini", ".cfg", ".conf", ".cnf", ".env", ".properties"),
    "css": (".css", ".scss", ".less"),
}


def load(content: bytes, limits: LoadLimits) -> LoadedText:
    """The source as it stands; indentation is never touched."""
    return LoadedText(decode(content))
