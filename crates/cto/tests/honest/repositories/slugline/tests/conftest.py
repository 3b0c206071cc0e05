import pytest


@pytest.fixture
def titles():
    return ["Hello, World", "  spaced   out  ", "Crème brûlée", "100% sure?"]
