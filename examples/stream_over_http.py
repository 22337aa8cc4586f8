"""Ask a running Cairn (`cairn serve`) over HTTP, and print the answer as it is written. Needs httpx2, and nothing of the server.

CAIRN_URL=http://127.0.0.1:8000 python examples/stream_over_http.py handbook "How many days of leave are there?"
"""

import sys

from cairn.client import Answered, CairnError, Client, Progress, Token


def main(collection: str, question: str) -> None:
    with Client() as client:
        for event in client.stream(question, collection=collection):
            if isinstance(event, Progress):
                print(f"... {event.message}", file=sys.stderr)
            elif isinstance(event, Token):
                print(event.text, end="", flush=True)
            elif isinstance(event, Answered):
                # the checked text counts, where it differs from what was shown on the way
                print(f"\n\n{event.answer.answer}")
                for citation in event.answer.citations:
                    print(f"[{citation.n}] {citation.external_id}: {citation.quote}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except CairnError as error:
        sys.exit(f"{error.code}: {error.detail}")
