"""The command `cairn` as its users meet it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from commands import Cairn
from serving import starter
from starter import StartedProcess

from cairn.db.migrate import migration_sql
from cairn.domain.document import Document
from cairn.domain.ids import new_id
from cairn.interfaces.cli import demo
from cairn.interfaces.cli.demo import questions_in
from cairn.interfaces.cli.main import command_named, run
from tests.waiting import hang_guard, patience, wait_until

REPO = Path(__file__).resolve().parents[2]
GUIDE = """# Field guide

## Rope care

A rope that was loaded by a hard fall must be retired at once. Wash ropes in cold water without soap.

## Trail markers

A cairn is a pile of stones that marks a trail where paint would not last.
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return make_library(tmp_path)


@pytest.fixture(scope="module")
def shelves(fresh_database: Callable[[], str], model: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database for tests that only ask: the library is in `books`, a PDF of two short pages in `short`, and a text that would
    steer a terminal in `evil`."""
    folder, dsn = tmp_path_factory.mktemp("shelves"), fresh_database()
    (folder / "short.pdf").write_bytes(pdf("How to use this book.", "A carabiner is a metal loop with a gate."))
    (folder / "evil.txt").write_text("A trojan is a gift \x1b]0;owned\x07\x1b[2J that hides soldiers.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATABASE_URL", dsn)
        patch.setenv("CAIRN_HOME", str(folder / "home"))
        patch.setenv("CAIRN_MODEL_DIR", str(model))
        patch.chdir(folder)
        for path, collection in (("short.pdf", "short"), ("evil.txt", "evil"), (make_library(folder).name, "books")):
            assert run(["ingest", path, "--collection", collection]) == 0
    return dsn


@pytest.fixture
def reader(cairn: Cairn, shelves: str, monkeypatch: pytest.MonkeyPatch) -> Cairn:
    """Commands on the shelves, which no test changes."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", shelves)
    return cairn


def make_library(parent: Path) -> Path:
    """A folder with three documents and everything that is none."""
    folder = parent / "library"
    (folder / "inner").mkdir(parents=True)
    (folder / "guide.md").write_text(GUIDE)
    (folder / "inner" / "notes.txt").write_text("Crampons are spikes that hold boots on ice. Keep them sharp.")
    filler = " ".join(f"Step {n} is described on the sheet with number {n}." for n in range(100))
    (folder / "manual.pdf").write_bytes(
        pdf("How to use this book.", f"{filler} A carabiner is a metal loop with a gate.")
    )
    for name in (".hidden", "node_modules", "__pycache__"):
        (folder / name).mkdir()
        (folder / name / "x.md").write_text("never read me")
    (folder / "venv").mkdir()
    (folder / "venv" / "pyvenv.cfg").touch()
    (folder / "venv" / "lib.py").write_text("never = 'read me'")
    (folder / "image.bin").write_bytes(bytes(range(256)) * 8)
    (folder / "empty.py").touch()
    (folder / ".secret.md").write_text("never read me")
    (folder / "dangling.md").symlink_to("nowhere")
    return folder


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text per page."""
    first = 4
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
               "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]  # fmt: skip
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 40 700 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {first + 2 * n + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


# --- usage ------------------------------------------------------------------------------------------------------------


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    script = (
        "import gc, sys; from cairn.interfaces.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: code = end.code\n"
        "print('garbage:', gc.get_threshold()[0])\n"
        "heavy = {'asyncpg', 'fastapi', 'numpy', 'onnxruntime', 'openai', 'sqlalchemy', 'pydantic', 'cairn.wiring'}; "
        "print('heavy:', sorted(heavy & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=REPO, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("serve", "worker", "migrate", "ingest", "search", "ask", "demo"):
        assert re.search(rf"^  {command} +\w", done.stdout, re.MULTILINE), command
    assert "heavy: []" in done.stdout
    assert "garbage: 100000" in done.stdout  # imports of a second and a half are not looked through for garbage


@pytest.mark.parametrize(
    ("name", "made"), [("ask", {"ask"}), ("keys", {"keys"}), ("forget", {"forget"}), ("export", {"export"})]
)
def test_of_all_commands_only_the_one_that_is_asked_for_is_made(name: str, made: set[str]) -> None:
    assert set(command_named(name).commands) == made


@pytest.mark.parametrize("name", [None, "--help", "nonsense"])
def test_where_no_command_is_named_all_are_made(name: str | None) -> None:
    assert {"ask", "keys", "forget", "serve"} < set(command_named(name).commands)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "nonsense"),
        (["ingest"], "PATH"),
        (["search", "x", "--top-k", "0"], "--top-k"),
        (["search", "x", "--mode", "magic"], "--mode"),
        (["ask", "--nope", "x"], "--nope"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("cairn: ")
    assert said in err


def test_errors_are_one_line_without_a_stack_trace(cairn: Cairn, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = cairn("ingest", "no/such/folder")
    assert (missing.code, missing.out) == (2, "")
    assert re.fullmatch(r"cairn: there is no file or folder \S+/no/such/folder\n", missing.err)

    Path("settings.json").write_text('{"rag": {"topp": 3}}')
    settings = cairn("search", "x")
    assert (settings.code, len(settings.err.splitlines())) == (2, 1)
    assert "did you mean 'topK'" in settings.err
    Path("settings.json").unlink()

    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    away = cairn("ask", "anything")
    assert (away.code, len(away.err.splitlines())) == (1, 1)
    assert away.err.startswith("cairn: cannot connect to PostgreSQL")


@pytest.mark.siege
def test_what_a_start_imports_was_compiled_at_the_installation_and_is_no_telemetry() -> None:
    """Where PYTHONDONTWRITEBYTECODE is set every start would compile it again: 3.3 s of processor time in place of 1.8."""
    program = (
        "import os, sys, cairn.wiring, cairn.telemetry\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)\n"
        "import cairn.interfaces.server\n"
        "found = [m for m in list(sys.modules.values()) if 'site-packages' in (getattr(m, '__file__', None) or '')]\n"
        "print(*(m.__name__ for m in found if m.__spec__.cached and not os.path.exists(m.__spec__.cached)))"
    )
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"cairn(,| \d).*\n", capfd.readouterr().out)


# --- ingest -----------------------------------------------------------------------------------------------------------


def test_ingest_takes_documents_leaves_the_rest_and_repeats_nothing(cairn: Cairn, library: Path) -> None:
    first = cairn("ingest", library, "--collection", "books", "--json")
    assert first.code == 0, first.err
    assert first.json["counts"] == {
        "added": 3, "replaced": 0, "updated": 0, "unchanged": 0, "failed": 0, "skipped": 8, "removed": 0
    }  # fmt: skip
    assert {d["external_id"]: d["duplicate"] for d in first.json["indexed"]} == {
        "library/guide.md": False, "library/inner/notes.txt": False, "library/manual.pdf": False,
    }  # fmt: skip
    skipped = {Path(item["path"]).name: item["reason"] for item in first.json["skipped"]}
    assert skipped == {
        ".hidden": "hidden", ".secret.md": "hidden", "node_modules": "not documents", "__pycache__": "not documents",
        "venv": "a virtual environment", "image.bin": "unsupported type", "empty.py": "empty document",
        "dangling.md": "not a regular file",
    }  # fmt: skip

    os.chdir(library)  # the same folder by another path, from another folder
    again = cairn("ingest", ".", "-c", "books", "--json")
    assert again.code == 0
    assert {d["external_id"] for d in again.json["indexed"]} == {d["external_id"] for d in first.json["indexed"]}
    assert all(d["duplicate"] for d in again.json["indexed"])

    (library / "guide.md").write_text(GUIDE + "\nNew words.\n")
    changed = cairn("ingest", ".", "-c", "books", "--verbose")
    assert {"replaced: library/guide.md", "unchanged: library/manual.pdf"} <= set(changed.out.splitlines())
    assert re.search(r"Collection books: 1 replaced \(\d+ passages?\), 2 unchanged, 8 skipped", changed.out)


def test_ingest_names_broken_files_and_fails_but_keeps_the_others(cairn: Cairn, library: Path) -> None:
    (library / "broken.pdf").write_bytes(b"%PDF-1.4\nnot really")
    done = cairn("ingest", library)
    assert done.code == 1
    assert re.search(r"^failed: library/broken\.pdf: .*damaged", done.err, re.MULTILINE)
    assert re.search(r"Collection default: 3 documents added .*, 1 failed, 8 skipped", done.out)

    # what lies in a folder may be no document; what is named must be one
    named = cairn("ingest", library / "image.bin", library / "empty.py", "--json")
    assert named.code == 1
    assert {item["code"] for item in named.json["failed"]} == {"unsupported-type", "empty-document"}


def test_ingest_refuses_large_files_before_it_reads_them(cairn: Cairn, library: Path) -> None:
    Path("settings.json").write_text('{"ingest": {"maxFileBytes": 1000}}')
    huge = library / "huge.txt"
    with huge.open("wb") as file:
        file.write(b"A long story. " * 10_000)
        file.truncate(2**40)  # a sparse terabyte: reading it would not end
    done = cairn("ingest", huge)
    assert done.code == 1
    assert re.search(r"failed: library/huge\.txt: the file has 1,099,511,627,776 bytes; at most 1,000 are", done.err)


def test_ingest_takes_names_that_are_no_unicode(cairn: Cairn, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in (b"caf\xe9.txt", b"caf\xe9.bin", b"a b\n'c'.md"):
        content = bytes(range(256)) * 8 if b"bin" in name else b"A name is a sign."
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_bytes(content)
    done = cairn("ingest", "odd", "--json")
    assert done.code == 1, "one of them is refused"
    assert [item["external_id"] for item in done.json["indexed"]] == ["odd/caf\ufffd.txt"]
    shown = cairn("ingest", "odd", "--verbose")
    assert "has U+000A (a control character) at character 8, which cannot be seen" in shown.err
    assert "caf\ufffd.bin: unsupported type" in shown.err


def test_ingest_refuses_two_files_of_one_identity(cairn: Cairn, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "docs").mkdir(parents=True)
        (tmp_path / name / "docs" / "x.md").write_text(f"# {name}\n\nText of {name}.")
    done = cairn("ingest", "a/docs", "b/docs")
    assert done.code == 2
    assert "would both be 'docs/x.md'" in done.err


def test_ingest_says_what_to_do_when_there_is_nothing(cairn: Cairn, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    done = cairn("ingest", "void")
    assert done.code == 1
    assert "Found no documents" in done.out
    assert "Cairn reads PDF, Word (.docx), Excel (.xlsx, .xls), " in done.out


# --- search and ask ---------------------------------------------------------------------------------------------------


def test_search_shows_places_and_json_is_what_the_api_answers(reader: Cairn) -> None:
    shown = reader("search", "metal", "loop", "with", "a", "gate", "-c", "books", "-k", "2")
    assert shown.code == 0
    assert shown.out.startswith("1. manual.pdf, page 2 (library/manual.pdf)\n")
    assert re.search(r"2 passages in \d+ ms; trace [0-9a-f-]{36}", shown.out)

    found = reader("search", "spikes on ice", "-c", "books", "--mode", "lexical", "--json").json
    assert found["legs_used"] == ["lexical"]
    assert found["results"][0]["external_id"] == "library/inner/notes.txt"
    assert found["results"][0]["ranks"] == {"lexical": 1}

    nothing = reader("search", "xylophone", "-c", "books", "--mode", "lexical")
    assert nothing.code == 0
    assert "Nothing found in collection books (3 documents)" in nothing.out


def test_ask_answers_with_citations_that_name_file_page_and_section(reader: Cairn) -> None:
    done = reader("ask", "What is a carabiner?", "-c", "books")
    assert done.code == 0, done.err
    answer, _, sources = done.out.partition("\n\n")
    assert "A carabiner is a metal loop with a gate." in answer
    assert '] manual.pdf, page 2 (library/manual.pdf)\n    "A carabiner is a metal loop with a gate."' in sources

    found = reader("ask", "What is a cairn?", "-c", "books", "--json").json
    cited = found["citations"][0]
    assert cited["external_id"] == "library/guide.md"
    assert GUIDE[cited["start"] : cited["end"]] == cited["quote"]
    assert "pile of stones" in cited["quote"]
    assert cited["headings"][-1] == "Trail markers"
    shown = reader("ask", "When must a rope be retired?", "-c", "books")
    assert '[1] Field guide, section "Rope care" (library/guide.md)' in shown.out

    unknown = reader("ask", "Who painted the Mona Lisa?", "-c", "books")
    assert unknown.code == 0
    assert unknown.out.startswith("Mona Lisa is not mentioned in these documents.")


def test_a_citation_names_the_page_of_its_quote(reader: Cairn) -> None:
    cited = reader("ask", "What is a carabiner?", "-c", "short", "--json").json["citations"][0]
    assert cited["quote"] == "A carabiner is a metal loop with a gate."
    assert cited["page"] == 2


def test_ask_and_search_say_how_to_fill_an_empty_collection(cairn: Cairn, library: Path) -> None:
    for command in ("ask", "search"):
        done = cairn(command, "anything", "--collection", "books")
        assert (done.code, done.out) == (1, "")
        assert "no documents yet; add some: cairn ingest PATH --collection books" in done.err
    assert cairn("ingest", library / "guide.md", "-c", "others").code == 0
    assert "there are documents in: others" in cairn("ask", "anything", "-c", "books").err

    assert cairn("ask", "  ").code == 2
    assert "not a collection name" in cairn("search", "x", "-c", "no/slash").err


def test_ask_reads_a_path_that_is_named_before_the_question(cairn: Cairn, library: Path) -> None:
    """Into the collection of its name, which has what the path has: what was read costs nothing, what is gone goes."""
    first = cairn("ask", library, "What is a carabiner?")
    assert first.code == 0, first.err
    assert "A carabiner is a metal loop with a gate." in first.out
    assert "Collection library: 3 documents added" in first.err
    assert "Collection" not in first.out
    again = cairn("ask", library, "What is a carabiner?")
    assert "A carabiner is a metal loop with a gate. [1]" in again.out.splitlines()[0]
    assert "Collection" not in again.err
    (library / "manual.pdf").unlink()
    gone = cairn("ask", library, "What is a carabiner?", "--json")
    assert "1 removed" in gone.err
    assert not [cited for cited in gone.json["citations"] if "manual.pdf" in cited["external_id"]]
    assert cairn("ask", library / "guide.md", "What is a cairn?", "-c", "one").code == 0
    assert "guide.md" in cairn("search", "cairn", "-c", "one").out


def test_ask_takes_words_for_a_question_unless_a_path_and_a_quoted_question_are_given(
    reader: Cairn, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library.parent)
    for words in (["library", "rules"], ["library", "for", "beginners"], ["What is a cairn?", "And a carabiner?"]):
        done = reader("ask", *words, "-c", "books")
        assert (done.code, done.err) == (0, ""), words
    missing = reader("ask", "./nowhere", "What is a cairn?")
    assert (missing.code, missing.out) == (2, "")
    assert "there is no file or folder ./nowhere" in missing.err
    (library.parent / "void").mkdir()
    nothing = reader("ask", "void", "What is a cairn?")
    assert nothing.code == 2
    assert "there is nothing to read in void: Cairn reads PDF" in nothing.err


def test_documents_cannot_steer_the_terminal(reader: Cairn) -> None:
    for command in ("ask", "search"):
        done = reader(command, "What is a trojan?", "-c", "evil")
        assert "A trojan is a gift" in done.out
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err


# --- demo -------------------------------------------------------------------------------------------------------------


def test_demo_asks_about_documents_of_ones_own(cairn: Cairn, library: Path) -> None:
    done = cairn("demo", library)
    assert done.code == 0, done.err
    questions = re.findall(r"^> (.+)$", done.out, re.MULTILINE)
    assert len(set(questions)) == 3
    assert any("carabiner" in question for question in questions), questions
    assert "(library/" in done.out
    assert "cairn serve" in done.out
    assert 'cairn ask "..." --collection demo-library' in done.out
    again = cairn("demo", library)
    assert "nothing new, 3 unchanged" in again.out


@pytest.mark.parametrize("files", [{}, {"photo.png": b"\x89PNG\r\n\x1a\n"}], ids=["empty", "no documents"])
def test_demo_of_a_folder_with_nothing_to_read_says_what_would_be_read(
    cairn: Cairn, library: Path, files: dict[str, bytes]
) -> None:
    folder = library.parent / "void"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    done = cairn("demo", folder)
    assert done.code == 1
    assert "Found nothing to ask about" in done.err
    assert "Cairn reads PDF" in done.err
    assert all(name in done.err for name in files)


@pytest.mark.siege
def test_the_demo_of_cairn_itself_answers_each_of_its_questions(
    cairn: Cairn, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rooms stand for all five, which take a minute. What an earlier version read is removed, and nothing else."""
    guides, code = demo.CHAPTERS
    chapters = guides, replace(code, paths=("cairn/ingest", "cairn/errors.py"))
    monkeypatch.setattr(demo, "CHAPTERS", chapters)
    (library.parent / "docs").mkdir()
    (library.parent / "docs" / "moved.md").write_text("A guide that has another name now.")
    cairn("ingest", library.parent / "docs", library, "--collection", "demo")
    done = cairn("demo")
    assert done.code == 0, done.err
    assert "Removed 1 document of an earlier version." in done.out
    asked = re.split(r"^> .+$", done.out, flags=re.MULTILINE)[1:]
    assert len(asked) == sum(len(talk) for chapter in chapters for talk in chapter.talks)
    expected = ("exit code 3", "130 Ctrl-C", "refuses to run as root", "documents mention", "not mentioned in these documents",
                "reindex_document", "EncryptedDocumentError")  # fmt: skip
    for words, answer in zip(expected, asked, strict=True):
        assert words in answer, answer
    assert asked[0].index("exit code 3") < asked[0].index("the first answer")
    assert "```" not in done.out, "a newcomer is not shown blocks of code"
    assert "--collection demo-code" in done.out


@pytest.mark.parametrize(
    ("media_type", "text", "asked"),
    [
        ("text/plain", "It is a pity. The Matterhorn is a mountain. Ropes are the lifeline.",
         ["What is the Matterhorn?", "What are Ropes?", "What is T about?"]),
        ("application/pdf", "It is late. Safety A harness is a set of straps.", ["What is a harness?", "What is T about?"]),
        ("text/markdown", "# T\n\n## Knots and ropes\n\n" + "Knots hold ropes together. " * 9 + "\n## Notes\n\n" + "x " * 99,
         ["What is said about Knots and ropes?", "What is T about?"]),
        ("text/x-python", "## Knots and ropes\n" + "# Knots hold ropes together. " * 9, ["What is T about?"]),
    ],
)  # fmt: skip
def test_questions_are_made_of_the_documents_own_words(media_type: str, text: str, asked: list[str]) -> None:
    document = Document(
        id=new_id(), collection="c", external_id="t", title="T", version=1, status="indexed", media_type=media_type,
        language=None, metadata={}, error=None, byte_size=1, passage_count=1, chunk_count=1, token_count=1,
        created_at=None, updated_at=None,
    )  # fmt: skip
    assert [question for _, question in questions_in(document, text)] == asked


# --- operating --------------------------------------------------------------------------------------------------------


def test_migrate_says_what_it_did_and_prints_sql_without_a_database(
    cairn: Cairn, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.fullmatch(r"The database is up to date \(revision \w+\)\.\n", cairn("migrate").out)
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    assert "was migrated" in cairn("migrate").out

    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    printed = cairn("migrate", "--sql")
    assert printed.code == 0
    assert printed.out.strip() == migration_text()


def migration_text() -> str:
    import asyncio

    return asyncio.run(migration_sql()).strip()


def test_serve_refuses_addresses_it_must_not_or_cannot_take(cairn: Cairn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOST", "unset")  # restored afterwards: serve hands its options on this way
    monkeypatch.setenv("CAIRN_PORT", "0")
    outside = cairn("serve", "--host", "0.0.0.0")
    assert outside.code == 2
    assert "CAIRN_ALLOW_OPEN" in outside.err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = cairn("serve", "--host", "127.0.0.1", "--port", str(port))
    assert (done.code, len(done.err.splitlines())) == (1, 1)
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in done.err


def own_environment(database: str, model: Path, home: Path) -> dict[str, str]:
    """Of a cairn process of its own."""
    own = {"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(home), "CAIRN_MODEL_DIR": str(model)}
    return {**os.environ, **own, "PYTHONPATH": str(REPO / "app")}


@contextmanager
def started(
    database: str, model: Path, home: Path, *arguments: str | Path
) -> Iterator[tuple[StartedProcess, Callable[[], str]]]:
    """A cairn process of its own, and what it said till now."""
    log = home / "said"
    log.write_bytes(b"")
    process = starter().start(own_environment(database, model, home), log, *map(str, arguments), folder=home)
    try:
        yield process, log.read_text
    finally:
        process.kill()


def test_ctrl_c_ends_a_command_with_one_line_and_130(database: str, model: Path, tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    endless.mkdir()
    for number in range(400):
        (endless / f"{number}.txt").write_text(f"Text number {number}. " + "A sentence to embed and embed again. " * 20)
    with started(database, model, tmp_path, "ingest", endless) as (process, said):
        wait_for_documents(database)
        process.send_signal(signal.SIGINT)
        assert process.wait(patience(30)) == 130
    assert said() == "cairn: interrupted\n"


def wait_for_documents(database: str) -> None:
    """Until the process has begun to work."""
    import asyncio

    import asyncpg

    async def wait() -> None:
        connection = await asyncpg.connect(database)
        try:
            async with hang_guard(60):
                while not await connection.fetchval("SELECT count(*) FROM rag.documents"):
                    await asyncio.sleep(0.05)
        finally:
            await connection.close()

    asyncio.run(wait())


def test_a_closed_pipe_is_no_error(database: str, model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cairn", "migrate", "--sql"]
    own = own_environment(database, model, tmp_path)
    with subprocess.Popen(command, env=own, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("--")
        process.stdout.close()
        assert process.stderr
        assert process.stderr.read() == ""
        assert process.wait(patience(30)) == 141


def test_worker_stops_when_it_is_asked_to(database: str, model: Path, tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with started(database, model, tmp_path, "worker") as (process, said):
            wait_until(lambda said=said: said().endswith("\n"), 30, told=said)
            process.send_signal(number)
            assert process.wait(patience(30)) == 0
            assert [json.loads(line)["event"] for line in said().splitlines()] == ["worker.started", "worker.stopped"]


# --- jobs and the cache -------------------------------------------------------------------------------------------------


def test_collections_are_called_as_people_call_them(cairn: Cairn) -> None:
    assert cairn("collections", "list").out == "No collections.\n"
    assert cairn("collections", "create", "Personnel 2024").out == "Personnel-2024  Personnel 2024\n"
    taken = cairn("collections", "create", "Personnel, 2024")
    assert (taken.code, "Personnel-2024 exists already" in taken.err) == (1, True)
    assert cairn("collections", "rename", "Personnel-2024", "People").out == "Personnel-2024  People\n"
    assert cairn("collections", "list").out == "Personnel-2024  People  0 documents\n"
    assert cairn("collections", "rename", "Personnel-2024").out == "Personnel-2024  Personnel-2024\n"
    assert json.loads(cairn("collections", "list", "--json").out)[0]["display_name"] is None
    Path("leave.md").write_text("Employees have 30 days of leave per year.")
    assert cairn("ingest", "leave.md", "--collection", "Personnel-2024").code == 0
    assert cairn("collections", "list").out == "Personnel-2024  1 document\n"


@pytest.mark.siege
def test_documents_of_an_earlier_release_are_read_anew(cairn: Cairn, tmp_path: Path, database: str, psql: Any) -> None:
    """All collections at once; what cannot be read any more is told of, by name."""
    for name in ("kept.md", "lost.md"):
        (tmp_path / name).write_text(f"---\ntitle: x\n---\n# {name}\n\nA cairn marks the trail.\n")
        assert cairn("ingest", tmp_path / name, "-c", name[:4]).code == 0
    earlier = "UPDATE rag.documents SET loader_revision = 0; UPDATE rag.document_texts SET text = 'title: x'"
    psql(f"{earlier}; DELETE FROM rag.originals WHERE octet_length(content) > 0", urlsplit(database).path[1:])
    (tmp_path / "lost.md").unlink()
    done = cairn("reread")
    assert (done.code, done.out) == (0, "kept: 1 read anew\nlost: 1 left as they are\n")
    assert re.search(r"left: .*lost\.md: its file is not kept, and .*lost\.md cannot be read any more", done.err)
    assert cairn("reread", "kept").out == "kept: all documents were read by this release\n"
    assert cairn("reread", "--json").json["lost"]["left"] == 1
    assert cairn("reread", "nowhere").code == 1


def test_jobs_are_listed_shown_and_tried_again(cairn: Cairn, library: Path, database: str, psql: Any) -> None:
    assert cairn("jobs", "list").out == "No jobs.\n"
    assert cairn("ingest", library / "guide.md").code == 0
    done = cairn("reindex", "default", "--force")
    assert done.code == 0, done.err
    listed = cairn("jobs", "list", "--json").json
    [job] = [item for item in listed if item["kind"] == "reindex"]
    assert (job["status"], job["payload"]["collection"]) == ("succeeded", "default")
    assert job["id"] in cairn("jobs", "list", "--status", "succeeded").out
    assert cairn("jobs", "list", "--status", "parked").out == "No parked jobs.\n"
    assert "status: succeeded" in cairn("jobs", "show", job["id"]).out
    refused = cairn("jobs", "retry", job["id"])
    assert refused.code == 1
    assert "succeeded" in refused.err
    psql(f"UPDATE rag.jobs SET status = 'parked' WHERE id = '{job['id']}'", urlsplit(database).path[1:])
    assert "queued" in cairn("jobs", "retry", job["id"]).out
    assert "cancelled" in cairn("jobs", "cancel", job["id"]).out
    unknown = cairn("jobs", "show", str(new_id()))
    assert (unknown.code, unknown.out) == (1, "")
    assert cairn("jobs", "show", "nonsense").code == 2


def test_deeds_are_listed_newest_first(cairn: Cairn, library: Path) -> None:
    assert cairn("ingest", library / "guide.md").code == 0
    assert cairn("graph", "export", "--output", library / "graph.xml").code == 0
    assert cairn("cache", "--clear").code == 0
    actions = [event["action"] for event in cairn("audit", "--json").json]
    assert actions[:2] == ["cache.clear", "graph.export"]
    assert sorted(actions[2:]) == ["analyst.grant", "tenant.create"]
    [line] = cairn("audit", "--action", "graph").out.splitlines()
    assert line.split("  ")[1:] == ["local", "graph.export", "default"]
    assert cairn("audit", "--caller", "key:none").out == ""
    assert cairn("audit", "--since", "2999-01-01").out == ""
    assert len(cairn("audit", "--since", "2000-01-01", "--limit", "2").out.splitlines()) == 2
    assert cairn("audit", "--since", "yesterday").code == 2


def test_the_cache_is_shown_and_emptied(cairn: Cairn, library: Path) -> None:
    assert cairn("ingest", library / "guide.md").code == 0
    before = cairn("cache", "--json").json
    for _ in range(2):
        assert cairn("search", "pile of stones").code == 0
    after = cairn("cache", "--json").json
    assert [after[name] - before[name] for name in ("hits", "misses", "size")] == [1, 1, 1]
    assert "1 result that can answer now" in cairn("cache").out
    assert cairn("cache", "--clear", "--collection", "unknown").code == 1
    assert cairn("cache", "--collection", "default").code == 2
    assert cairn("cache", "--clear", "--collection", "default").out == "1 cached result removed.\n"
    assert cairn("cache", "--clear", "--json").json == {"deleted": 0}
