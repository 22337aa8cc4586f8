"""Index a folder and ask a question about it, in one process: no server, no model service, no key.

python examples/ask_a_folder.py ~/papers "What limits the recall of the index?"
"""

import asyncio
import sys

import cairn


async def main(folder: str, question: str) -> None:
    async with cairn.open() as rag:
        report = await rag.ingest(folder, collection="example", on_progress=show)
        for failed in report.failed:
            print(f"could not be read: {failed.external_id}: {failed.error}", file=sys.stderr)

        answer = await rag.ask(question, collection="example")
        print(answer.answer)
        for citation in answer.citations:
            place = f"page {citation.page}" if citation.page else " > ".join(citation.headings)
            print(f"[{citation.n}] {citation.external_id} {place}: {citation.quote}")
        print(f"{answer.confidence_word or answer.answered} ({answer.confidence:.0%})")


def show(done: int, total: int, name: str) -> None:
    print(f"{done} of {total}: {name}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        asyncio.run(main(*sys.argv[1:]))
    except cairn.CairnError as error:
        sys.exit(f"{error.code}: {error.detail}")
