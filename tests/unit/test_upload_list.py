"""What is told of a file that is under way."""

from __future__ import annotations

from typing import Any, cast
from uuid import uuid4

from nicegui import Client, ui
from nicegui.page import page as path

from cairn.domain.job import WaitingFile
from cairn.interfaces.web.frame import Page
from cairn.interfaces.web.session import Session
from cairn.interfaces.web.texts import texts_in
from cairn.interfaces.web.upload_list import UploadList, _follow


async def test_a_large_file_says_how_much_of_it_is_done_without_being_drawn_anew() -> None:
    async def changed() -> None: ...

    job = uuid4()
    with Client(path("/")) as client:
        shown = UploadList(Page(cast(Session, None), texts_in("de")), changed)
        shown.draw()
        shown.begin("one", [("ten-k.pdf", 3_000_000)])
        shown.take("one", job)
        assert "Wartet" in _said(client), "nobody has looked for its place yet"
        files = shown._batches["one"].files
        told: dict[str, Any] = {
            "job_id": job,
            "external_id": "ten-k.pdf",
            "byte_size": 3_000_000,
            "running": True,
            "ahead": 0,
        }
        seen = []
        for status, share in (("parsing", None), ("parsing", 0.4), ("embedding", 0.25), ("embedding", 0.5)):
            _follow(files, WaitingFile(**told, done=0, place=1, status=status, error=None, share=share))
            shown._show()
            seen.append((_said(client)[-1], shown._bar.value, set(client.elements)))
    assert [one[:2] for one in seen] == [("", 0), ("40%", 0), ("25%", 0.25), ("50%", 0.5)]
    assert (seen[0][2], seen[2][2]) == (seen[1][2], seen[3][2]), "what is read is not torn away"


def _said(client: Client) -> list[str]:
    return [one.text for one in client.elements.values() if isinstance(one, ui.label)]
