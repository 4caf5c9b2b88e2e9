"""Messages in the format of Protocol Buffers; a malformed message raises ValueError."""

from __future__ import annotations

import pytest

from milepost.sink.lookup import protobuf


@pytest.mark.parametrize(("value", "encoded"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_numbers(value: int, encoded: str) -> None:
    assert protobuf.varint(value).hex() == encoded
    assert list(protobuf.fields(protobuf.field(3, value))) == [(3, value)]


def test_fields_come_back_in_their_order() -> None:
    message = protobuf.field(1, b"testing") + protobuf.field(2, 150) + protobuf.field(1, b"")
    assert message.startswith(bytes.fromhex("0a0774657374696e67") + bytes.fromhex("109601"))
    assert list(protobuf.fields(message)) == [(1, b"testing"), (2, 150), (1, b"")]
    assert protobuf.strings(message, 1) == [b"testing", b""]


def test_fixed_widths_are_skipped() -> None:
    message = b"\x09" + bytes(8) + b"\x15" + bytes(4) + protobuf.field(3, 1)
    assert list(protobuf.fields(message)) == [(3, 1)]


def test_a_delimited_message_and_what_follows_it() -> None:
    long = bytes(200)
    assert protobuf.read_delimited(protobuf.delimited(long) + b"rest") == (long, b"rest")


def test_the_last_value_of_a_field_counts() -> None:
    assert protobuf.only(protobuf.field(1, b"a") + protobuf.field(1, b"b"), 1) == b"b"
    with pytest.raises(ValueError, match="field 2 is missing"):
        protobuf.only(protobuf.field(1, b"a"), 2)


@pytest.mark.parametrize("message", [b"\x80", b"\x0a\x05ab", b"\x09\x00", b"\x0b", b"\xff" * 12])
def test_malformed_messages(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"incomplete|unknown wire type"):
        list(protobuf.fields(message))


def test_an_incomplete_delimited_message() -> None:
    with pytest.raises(ValueError, match="incomplete"):
        protobuf.read_delimited(b"\x05abc")
