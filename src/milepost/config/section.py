"""A section of the configuration: frozen, strict about its keys, and with its secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from milepost.config.reading.faults import KEY_FAULTS, KeyFault, findings, without_secrets
from milepost.config.values.secret import MASK, Secret, secrets_in
from milepost.config.values.units import format_duration
from milepost.errors import ConfigError, ConfigFault

if TYPE_CHECKING:
    from typing_extensions import Self


def kebab_case(name: str) -> str:
    """Return the key of a field."""
    return name.replace("_", "-")


class Section(BaseModel):
    """A mapping with a fixed set of keys, in kebab-case in the file and in snake_case in Python."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=kebab_case,
        validate_by_alias=True,
        validate_by_name=True,
        hide_input_in_errors=True,
    )

    _secrets: tuple[Secret, ...] = PrivateAttr(())
    _hidden: frozenset[str] = PrivateAttr(frozenset())

    def __init__(self, /, **values: Any) -> None:
        """Validate the values; raises ConfigError with every fault."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _config_error(type(self), error, values) from None

    # Marks __init__ as pydantic's own: nested sections are validated without it, and their faults are
    # collected instead of raised one by one.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def find_faults(self) -> Iterator[KeyFault]:
        """Yield the faults that only show when keys are checked together.

        Called after every key has passed its own validation.
        """
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _validate_keys(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        self = handler(data)
        faults = list(self.find_faults())
        if isinstance(data, Mapping):
            # A secret may have been converted to a number or a duration, so its key is remembered too.
            names = {kebab_case(str(key)) for key, value in data.items() if isinstance(value, Secret)}
            fields = type(self).model_fields.items()
            self._hidden = frozenset(n for n, field in fields if (field.alias or n) in names or n in names)
            self._secrets = tuple(secrets_in(data))
            if (info.context or {}).get("is_file"):
                faults += cls._find_snake_case(data)
        if faults:
            raise PydanticCustomError(KEY_FAULTS, "keys cannot be combined", {"faults": faults})
        return self

    @classmethod
    def _find_snake_case(cls, data: Mapping[Any, Any]) -> Iterator[KeyFault]:
        """Refuse keys in snake_case: a file has one spelling."""
        for name, field in cls.model_fields.items():
            if name in data and name != field.alias:
                yield KeyFault((name,), f"is not a known key; did you mean {field.alias}?")

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, MASK if name in self._hidden else value

    def redacted(self) -> dict[str, Any]:
        """Return the effective settings without secrets, with the keys of the file."""
        shown: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None:
                shown[field.alias or name] = MASK if name in self._hidden else _to_plain(value)
        return shown

    def secrets(self) -> Iterator[Secret]:
        """Yield every secret in this section and its nested sections."""
        yield from self._secrets
        for name in type(self).model_fields:
            yield from _secrets_of(getattr(self, name))


def _secrets_of(value: Any) -> Iterator[Secret]:
    if isinstance(value, Section):
        yield from value.secrets()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _secrets_of(item)
    else:
        yield from secrets_in(value)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Section):
        return value.redacted()
    if isinstance(value, Mapping):
        return {key: _to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, timedelta):
        return format_duration(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _config_error(section: type[Section], error: ValidationError, values: Any) -> ConfigError:
    secrets = list(secrets_in(values))
    found = [without_secrets(f, secrets) for f in findings(error, section, values)]
    faults = [ConfigFault(f.place, f.message) for f in found]
    return ConfigError(f"{section.__name__} is not valid", faults=faults)
