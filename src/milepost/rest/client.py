"""The client of a running job's REST interface; turns failures into errors of Milepost."""

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
_MAX_RESPONSE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The client of one job."""

    address: str
    token: str = field(repr=False)
    certificate: str | None = None
    """The PEM file that the server's certificate is verified with, if no public authority signed it."""

    def get(self, path: str) -> dict[str, Any]:
        """Return the body of a response."""
        return self._request("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a body and return the body of the response."""
        return self._request("POST", path, dict(body))

    def patch(self, path: str) -> dict[str, Any]:
        """Change the job itself."""
        return self._request("PATCH", path, None)

    def job_id(self) -> str:
        """Return the id of the job at the address."""
        return str(self.get("/jobs")["jobs"][0]["id"])

    def wait(self, path: str, look: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Wait for an operation and return its result, or raise if it failed."""
        while True:
            answer = self.get(path)
            if answer["status"]["id"] == "COMPLETED":
                operation: dict[str, Any] = answer["operation"] or {}
                _require_success(operation)
                return operation
            look()
            time.sleep(_POLL)

    def _request(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            text = response.read(_MAX_RESPONSE)
        except ssl.SSLError as error:
            raise self._certificate_error(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise NotReachableError(
                f"No job answers at {self.address}",
                why=str(error) or type(error).__name__,
                fix="List the running jobs with `milepost list`",
            ) from error
        finally:
            connection.close()
        return self._parse_response(response.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT, context=self._tls_context())
        return http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)

    def _tls_context(self) -> ssl.SSLContext:
        try:
            trusted = ssl.create_default_context(cafile=self.certificate)
        except OSError as error:
            raise ConfigError(
                f"The certificate {self.certificate} cannot be used",
                why=error.strerror or str(error),
                fix="Set a PEM file that this user can read",
            ) from None
        if self.certificate is not None:
            # The server's own certificate is accepted like that of its issuer.
            trusted.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        trusted.minimum_version = ssl.TLSVersion.TLSv1_2
        return trusted

    def _parse_response(self, status: int, text: bytes) -> dict[str, Any]:
        try:
            document = json.loads(text) if text else {}
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise NotReachableError(
                f"{self.address} is not a Milepost job",
                why=f"its response ({status}) is not a JSON object",
                fix="Check the address",
            )
        if status < 400:
            return document
        raise self._error_for(status, " ".join(map(str, document.get("errors", ()))))

    def _error_for(self, status: int, sentence: str) -> Exception:
        if status == 401:
            return ConfigError(
                f"The job at {self.address} does not accept this token",
                fix="Pass the token of this run: --token-file, MILEPOST_TOKEN, or the address that `run` printed",
            )
        if status == 404:
            return NotReachableError(sentence or f"{self.address} does not have this resource")
        if status < 500:
            return ConfigError(f"The job refused the request: {sentence}")
        return JobFailedError(f"The job at {self.address} responded with {status}: {sentence}")

    def _certificate_error(self, error: ssl.SSLError) -> NotReachableError:
        return NotReachableError(
            f"The certificate of {self.address} cannot be verified",
            why=str(error),
            fix="Set MILEPOST_CA_FILE to the PEM file of its certificate, or of the authority that signed it",
        )


def split_address(text: str) -> tuple[str, str | None] | None:
    """Return the address and the token of a text such as `run` prints, or None if it is not an address."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    token = parse_qs(parts.query).get("token", [None])[0]
    return f"{parts.scheme}://{parts.netloc}", token


def _require_success(operation: Mapping[str, Any]) -> None:
    cause = operation.get("failure-cause") or operation.get("failureCause")
    if cause:
        raise JobFailedError(str(cause.get("stack-trace", "The operation failed")))
