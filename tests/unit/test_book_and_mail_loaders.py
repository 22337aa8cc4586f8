"""Notebooks, books and mails: what their loaders make of real files."""

from __future__ import annotations

import pytest

from cairn.domain.document import LoadedDocument
from cairn.errors import EncryptedDocumentError, ParseError
from cairn.ingest.loaders import load, sniff
from cairn.settings import IngestSettings
from tests import office_files as files

LIMITS = IngestSettings()


def read(content: bytes, name: str = "x") -> LoadedDocument:
    return load(content, sniff(name, content), LIMITS)


# --- notebooks ------------------------------------------------------------------------------------------------------


def test_a_notebook_is_its_cells() -> None:
    frame = "<table><tr><th></th><th>a</th></tr><tr><th>0</th><td>1</td></tr></table>"
    content = files.notebook(
        {"cell_type": "markdown", "source": ["# Bees\n", "They are **counted** here. ![plot](attachment:x.png)"]},
        {
            "cell_type": "code",
            "source": ["df = load()\n", "df.head()"],
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31m42\x1b[0m bees\n"]},
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": ["a"], "text/html": [frame], "image/png": "iVBO"},
                },
                {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["long"]},
                {"output_type": "stream", "text": "line of a log\n" * 500},
            ],
        },
        {"cell_type": "code", "source": "%%bash\nls", "outputs": []},
        {"cell_type": "raw", "source": "raw # text"},
        {"cell_type": "markdown", "source": 7},
    )
    loaded = read(content, "a.ipynb")
    head, _, rest = loaded.text.partition("line of a log")
    assert head == (
        "# Bees\nThey are **counted** here. \n\n```python\ndf = load()\ndf.head()\n```\n\n```\n42 bees\n```\n\n"
        "|  | a |\n| --- | --- |\n| 0 | 1 |\n\n```\nValueError: bad\n```\n\n```\n"
    )
    assert rest.endswith("\n…\n```\n\n```bash\n%%bash\nls\n```\n\nraw # text")
    assert len(rest) < 1100
    assert loaded.markup == "markdown"


def test_old_notebooks_are_read() -> None:
    content = (
        b'{"nbformat": 3, "metadata": {"name": "Old one"}, "worksheets": [{"cells": [{"cell_type": "heading", "level": 2,'
        b' "source": ["Top"]}, {"cell_type": "code", "language": "python", "input": ["1 + 1"], "outputs":'
        b' [{"output_type": "pyout", "text": ["2"]}]}]}]}'
    )
    loaded = read(content, "a.ipynb")
    assert (loaded.text, loaded.title) == ("## Top\n\n```python\n1 + 1\n```\n\n```\n2\n```", "Old one")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"cells": [', "no valid JSON"),
        (b'{"nbformat": 4,\n<<<<<<< HEAD\n"cells": []', "merge conflict"),
        (b'{"a": 1}', "no notebook"),
        (b"[1, 2]", "no notebook"),
        (b'{"nbformat": 4, "cells": []}', "no cell with text"),
        (b'{"cells": ' + b"[" * 200_000, "nested too deep"),
        (b"import os", "no valid JSON"),
    ],
)
def test_what_is_no_notebook_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        read(content, "a.ipynb")


# --- books ----------------------------------------------------------------------------------------------------------

XHTML = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'


def test_a_book_is_its_chapters_in_the_order_of_the_spine() -> None:
    table = "<table><tr><th>River</th><th>km</th></tr><tr><td>Nile</td><td>6650</td></tr></table>"
    content = files.book(
        {
            "z one.xhtml": XHTML.format(f'<h1>Chapter One</h1><a id="x"/><p>The Nile&#160;is long.</p>{table}'),
            "a.xhtml": XHTML.format("<p>The Rhine is shorter.</p>"),
            "empty.xhtml": XHTML.format(""),
        },
        contents=XHTML.format('<nav><ol><li><a href="a.xhtml#top">Chapter <b>Two</b></a></li></ol></nav>'),
    )
    loaded = read(content, "a.epub")
    assert loaded.text == (
        "# Chapter One\n\nThe Nile is long.\n\n| River | km |\n| --- | --- |\n| Nile | 6650 |\n\n"
        "# Chapter Two\n\nThe Rhine is shorter."
    )
    assert loaded.title == "The Book of Rivers"


def test_protected_books_say_so_and_scrambled_fonts_are_none() -> None:
    def protected(algorithm: str) -> bytes:
        keys = f'<encryption><EncryptedData><EncryptionMethod Algorithm="{algorithm}"/></EncryptedData></encryption>'
        return files.book({"a.xhtml": XHTML.format("<p>Text.</p>")}, extra={"META-INF/encryption.xml": keys})

    with pytest.raises(EncryptedDocumentError, match="DRM"):
        read(protected("http://www.w3.org/2001/04/xmlenc#aes256-cbc"))
    assert read(protected("http://www.idpf.org/2008/embedding")).text == "Text."


def test_a_book_without_its_chapters_says_so() -> None:
    with pytest.raises(ParseError, match="names no chapter"):
        read(files.book({}))


# --- mails ----------------------------------------------------------------------------------------------------------


def test_a_mail_is_its_headers_and_its_text() -> None:
    message = files.mail(
        "Hello Bob,\n\nplease order 12 chairs.\n\nOn Thu, Bob wrote:\n> How many?\n", subject="Größe of the order"
    )
    message.add_alternative("<p>Hello Bob,</p><p>please order <b>12</b> chairs.</p>", subtype="html")
    loaded = read(message.as_bytes(), "a.eml")
    assert loaded.text == (
        "# Größe of the order\n\n- From: Ann Poe <ann@example.org>\n- To: bob@example.org\n- Date: 2024-05-17 10:00 +0200\n\n"
        "Hello Bob,\n\nplease order 12 chairs.\n\nOn Thu, Bob wrote:\n\n> How many?"
    )
    assert loaded.title == "Größe of the order"


@pytest.mark.parametrize(
    ("plain", "page", "kept"),
    [
        (
            "See the table.",
            "<table><tr><th>Item</th><th>n</th></tr><tr><td>Chair</td><td>12</td></tr></table>",
            "| Chair | 12 |",
        ),
        ("View online", "<p>" + "A long text of a letter. " * 5 + "</p>", "long text"),
        ("All of it is here.", "<p>All of it is <i>here</i>.</p>", "All of it is here."),
        ("", "<p>Only here.</p>", "Only here."),
    ],
)
def test_the_better_one_of_two_renderings_is_taken(plain: str, page: str, kept: str) -> None:
    message = files.mail(plain)
    message.add_alternative(page, subtype="html")
    assert kept in read(message.as_bytes(), "a.eml").text


def test_attachments_are_read_or_named() -> None:
    message = files.mail()
    message.add_attachment(files.workbook(), maintype="application", subtype="octet-stream", filename="Größe.xlsx")
    message.add_attachment("x = 1\n", filename="a.py")
    message.add_attachment(b"\x89PNG\r\n\x1a\n\x00\x00", maintype="image", subtype="png", filename="p.png")
    message.add_attachment(b"PK\x03\x04 cut off", maintype="application", subtype="zip", filename="a.docx")
    message.add_attachment(files.mail("Inner words.", "Forwarded"))
    loaded = read(message.as_bytes(), "a.eml")
    assert "## Attachment: Größe.xlsx\n\n#### Sales\n\n| Region | 2023 | 2024 |" in loaded.text
    assert "## Attachment: a.py\n\n```python\nx = 1\n```" in loaded.text
    assert "## Forwarded\n\n- From: Ann" in loaded.text
    assert "Attachments that were not read: p.png (a PNG image); a.docx (the file is damaged" in loaded.text


def test_headers_that_keep_to_no_standard_are_read() -> None:
    content = "From: Jörg <j@example.org>\nSubject: =?no-such-charset?Q?x?= Übung\nDate: yesterday\n\nText.".encode()
    text = read(content, "a.eml").text
    assert "From: Jörg <j@example.org>" in text
    assert "Übung" in text
    assert "Date: yesterday" in text


def test_lines_that_a_mail_program_broke_are_joined() -> None:
    message = files.mail()
    message.set_content("One sentence that \nwas broken.\n> quoted \n> words\n-- \nAnn\n", params={"format": "flowed"})
    assert read(message.as_bytes(), "a.eml").text.endswith("One sentence that was broken.\n\n> quoted\n> words\n\nAnn")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Yes.\n\n-- \nAnn Poe\nSales\n", "Yes.\n\nAnn Poe\nSales"),
        ("Yes.\n> How many?\nTwelve.\n> When?\n> Where?\n", "Yes.\n\n> How many?\n\nTwelve.\n\n> When?\n> Where?"),
        ("Ann\n\n> On 12 Nov 2024, Bob wrote:\n> Help.\n", "Ann\n\nOn 12 Nov 2024, Bob wrote:\n\n> Help."),
        ("> Note:\n> two\n", "> Note:\n> two"),
        ("a\n---\nb\n", "a\n\\---\nb"),
    ],
)
def test_what_is_quoted_and_who_signs_stand_apart(written: str, text: str) -> None:
    assert read(files.mail(written).as_bytes(), "a.eml").text.partition("+0200\n\n")[2] == text


def test_an_encrypted_mail_says_so() -> None:
    content = (
        b'From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/encrypted; boundary="x"\n\n--x\n\nv\n--x--\n'
    )
    with pytest.raises(EncryptedDocumentError, match="decrypted"):
        read(content, "a.eml")
