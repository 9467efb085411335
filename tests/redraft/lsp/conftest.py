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

# An edit of `area` that needs an import, and one that leaves out a line of it.
AREA = """\
import os
from typing import Any


def area(circle: Any) -> float:
    circle.check()
    return 3.14 * circle.radius**2


print(os.name)
"""
AREA_REPLY = """\
import math
from typing import Any, cast


def area(circle: Any) -> float:
    circle.check()
    return cast(float, math.pi * circle.radius**2)
"""
AREA_NEW = """\
import os
import math
from typing import Any, cast


def area(circle: Any) -> float:
    circle.check()
    return cast(float, math.pi * circle.radius**2)


print(os.name)
"""
AREA_LOSS = """\
def area(circle: Any) -> float:
    return 3.1416 * circle.radius**2
"""
AREA_LOST = AREA.replace("    circle.check()\n", "").replace("3.14", "3.1416")


@pytest.fixture
def shop() -> str:
    return SHOP


def script(**what: Any) -> str:
    """An instruction for the scripted model."""
    return json.dumps(what)
