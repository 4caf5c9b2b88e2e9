"""How state is shown: exact numbers, structs by the names of their fields."""

from __future__ import annotations

import json

from milepost.cli.inspect.state import (
    answer_json,
    answer_text,
    views_json,
    views_text,
)
from milepost.inspect.state import QueryResult, StateView

ANSWER = QueryResult(
    ["customer", "orders", "value"],
    [
        '{"customer":"a","orders":12,"value":{"sum":12345678901234567890.10,"seen":[true,null]}}',
        '{"customer":null,"orders":3,"value":null}',
    ],
    is_cut=True,
)


def view() -> StateView:
    return StateView("state_0", "stateStoreSave", "key struct<customer:string>, partition_id bigint")


def test_rows_as_a_person_reads_them() -> None:
    assert answer_text(ANSWER).splitlines() == [
        "customer  orders  value",
        "a             12  {sum: 12345678901234567890.10, seen: [true, null]}",
        "null           3  null",
    ]


def test_rows_as_json_keep_every_digit() -> None:
    text = answer_json(ANSWER, 7)
    document = json.loads(text)
    assert "12345678901234567890.10" in text
    assert (document["checkpoint"], document["cut"], document["columns"]) == (7, True, list(ANSWER.columns))
    assert [row["orders"] for row in document["rows"]] == [12, 3]


def test_the_views_and_their_columns() -> None:
    text = views_text([view()], 7)
    assert "state_0  stateStoreSave  key struct<customer:string>, partition_id bigint" in text
    assert text.endswith("Of checkpoint 7.")
    assert json.loads(views_json([view()], 7)) == {
        "checkpoint": 7,
        "views": [
            {
                "view": "state_0",
                "operator": "stateStoreSave",
                "columns": "key struct<customer:string>, partition_id bigint",
            }
        ],
    }
