"""The TypeScript client as it is committed, under Node, against a real server; and that it is what its source says."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from keyed import make_keys
from serving import REPO, serving

from tests.waiting import patience

NODE = shutil.which("node")
CLIENT = REPO / "clients" / "typescript"
PROGRAMS = Path(__file__).parent / "clients"
TSC = CLIENT / "node_modules" / ".bin" / "tsc"

needs_node = pytest.mark.skipif(NODE is None, reason="TYPESCRIPT CLIENT NOT TESTED: there is no node (20 or newer)")


def run_node(program: str, *arguments: str) -> Any:
    """What a program of tests/surface/clients/ prints, read as JSON."""
    done = subprocess.run(
        [NODE or "", str(PROGRAMS / program), *arguments],
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def run_shown_program(folder: Path, **environment: str) -> str:
    """What the program of docs/clients.md prints, which is JavaScript as it stands."""
    text = (REPO / "docs" / "clients.md").read_text(encoding="utf-8")
    program = text.partition("```ts\n")[2].partition("```")[0]
    client = (CLIENT / "dist" / "index.js").as_uri()
    placed = program.replace('"cairn-client"', f'"{client}"').replace(
        '"http://127.0.0.1:8000"', "process.env.CAIRN_URL"
    )
    assert placed.count(client) == placed.count("process.env.CAIRN_URL") == 1
    (folder / "shown.mjs").write_text(placed, encoding="utf-8")
    command = [NODE or "", str(folder / "shown.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(60), check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_node
def test_the_client_does_all_of_it(fresh_database: Callable[[], str], tmp_path: Path, model: Path) -> None:
    dsn = fresh_database()
    keys = make_keys(dsn, str(tmp_path / "keys"))
    with serving(dsn, tmp_path / "api", CAIRN_AUTH="keys", CAIRN_MODEL_DIR=str(model)) as api:
        told = run_node("typescript_client.mjs", api.url, keys.victim, keys.without["ask"])
        shown = run_shown_program(tmp_path, CAIRN_API_KEY=keys.victim, CAIRN_URL=api.url)
    assert "Employees have 30 days of leave per year." in shown
    assert "\nyes: 0." in shown or "\nunsure: 0." in shown or "\nno: 0" in shown
    assert told["uploaded"] == [["leave.md", "added"]]
    assert told["failed"] == ["bad.pdf"]
    assert told["indexed"] == ["pay"]
    assert told["documents"] == [["bad.pdf", "failed"], ["leave.md", "indexed"], ["pay", "indexed"]]
    assert told["left_documents"] == ["bad.pdf", "leave.md"]
    assert told["metadata"] == {"team": "people"}
    assert told["collections"] == ["handbook"]
    assert "30 days" in told["answer"]
    assert told["quote"] == "Employees have 30 days of leave per year."
    assert (told["parts"], told["included"]) == ([], ["sources", "route"])
    assert told["found"] == ["leave.md"]
    assert told["events"][0] == "run"
    assert told["events"][-1] == "answer"
    assert told["sources"][0] == "leave.md"
    assert told["streamed"] == told["ended"] == told["answer"]
    errors = told["errors"]
    assert {name: error[:3] for name, error in errors.items()} == {
        "missing": ["CairnError", 404, "not-found"], "invalid": ["CairnError", 422, "invalid-input"],
        "keyless": ["CairnError", 401, "unauthenticated"], "weak": ["CairnError", 403, "forbidden"],
        "stream": ["CairnError", 404, "not-found"], "aborted": ["AbortError", None, 20],
        "abortedInTheMiddle": ["AbortError", None, 20], "nobody": ["UnreachableError", None, None],
    }  # fmt: skip
    assert "nowhere" in errors["missing"][3]
    assert errors["missing"][4], "the request's id"


FRAMES = (
    'event: run\r\ndata: {"run_id": "r", "strategy": "fast"}\r\nid: 1\r\n\r\n: silence\n\n'
    'event: token\ndata: {"text": "größer\u2028als "}\nid: 2\n\nevent: token\ndata: {"text": "gedacht"}\n\n'
).encode()
ANSWER = b'event: answer\ndata: {"answer": "x"}\n\nevent: token\ndata: {"text": "never"}\n\n'
FAILED = b'event: error\ndata: {"status": 503, "code": "stopping", "detail": "stopping", "retry_after": 30}\n\n'


@contextmanager
def pieces(*parts: bytes, status: int = 200, **headers: str) -> Iterator[str]:
    """The address of a server that answers with them, one by one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            for part in parts:
                self.wfile.write(part)
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.siege
@needs_node
def test_a_stream_is_read_however_it_is_cut_and_one_that_breaks_is_an_error() -> None:
    each = [(FRAMES + ANSWER)[n : n + 1] for n in range(len(FRAMES + ANSWER))]
    with (
        pieces(*each) as whole,
        pieces(FRAMES) as broken,
        pieces(FRAMES, FAILED) as failed,
        pieces(b"data: {\n\n") as other,
        pieces(b'{"code": "stop', status=503, content_length="900", retry_after="9") as refused,
    ):
        told = run_node("typescript_stream.mjs", whole, broken, failed, other, refused)
    begun = ["run", "größer\u2028als ", "gedacht"]
    assert told[:3] == [
        [*begun, "answer"], [*begun, "UnreachableError: the connection ended before the answer"],
        [*begun, "CairnError: stopping, again in 30 s"],
    ]  # fmt: skip
    for cut in told[3:]:
        assert cut[0].startswith("UnreachableError: no answer from the server: ")


@pytest.mark.siege
@needs_node
def test_what_is_committed_is_what_a_strict_compiler_makes_of_the_source(tmp_path: Path) -> None:
    if not TSC.exists():
        pytest.skip(f"TYPESCRIPT NOT COMPILED: there is no {TSC}; `npm ci` in clients/typescript brings it")
    done = subprocess.run(
        [str(TSC), "-p", str(CLIENT), "--outDir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=patience(120),
        check=False,
    )
    assert done.returncode == 0, done.stdout
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text() for path in (CLIENT / "dist").iterdir()}, "npm run build"


@pytest.mark.siege
@needs_node
def test_the_widget_that_is_served_is_what_its_source_says(tmp_path: Path) -> None:
    folder = REPO / "clients" / "widget"
    tools = folder / "node_modules" / ".bin"
    if not (tools / "esbuild").exists():
        pytest.skip(f"WIDGET NOT COMPILED: there is no {tools / 'esbuild'}; `npm ci` in clients/widget brings it")
    build: str = json.loads((folder / "package.json").read_text())["scripts"]["build"]
    served = REPO / "app" / "cairn" / "interfaces" / "http" / "widget.js"
    command, _, place = build.rpartition("--outfile=")
    assert (folder / place).resolve() == served
    for part in f"{command}--outfile={tmp_path / 'widget.js'}".split(" && "):
        name, *arguments = part.split()
        done = subprocess.run(
            [str(tools / name), *arguments],
            capture_output=True,
            text=True,
            timeout=patience(120),
            check=False,
            cwd=folder,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "widget.js").read_text() == served.read_text(), "npm run build in clients/widget"
