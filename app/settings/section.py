"""What every section of settings is."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """Base of every section: camelCase in the file, snake_case in Python, nothing unknown, nothing mutable."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        strict=True,
    )


Price = Annotated[float, Field(ge=0)]
