"""Flink's shape of an error."""

from __future__ import annotations

from milepost.rest.server.refusal import Refusal, errors


def test_one_sentence_in_flinks_shape():
    assert Refusal(404, "Not found.").body() == errors("Not found.") == {"errors": ["Not found."]}
