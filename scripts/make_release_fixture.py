"""Writes down what this release leaves behind, for the tests of those that come after it. RELEASING.md says when.

    python scripts/make_release_fixture.py

tests/data/releases/VERSION.dump.gz     a small database with documents, code, a table, a PDF, a conversation, graph and traces
tests/data/releases/VERSION.json        what its users see in it (tests/release_state.py)
app/cairn/settings/released/VERSION.json    its defaults, by which copies of them are known

Made anew it has other ids and times, so both files of a database belong together.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from tests import release_state  # noqa: E402
from tests.pdf_files import Sheet, pdf_file  # noqa: E402

LEAVE: Final = """# Leave

Employees have 30 days of leave per year. A manager approves leave. Up to 5 days may be carried over into the next year.

# People

Ada Lovelace met Charles Babbage in London. Ada Lovelace leads the Analytical Engine Company.
"""
PRICES: Final = "Item,Price,Since\nTea,3.50,2024-01-05\nCoffee,4.20,2023-02-01\nCake,5.00,2022-07-19\n"
CODE: Final = """import json


class ConfigReader:
    def read_config(self, path):
        return json.loads(path.read_text())


def main(path):
    return ConfigReader().read_config(path)
"""


def write_documents(folder: Path) -> None:
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE)
    (folder / "prices.csv").write_text(PRICES)
    (folder / "config.py").write_text(CODE)
    sheet = Sheet()
    sheet.text(50, 60, "Storms", size=18)
    sheet.text(50, 100, "The storm on the coast destroyed the harbour of Brest in 1987.")
    (folder / "storm.pdf").write_bytes(pdf_file(sheet))


async def make(home: Path) -> None:
    from release import read_version

    from cairn.db import runtime
    from cairn.db.backup import dump
    from cairn.db.embedded import ensure_running
    from cairn.service.files import ingest_files, select_files
    from cairn.settings import SettingsStore, read_environment
    from cairn.wiring import open_services

    environment = read_environment({"CAIRN_HOME": str(home)})
    with await asyncio.to_thread(ensure_running, home) as server:
        async with open_services(environment, SettingsStore()) as services:
            report = await ingest_files(
                services, release_state.COLLECTION, select_files([home.parent / "handbook"]), lambda _: None
            )
            if len(report.indexed) != 4:
                raise SystemExit(f"not all was indexed: {report.failed}")
            for text in release_state.QUESTIONS:
                print(f"{text} {(await release_state.question(services, text, release_state.SESSION)).answer}")
        file = home.parent / "database.dump"
        await dump(server.dsn(), file, binaries=server.home / "postgres" / runtime.VERSION)
        async with open_services(environment, SettingsStore()) as services:
            found = await release_state.describe(services)
            answer = await release_state.question(services, release_state.FOLLOW_UP, release_state.SESSION)
            found["follow_up"] = {"answer": answer.answer, "cited": release_state.cited(answer)}
            print(f"{release_state.FOLLOW_UP} {answer.answer}")
    if found["first"] != release_state.QUERIES:
        raise SystemExit(f"other documents are found than should be: {found['first']}")
    kept = release_state.FOLDER / f"{read_version()}.dump.gz"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    described = json.dumps(found, ensure_ascii=False, sort_keys=True)
    kept.with_name(f"{read_version()}.json").write_text(f"{described}\n", encoding="utf-8")
    shutil.copy(REPO / "settings.json", REPO / "app" / "cairn" / "settings" / "released" / f"{read_version()}.json")
    print(f"{kept.relative_to(REPO)}: {kept.stat().st_size / 1000:.0f} kB")


def main() -> None:
    os.environ["CAIRN_EMBEDDING_MODEL"] = "all-MiniLM-L6-v2"  # with which the tests are quick
    with tempfile.TemporaryDirectory(prefix="cairn-release-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # root's server is another user
        write_documents(folder / "handbook")
        asyncio.run(make(folder / "home"))


if __name__ == "__main__":
    main()
