from calc import *


def test_double():
    assert double(2) == 4


assert double
