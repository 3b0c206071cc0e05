//! Rows of a test: each is checked, also after one that fails, so that `cargo xtask reverted` can count those that a defence holds.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Checks every named row, then fails with a line `row NAME` for each that did not hold.
pub fn each_row<N: Display, R>(rows: impl IntoIterator<Item = (N, R)>, mut check: impl FnMut(R)) {
    let mut checked = 0;
    let mut failed = Vec::new();
    for (name, row) in rows {
        checked += 1;
        if catch_unwind(AssertUnwindSafe(|| check(row))).is_err() {
            failed.push(format!("row {name}"));
        }
    }
    assert!(checked > 0, "there is no row");
    assert!(failed.is_empty(), "{} of {checked} rows failed\n{}", failed.len(), failed.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(rows: &[(&str, bool)]) -> Option<String> {
        let held = catch_unwind(|| each_row(rows.iter().copied(), |holds| assert!(holds)));
        held.err().and_then(|panic| panic.downcast::<String>().ok()).map(|text| *text)
    }

    #[test]
    fn every_row_that_fails_is_named() {
        let rows = [("a b", false), ("c", true), ("d", false)];
        assert_eq!(failure(&rows).as_deref(), Some("2 of 3 rows failed\nrow a b\nrow d"));
        assert_eq!(failure(&[("c", true)]), None);
        assert!(catch_unwind(|| each_row([("", ()); 0], |()| ())).is_err());
    }
}
