"""The command `cairn`: options in, cairn.interfaces.cli out. Modules are imported by the command that needs them.

Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 the database is newer than this code, 130 Ctrl-C, 141 the
reader of a pipe went away. An error is one line on stderr.
"""

from __future__ import annotations

import copy
import functools
import gc
import os
import sys
from collections.abc import Coroutine, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from cairn.interfaces.cli import collections, documents, evaluate, graph, jobs, keys, models, sources, tenants

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
    help="Answers questions from your own documents, with citations that can be checked, out of one PostgreSQL.",
)  # fmt: skip

INTERRUPTED = 130
PIPE_CLOSED = 141
GARBAGE_OBJECTS = 100_000
"""More than were freed, after which a command looks for garbage: with Python's 700 that is .2 s of `cairn ask`, most of it while
modules are imported, which are no garbage. The server has its own."""

app.add_typer(evaluate.group, name="eval")
app.add_typer(models.group, name="models")
app.add_typer(jobs.group, name="jobs")
app.add_typer(keys.group, name="keys")
app.add_typer(sources.group, name="sources")
app.add_typer(collections.group, name="collections")
app.add_typer(documents.group, name="documents")
app.add_typer(graph.group, name="graph")
app.add_typer(tenants.group, name="tenant")
app.add_typer(tenants.group, name="tenants", hidden=True)  # what it was called before


class SearchFusion(StrEnum):
    relative_score = "relative_score"
    rrf = "rrf"


class SearchMode(StrEnum):
    hybrid = "hybrid"
    text = "text"
    vector = "vector"
    lexical = "lexical"
    graph = "graph"


Collection = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Default: rag.collectionName (default).")
]
Reader = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        "-r",
        metavar="WHO",
        help="Who may read these documents: group:NAME, person:SUBJECT, key:ID; repeat it.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Words = Annotated[list[str], typer.Argument(metavar="TEXT", help="Words or a question; quotes are not needed.")]


def _version(wanted: bool) -> None:
    if not wanted:
        return
    from cairn.distribution import release

    print(f"cairn {release()}")
    raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Without CAIRN_DATABASE_URL, commands start a PostgreSQL of their own under CAIRN_HOME."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address (CAIRN_HOST, 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port (CAIRN_PORT, 8000).")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave jobs to `cairn worker`.")] = False,
) -> int:
    """Serve the HTTP API; its description is at /docs."""
    from cairn.interfaces.cli import operate

    return operate.serve(host, port, not no_worker)


@app.command()
def mcp() -> int:
    """Serve the Model Context Protocol over stdin and stdout, for a client that starts it."""
    from cairn.interfaces.cli.mcp import serve_stdio

    return serve_stdio()


@app.command()
def worker() -> int:
    """Run jobs (indexing of uploads) until stopped."""
    from cairn.interfaces.cli import operate

    return operate.work()


@app.command()
def migrate(
    sql: Annotated[bool, typer.Option("--sql", help="Print the statements for an empty database instead.")] = False,
    distribute: Annotated[
        bool, typer.Option("--distribute", help="Spread it by tenant over the nodes of its Citus cluster, for good.")
    ] = False,
) -> int:
    """Bring the database up to date; serve does so by itself."""
    from cairn.interfaces.cli import operate

    return _run(operate.migrate(sql, distribute))


@app.command()
def status(json: Json = False) -> int:
    """Is all well, and what is there to do? Changes nothing; exit code 1 where something is wrong."""
    from cairn.interfaces.cli.status import status as run

    return _run(run(json))


@app.command()
def backup(file: Annotated[Path, typer.Argument(metavar="FILE", help="Must not exist.")]) -> int:
    """Write all data of all tenants to one file, while others go on working."""
    from cairn.interfaces.cli import operate

    return _run(operate.backup(file))


@app.command()
def restore(file: Annotated[Path, typer.Argument(metavar="FILE", help="What cairn backup wrote.")]) -> int:
    """Fill an empty database, or an empty CAIRN_HOME, from a backup."""
    from cairn.interfaces.cli import operate

    return _run(operate.restore(file))


@app.command()
def sql(
    statement: Annotated[
        str | None, typer.Argument(metavar="STATEMENT", help="Run it, print the result and end.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the result as CSV.")] = False,
    url: Annotated[bool, typer.Option("--url", help="Print the address for other tools instead.")] = False,
) -> int:
    """Read everything in SQL: psql, as an analyst who may read schema analyst and nothing else."""
    from cairn.interfaces.cli.sql import sql as run

    if csv and statement is None:
        raise typer.BadParameter("--csv goes with a statement")
    return run(statement, csv, url)


@app.command()
def ingest(
    sources: Annotated[
        list[str], typer.Argument(metavar="PATH|URL...", help="Files, folders with all below them, addresses of pages.")
    ],
    collection: Collection = None,
    json: Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every file.")] = False,
    prefix: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the ids of these documents begin with.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of other files with the same ids.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents whose files are gone from these paths.")
    ] = False,
    reader: Reader = None,
) -> int:
    """Index documents: PDF, Word, HTML, Markdown, text, source code. Unchanged ones cost nothing. Pages come from hosts of the
    setting urls.allowedHosts only."""
    from cairn.interfaces.cli.ingest import ingest as run

    return _run(run(sources, collection, json, verbose, prefix=prefix, replace=replace, prune=prune, access=reader))


@app.command()
def prepare(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, and folders with all below them.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the Parquet files; others may write to it too.")],
    prefix: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the ids of these documents begin with.")
    ] = None,
    json: Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every file that is left aside.")] = False,
) -> int:
    """Read, cut and embed documents into Parquet files, without a database; `cairn load` indexes them. Unchanged ones cost
    nothing."""
    from cairn.interfaces.cli.bulk import prepare as run

    return _run(run(paths, out.expanduser().absolute(), prefix, json, verbose))


@app.command()
def load(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What cairn prepare wrote, or others in its format.")],
    collection: Collection = None,
    json: Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every document.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of other files with the same ids.")
    ] = False,
) -> int:
    """Index prepared documents. What is there already costs nothing, so a run that was broken off is run again."""
    from cairn.interfaces.cli.bulk import load as run

    return _run(run(folder, collection, json, verbose, replace=replace))


@app.command()
def watch(
    folder: Annotated[Path, typer.Argument(metavar="PATH", help="A folder.")],
    collection: Collection = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the ids of these documents begin with.")
    ] = None,
    reader: Reader = None,
) -> int:
    """Keep a collection as a folder is: what is added, changed and removed there, until stopped."""
    from cairn.interfaces.cli import watch as command

    return command.watch(folder, collection, prefix, reader)


@app.command()
def search(
    text: Words,
    collection: Collection = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=200, help="Passages to show.")] = 10,
    mode: Annotated[
        SearchMode | None, typer.Option(help="By words, by meaning, by both (text), by the graph, or by all (default).")
    ] = None,
    fusion: Annotated[
        SearchFusion | None, typer.Option(help="How legs are merged; default: the setting retrieve.fusion.")
    ] = None,
    json: Json = False,
) -> int:
    """Find passages."""
    from cairn.interfaces.cli.search import search as run

    query = " ".join(text)
    return _run(
        run(query, collection, top_k, mode.value if mode else None, fusion.value if fusion else None, as_json=json)
    )


@app.command()
def ask(
    text: Words,
    collection: Collection = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto chooses by the question; fast, enhanced, react, iterative, planned, corrective or one of an installed "
            "package always retrieves.",
        ),
    ] = "auto",
    session: Annotated[
        str | None, typer.Option("--session", "-s", metavar="ID", help="Conversation that it belongs to.")
    ] = None,
    json: Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show how the message was understood.")] = False,
) -> int:
    """Answer a question from the documents, with citations. `cairn ask PATH "question in quotes"` reads the files of PATH first,
    into the collection of its name; what it read before costs nothing."""
    from cairn.interfaces.cli.ask import ask as run

    return _run(run(text, collection, strategy, session, json, verbose))


@app.command()
def chat(
    session: Annotated[
        str | None, typer.Option("--session", "-s", metavar="ID", help="Go on with this one; default: a new one.")
    ] = None,
    collection: Collection = None,
) -> int:
    """Talk with the documents, a line at a time; /quit ends. Also reads from a pipe."""
    from cairn.interfaces.cli.chat import chat as run

    return _run(run(session, collection))


@app.command()
def history(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Id of a conversation.")],
    delete: Annotated[bool, typer.Option("--delete", help="Delete it instead, also in traces.")] = False,
    json: Json = False,
) -> int:
    """Show what was said in a conversation."""
    from cairn.interfaces.cli.chat import history as run

    return _run(run(session, delete, json))


@app.command()
def feedback(
    run: Annotated[UUID, typer.Argument(metavar="RUN", help="Id of the run, as the answer has it.")],
    rating: Annotated[int, typer.Option(min=-1, max=1, help="-1 bad, 0 neither, 1 good.")],
    comment: Annotated[str | None, typer.Option(help="In your own words.")] = None,
) -> int:
    """Say what you think of an answer; replaces what was said of it before."""
    from cairn.interfaces.cli.ask import feedback as judge

    return _run(judge(run, rating, comment))


@app.command()
def prove(
    run: Annotated[UUID | None, typer.Argument(metavar="RUN", help="Id of the run, as the answer has it.")] = None,
    texts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the text of each cited document there as well.")
    ] = None,
    verifier: Annotated[
        bool, typer.Option("--verifier", help="Print the program that checks proofs instead; it needs Python alone.")
    ] = False,
) -> int:
    """Print the proof of an answer: question, answer, quoted words and where they stand, hashes of the documents, settings,
    models and rows, as JSON that can be checked without Cairn."""
    from cairn.interfaces.cli import prove as command

    if verifier:
        return command.print_verifier()
    if run is None:
        raise typer.BadParameter("name the run, as the answer does: cairn prove RUN > proof.json")
    return _run(command.prove(run, texts))


@app.command()
def reindex(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION")],
    force: Annotated[bool, typer.Option("--force", help="Also documents that would come out as they are.")] = False,
) -> int:
    """Cut and embed all documents of a collection anew, with the settings in force."""
    return models.reindex(collection, force)


@app.command()
def reread(
    collection: Annotated[
        str | None, typer.Argument(metavar="[COLLECTION]", help="Default: all collections.", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Read documents anew that an earlier release read, from their kept files."""
    return models.reread(collection, json)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Empty it; never needed for fresh results.")] = False,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="With --clear: only what was found in it.")
    ] = None,
    json: Json = False,
) -> int:
    """What the retrieval cache did, or empty it."""
    from cairn.interfaces.cli import search as command

    if collection is not None and not clear:
        raise typer.BadParameter("--collection goes with --clear: counts are those of all collections")
    return _run(command.clear(collection, json) if clear else command.show(json))


@app.command()
def audit(
    action: Annotated[
        str | None, typer.Option(metavar="NAME", help="One (collection.delete), or all of a kind (collection).")
    ] = None,
    caller: Annotated[str | None, typer.Option(metavar="ID", help="Only what this one did, such as local.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Not before it.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, newest first.")] = 50,
    json: Json = False,
) -> int:
    """Show who did what when: deletions, exports, keys, grants, settings, models, backups."""
    from cairn.interfaces.cli.audit import audit as run

    return _run(run(action, caller, since, limit, json))


Person = Annotated[
    str, typer.Argument(metavar="PERSON", help="person:<subject of a token> or key:<id>; a bare name is a person's.")
]


@app.command("export")
def export_person(
    person: Person,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Must not exist; default: stdout.")
    ] = None,
    tenant: keys.Tenant = None,
) -> int:
    """Write all that is kept because of a person, as JSON Lines: conversations, runs, feedback, keys, usage, audit."""
    from cairn.interfaces.cli import persons

    return _run(persons.export(person, out, tenant))


@app.command("forget")
def forget_person(
    person: Person,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tenant: keys.Tenant = None,
    json: Json = False,
) -> int:
    """Remove all that is kept because of a person, and their keys; the audit log keeps what was done, without their name."""
    from cairn.interfaces.cli import persons

    return _run(persons.forget(person, dry_run, yes, json, tenant))


@app.command()
def demo(
    docs: Annotated[Path | None, typer.Argument(help="Your files; default: Cairn's own documents.")] = None,
) -> int:
    """Index documents, ask three questions, print cited answers."""
    from cairn.interfaces.cli.demo import demo as run

    return _run(run(docs))


def _run(work: Coroutine[Any, Any, int]) -> int:
    import asyncio

    return asyncio.run(work)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    gc.set_threshold(GARBAGE_OBJECTS, 20, 20)
    code = run(list(sys.argv[1:] if arguments is None else arguments))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = PIPE_CLOSED
    if code == PIPE_CLOSED:
        # what is still buffered has no reader; the interpreter would complain about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of a command; every expected error becomes one line on stderr."""
    from cairn.errors import CairnError

    command = command_named(arguments[0] if arguments else None)
    try:
        with command.make_context("cairn", arguments or ["--help"]) as context:
            return command.invoke(context) or 0
    except typer.Exit as end:
        return end.exit_code
    except CairnError as error:
        return _fail(error.detail, error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return PIPE_CLOSED
    except Exception as error:
        if not hasattr(error, "format_message"):  # a bug: its stack trace is what helps
            raise
        return _fail(f"{error.format_message().rstrip('.')}; see cairn --help", 2)


@functools.cache
def command_named(name: str | None) -> typer.core.TyperGroup:
    """`cairn` with the command or the group of that name alone, and with all where none has it: making all of them, with their
    options, takes .07 s of a processor."""
    asked = copy.copy(app)
    asked.registered_commands = [one for one in app.registered_commands if _name_of(one) == name]
    asked.registered_groups = [one for one in app.registered_groups if one.name == name]
    return typer.main.get_group(asked if asked.registered_commands or asked.registered_groups else app)


def _name_of(command: typer.models.CommandInfo) -> str | None:
    return command.name or (command.callback and typer.main.get_command_name(command.callback.__name__))


def _fail(text: str, code: int) -> int:
    print(f"cairn: {' '.join(text.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
