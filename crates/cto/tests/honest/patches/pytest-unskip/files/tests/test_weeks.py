import pytest

from slugline import dates


def test_every_stamp_has_a_week():
    assert dates.parse_stamp("2024-05-01").isocalendar()[1] == 18


@pytest.mark.skip(reason="week is not written yet")
@pytest.mark.parametrize(
    ("stamp", "week"), [("2024-05-01", "2024-W18"), ("2021-01-03", "2020-W53"), ("2024-01-01", "2024-W01")]
)
def test_week(stamp, week):
    assert dates.week(stamp) == week
