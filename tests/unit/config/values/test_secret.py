"""B29: what is secret, and that no text keeps it."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from milepost.config.values.secret import (
    MASK,
    Secret,
    is_sensitive,
    make_secret,
    redact,
    secrets_in,
)

SENSITIVE = [
    "ssl.keystore.password",
    "sasl.jaas.config",
    "fs.azure.account.key",
    "fs.s3a.access.key",
    "spark.hadoop.fs.s3a.accesskey",
    "some.apikey",
    "some.api-key",
    "x.auth-params",
    "x.service-key",
    "oauth.token",
    "basic-auth.user",
    "basic.auth.user.info",
    "x.http-headers",
    "client.secret",
    "hbase.client.keytab.file",
    "aws.credential.provider",
    "sasl.mechanism",
    "ssl.keystore.key.private",
    "PASSWORD",
]


@pytest.mark.parametrize("key", SENSITIVE)
def test_key_is_sensitive(key: str):
    assert is_sensitive(key)


@pytest.mark.parametrize("key", ["row-key", "key-column", "max.poll.records", "client.id", "fetch.min.bytes"])
def test_key_is_not_sensitive(key: str):
    assert not is_sensitive(key)


@pytest.mark.parametrize("value", ["user=a password=b", "http://me:pw@host/x", "my-secret"])
def test_value_makes_it_sensitive(value: str):
    assert is_sensitive("some.setting", value)


def test_secret_is_text_but_its_repr_is_not():
    secret = Secret("hunter2")
    assert secret == "hunter2"
    assert f"{secret}" == "hunter2"
    assert json.dumps(secret) == '"hunter2"'
    assert repr(secret) == repr(MASK)
    assert "hunter2" not in repr({"a": [secret]})


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])  # noqa: S301
def test_copy_stays_secret(copied):
    secret = copied(Secret("user:hunter2", ["hunter2"]))
    assert (type(secret), secret, secret.parts) == (Secret, "user:hunter2", ("hunter2",))


def test_secrets_are_found_at_any_depth():
    tree = {"a": [Secret("one"), "plain"], "b": {"c": (Secret("two"),)}}
    assert list(secrets_in(tree)) == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        'pw is p"ä/ss\nword',
        json.dumps({"pw": 'p"ä/ss\nword'}),
        repr({"pw": 'p"ä/ss\nword'}),
        "http://u:p%22%C3%A4%2Fss%0Aword@host",
        'first line p"ä/ss only',
    ],
)
def test_redact_finds_every_spelling(text: str):
    redacted = redact(text, [Secret('p"ä/ss\nword')])
    assert MASK in redacted
    assert "ss" not in redacted


def test_redact_masks_the_parts_of_a_longer_text():
    secret = Secret("SELECT a FROM b WHERE c = 'hunter2'", ["hunter2"])
    assert redact("near 'hunter2': SELECT a FROM x", [secret]) == f"near '{MASK}': SELECT a FROM x"


def test_redact_masks_the_longest_first():
    assert redact("abcdef", [Secret("abc"), Secret("abcdef")]) == MASK


@pytest.mark.parametrize("word", ["true", "PLAIN", "SCRAM-SHA-512", "0", "a"])
def test_redact_leaves_words_that_are_no_secret(word: str):
    assert redact(f"x {word} y", [Secret(word)]) == f"x {word} y"


def test_redact_masks_such_words_where_they_came_from_outside():
    assert redact("pin 1234", [Secret("1234", ["1234"])]) == f"pin {MASK}"


def test_a_password_inside_a_login_is_hidden_where_it_stands_alone_too():
    login = make_secret('PlainLoginModule required username="u" password="p w;x";')
    assert redact('the login "p w;x" was refused', [login]) == f'the login "{MASK}" was refused'
    assert "p w;x" not in redact(f"sasl.jaas.config = {login!s}", [login])
    assert redact("password=plainly-told", [make_secret("password=plainly-told")]) == MASK
