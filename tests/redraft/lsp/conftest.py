"""Texts that several tests edit."""

import json
from typing import Any

import pytest

SHOP = '''\
"""A shop."""


def total(items):
    amount = 0
    for item in items:
        amount += item.price * item.count
    return amount


class Cart:
    def add(self, item):
        self.items.append(item)

    def size(self):
        return len(self.items)
'''


@pytest.fixture
def shop() -> str:
    return SHOP


def script(**what: Any) -> str:
    """An instruction for the scripted model."""
    return json.dumps(what)
