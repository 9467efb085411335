"""Reading a package index, and which one is read."""

import pytest

from redraft.models.index import DEFAULT_INDEX, index_url


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, DEFAULT_INDEX),
        ({"PIP_INDEX_URL": ""}, DEFAULT_INDEX),
        ({"PIP_INDEX_URL": "http://pip"}, "http://pip"),
        ({"PIP_INDEX_URL": "http://pip", "UV_INDEX_URL": "http://uv"}, "http://uv"),
        ({"UV_INDEX_URL": "http://uv", "UV_DEFAULT_INDEX": "http://new"}, "http://new"),
    ],
    ids=["none set", "an empty variable", "pip's", "uv's over pip's", "uv's newer name first"],
)
def test_the_index_is_the_one_the_installer_uses(environ, url):
    assert index_url(environ) == url
