"""Of a manual and its change log the manual answers what is so, from reading to quoting."""

from __future__ import annotations

from cairn.domain.document import Indexed, Source
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.runs.choose import Route
from cairn.runs.context import Record, Run
from cairn.runs.gather import gather
from cairn.runs.run import understand_question
from cairn.service.ask import deps_for
from cairn.service.documents import index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = SHARED

LOG = "# Changelog\n\n" + "\n\n".join(
    f"## 1.{n}.0 (20{10 + n}-03-02)\n\n- Finished jobs are kept for {n + 2} days by default.\n- The log of a job has a time."
    for n in range(1, 9)
)
MANUAL = (
    "# Jobs\n\nFinished jobs are deleted every night, unless they are kept. By default, finished jobs are kept for fourteen "
    "days. This can be changed with the option `keep_days`.\n"
)
ASKED = "How long are finished jobs kept by default?"


async def index(services: Services, collection: str, **texts: str) -> None:
    for name, text in texts.items():
        [outcome] = await index_now(services, collection, [Source(f"{name}.md", f"{name}.md", text.encode())])
        assert isinstance(outcome, Indexed), outcome


async def test_a_manual_says_what_is_so(services: Services) -> None:
    """Though the log says it more often."""
    await index(services, "jobs", changelog=LOG, manual=MANUAL)
    answer = await answered(services, ASKED, collection="jobs")
    assert [one.external_id for one in answer.citations[:1]] == ["manual.md"]


async def test_where_there_is_no_manual_a_change_log_answers(services: Services) -> None:
    await index(services, "logs", changelog=LOG)
    answer = await answered(services, ASKED, collection="logs")
    assert [one.external_id for one in answer.citations[:1]] == ["changelog.md"]


async def test_manuals_are_read_before_change_logs(services: Services) -> None:
    """Though logs have the words of the question, and a page about something else has hardly any."""
    others = {f"page{n}": f"# Machine {n}\n\nThe press is oiled on Fridays. Jobs are its affair.\n" for n in range(3)}
    await index(
        services, "jobs", **{"changelog": LOG, "release-notes": LOG.replace("Finished", "All finished")}, **others
    )
    asked = Question(ASKED, "jobs", new_id())
    deps, record = deps_for(services, services.settings.current), Record(asked)
    plan = await understand_question(asked, deps, record)
    run = Run(asked, plan, Route("fast", "a test"), deps, record, lambda _: None)
    first = [one.external_id for one in (await gather(run, read=3)).passages]
    assert [name.startswith("page") for name in first] == [True, True, False]
