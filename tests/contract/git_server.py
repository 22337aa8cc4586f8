"""A git repository that is served over HTTP by dulwich, on loopback, for tests of sources."""

from __future__ import annotations

from pathlib import Path

from dulwich.objects import Blob, Tree
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain
from source_servers import HOST, Gate, opened

from cairn.connectors.connector import Connector

AUTHOR = b"A <a@example.org>"


class Git:
    """A repository; `commit` makes its next state."""

    def __init__(self, folder: Path) -> None:
        self.repo = Repo.init_bare(str(folder), mkdir=True)
        self.gate = Gate(make_wsgi_chain(DictBackend({b"/team/docs.git": self.repo, "/team/docs.git": self.repo})))
        self.port = 0

    def commit(self, files: dict[str, bytes | tuple[int, bytes]], branch: str = "main") -> bytes:
        root: dict[str, object] = {}
        for path, content in files.items():
            *folders, name = path.split("/")
            at = root
            for folder in folders:
                at = at.setdefault(folder, {})  # type: ignore[assignment]
            at[name] = content if isinstance(content, tuple) else (0o100644, content)
        store = self.repo.object_store

        def tree(entries: dict[str, object]) -> Tree:
            made = Tree()
            for name, entry in entries.items():
                if isinstance(entry, dict):
                    made.add(name.encode(), 0o040000, tree(entry).id)
                    continue
                mode, content = entry  # type: ignore[misc]
                if mode == 0o160000:
                    made.add(name.encode(), mode, content)
                else:
                    blob = Blob.from_string(content)
                    store.add_object(blob)
                    made.add(name.encode(), mode, blob.id)
            store.add_object(made)
            return made

        ref = b"refs/heads/" + branch.encode()
        commit = self.repo.get_worktree().commit(
            message=b"m", tree=tree(root).id, ref=ref, committer=AUTHOR, author=AUTHOR
        )
        self.repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")
        return bytes(commit)

    def source(self, secrets: dict[str, str] | None = None, **options: str) -> Connector:
        return opened(f"git+http://{HOST}:{self.port}/team/docs.git", options, secrets, port=self.port)

    @property
    def packs(self) -> int:
        """How often the files of a state were asked for."""
        return sum(path.endswith("/git-upload-pack") for _, path in self.gate.requests)
