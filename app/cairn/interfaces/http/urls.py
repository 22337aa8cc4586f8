"""Pages that the server fetches by their addresses."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import ConfigDict, FailFast, Field

from cairn.interfaces.http.collections import CollectionName
from cairn.interfaces.http.models import Body, JobOut, Metadata, job_out
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service.urls import MAX_URLS, fetch_later

router = APIRouter(tags=["documents"], route_class=TypedRoute)


class UrlsBody(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"urls": ["https://docs.example.org/leave.html"], "metadata": {"team": "people"}}]
        },
    )

    urls: Annotated[list[str], FailFast(), Field(min_length=1, max_length=MAX_URLS)] = Field(
        description="Addresses of pages and files; each is, without a fragment, the external id of its document."
    )
    metadata: Metadata = Field({}, description="Stored with each document.")


@router.post("/collections/{name}/urls", status_code=202, summary="Fetch pages by their addresses")
async def fetch_urls(name: CollectionName, body: UrlsBody, services: ServicesDep, response: Response) -> JobOut:
    """By a job, one after another; its result is that of an upload. Only from hosts of the setting `urls.allowedHosts` (at first
    none): 422 for another one, with nothing fetched. A page that cannot be had, or of a private network, fails alone."""
    job = await fetch_later(services, name, body.urls, body.metadata)
    response.headers["Location"] = f"/jobs/{job.id}"
    return job_out(job)
