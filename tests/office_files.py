"""Small real files of the formats that people have, made by the libraries that write them, or by hand."""

from __future__ import annotations

import json
import zipfile
from base64 import b64decode
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from io import BytesIO
from typing import Any
from zlib import decompress

import openpyxl
from pptx import Presentation
from pptx.util import Inches


def zipped(entries: Mapping[str, Any]) -> bytes:
    """An archive whose first entry stands uncompressed, as EPUB and OpenDocument want it."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for at, (name, content) in enumerate(entries.items()):
            archive.writestr(name, content, zipfile.ZIP_DEFLATED if at else zipfile.ZIP_STORED)
    return out.getvalue()


def saved(document: Any) -> bytes:
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def workbook(fill: Callable[[Any], object] | None = None, *, sheet: str = "Sales") -> bytes:
    """One sheet that `fill` writes."""
    book = openpyxl.Workbook()
    book.active.title = sheet
    if fill:
        fill(book.active)
    else:
        book.active.append(["Region", "2023", "2024"])
        book.active.append(["North", 1200, 1300])
    return saved(book)


OLD_WORKBOOK = decompress(
    b64decode(
        "eNrtWE1oE0EU/mY3aX5smh/TQiuUULBqbQXx4qVdrdWeEqIe/EHQtMlBUhIJ24MetFpzFARPipdCPXipevGHelBB8CBUFBQEIdGjJ0HBQ5v1zdtZ"
        "TGuEBrRQ3W+ZN2/efDPzdud359VCtDJzr6uKFRiCjpoVQEudTVAIOIkIKN+ypOrEfgqWi3WFgJ86ssWL+dBLn+xD2d9VaLjreUoS+EjhBM4gVSzk"
        "EmuIYfYhI6QPgyQFbpKlDZ3sVYzlOMuNLO8w8zHLPWy5wnKQuBVxHAtGqm+3GsVHtR7Oa4Os9wGXec+WnWjHCzmKL1wVNteLvaXTmYl1ltHtacUs"
        "qENHc4VcSabDuIUgcIwwkEwOjIxUEKfOnsU3KwF8dWb1k4RrX1u7ANm/L7f7fmP3UyeutF/TPMAUrFM8ScoIocMjc7w4bBbH84vYQSo4kD2dKZmk"
        "7itOFkxKDhcnTB1ITZo+Zcxlg3KV51UhsmxVCPFsaSWZRZj1KM+ZCLm1ePvL6+RY2jjJlineCez9YrN0DxYuyhJUuI1z2EPm9rHczvIS17qJ9S6W"
        "cfKb4t50u1IOTDPnMuf2Uju7GG+MLXX6VtLLnw8+7C5/MraRPjdaPRefe2fMoIf2ryyVl880+kW/uHFd4pHhxEKtLR9Ydv6yzvi1iPLdUptiGEty"
        "ZhGiLO2U/DpC8UUDvmC+rPG8FmR/ongWs/laA77GfF3x7a8/v8Hm6w34OvM9iq9Dvtfb5xqGtBjuy8polfyJIFy4cOHChQsXLlz8HxDqHK6rU7lX"
        "nfZ96l5niULNvSb5Z3EIRXpM+qncjwLFJZxtavx0wCucusQqyzj3hRJHqPUS8hhjP/JNj1/6WxP177PqgpE/N4Wabb/WjJ9/uf0fLWLZjg=="
    )
)
"""An .xls file: Part, Count; Bolt, 1200; Nut, 7.5; Counted, 2024-05-17."""


def presentation() -> bytes:
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text = "Quarterly review"
    first.placeholders[1].text = "Finance team"
    second = deck.slides.add_slide(deck.slide_layouts[1])
    second.shapes.title.text = "Goals"
    frame = second.placeholders[1].text_frame
    frame.text = "Grow revenue"
    inner = frame.add_paragraph()
    inner.text, inner.level = "in Europe", 1
    second.notes_slide.notes_text_frame.text = "Mention the Paris office."
    third = deck.slides.add_slide(deck.slide_layouts[5])
    third.shapes.title.text = "Numbers"
    table = third.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for row, texts in enumerate([["", "2023", "2024"], ["Revenue", "10", "12"], ["Cost", "8", "7"]]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    return saved(deck)


def notebook(*cells: Mapping[str, Any], **metadata: Any) -> bytes:
    info = {"language_info": {"name": "python"}, **metadata}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": info, "cells": cells}).encode()


def book(chapters: Mapping[str, str], *, contents: str = "", extra: Mapping[str, str] | None = None) -> bytes:
    """An EPUB of these files in this order. `contents`: a navigation document."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
    )
    items = "".join(
        f'<item id="i{at}" href="{name.replace(" ", "%20")}" media-type="application/xhtml+xml"/>'
        for at, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="i{at}"/>' for at in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>The Book of Rivers</dc:title></metadata><manifest>{items}"
        '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    pages = {f"OEBPS/{name}": text for name, text in chapters.items()}
    return zipped(
        {
            "mimetype": "application/epub+zip", "META-INF/container.xml": container, "OEBPS/content.opf": package,
            "OEBPS/nav.xhtml": contents or "<html/>", **pages, **(extra or {}),
        }
    )  # fmt: skip


def mail(text: str = "Please order 12 chairs.", subject: str = "Order", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ann Poe <ann@example.org>", "bob@example.org", subject
    message["Date"] = headers.pop("Date", "Fri, 17 May 2024 10:00:00 +0200")
    message["Message-ID"] = "<1@example.org>"
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    return message


_NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"'
    for name, full in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"))
)


def open_text(body: str, *, declaration: str = "", extra: Mapping[str, str] | None = None) -> bytes:
    """An OpenDocument text with this body."""
    content = (
        f'<?xml version="1.0"?>{declaration}<office:document-content {_NAMESPACES}><office:body><office:text>{body}'
        "</office:text></office:body></office:document-content>"
    )
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, **(extra or {})})


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
