"""Speaks to a running job over its REST interface, and says in a sentence where it cannot."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from milepost.errors import ConfigError, JobFailedError, NotReachableError

TIMEOUT = 10.0
_POLL = 0.2
_LONGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One job at one address."""

    address: str
    token: str = field(repr=False)
    certificate: str | None = None
    """What the server must prove itself with, where no authority vouches for it."""

    def get(self, path: str) -> dict[str, Any]:
        """Return the body of an answer."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for something and return the answer's body."""
        return self._ask("POST", path, dict(body))

    def patch(self, path: str) -> dict[str, Any]:
        """Change the job itself."""
        return self._ask("PATCH", path, None)

    def job_id(self) -> str:
        """Return the id of the job that answers there."""
        return str(self.get("/jobs")["jobs"][0]["id"])

    def wait(self, path: str, look: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Wait for the end of an operation and return what came of it; raise where that is a failure."""
        while True:
            answer = self.get(path)
            if answer["status"]["id"] == "COMPLETED":
                operation: dict[str, Any] = answer["operation"] or {}
                _require_success(operation)
                return operation
            look()
            time.sleep(_POLL)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            text = response.read(_LONGEST)
        except ssl.SSLError as error:
            raise self._untrusted(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise NotReachableError(
                f"No job answers at {self.address}",
                why=str(error) or type(error).__name__,
                fix="Look with `milepost list` what is running",
            ) from error
        finally:
            connection.close()
        return self._answer(response.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT, context=self._trusted())
        return http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)

    def _trusted(self) -> ssl.SSLContext:
        try:
            trusted = ssl.create_default_context(cafile=self.certificate)
        except OSError as error:
            raise ConfigError(
                f"The certificate {self.certificate} cannot be used",
                why=error.strerror or str(error),
                fix="Name a PEM file that this user can read",
            ) from None
        if self.certificate is not None:
            # The server's own certificate is as good as that of who signed it.
            trusted.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        trusted.minimum_version = ssl.TLSVersion.TLSv1_2
        return trusted

    def _answer(self, status: int, text: bytes) -> dict[str, Any]:
        try:
            document = json.loads(text) if text else {}
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise NotReachableError(
                f"{self.address} is not a job of Milepost",
                why=f"its answer ({status}) is no JSON object",
                fix="Check the address",
            )
        if status < 400:
            return document
        raise self._refused(status, " ".join(map(str, document.get("errors", ()))))

    def _refused(self, status: int, sentence: str) -> Exception:
        if status == 401:
            return ConfigError(
                f"The job at {self.address} does not accept this token",
                fix="Give the token of this run: --token-file, MILEPOST_TOKEN, or the address that `run` has printed",
            )
        if status == 404:
            return NotReachableError(sentence or f"{self.address} does not know this")
        if status < 500:
            return ConfigError(f"The job refuses: {sentence}")
        return JobFailedError(f"The job at {self.address} answers {status}: {sentence}")

    def _untrusted(self, error: ssl.SSLError) -> NotReachableError:
        return NotReachableError(
            f"{self.address} cannot be trusted",
            why=str(error),
            fix="Name in MILEPOST_CA_FILE the PEM file of its certificate, or of the authority that has signed it",
        )


def split_address(text: str) -> tuple[str, str | None] | None:
    """Return address and token of a text such as `run` prints, or None where it is no address."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    token = parse_qs(parts.query).get("token", [None])[0]
    return f"{parts.scheme}://{parts.netloc}", token


def _require_success(operation: Mapping[str, Any]) -> None:
    cause = operation.get("failure-cause") or operation.get("failureCause")
    if cause:
        raise JobFailedError(str(cause.get("stack-trace", "The operation failed")))
