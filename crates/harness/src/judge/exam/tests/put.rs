use tree::{Listing, ListingEntry, Oid, PathMode};

use super::super::put;

#[test]
fn what_stands_in_the_way_of_the_exam_makes_room() {
    let entry = |mode| ListingEntry { mode, oid: Oid([0; 20]) };
    let listing =
        |paths: &[&str]| Listing(paths.iter().map(|path| (path.as_bytes().to_vec(), entry(PathMode::File))).collect());
    for (before, after) in [
        (&["a", "tests"][..], &["a", "tests/x/y.py"][..]),
        (&["tests/x"], &["tests/x/y.py"]),
        (&["tests/x/y.py/z", "tests/x/y.py/deep/er", "tests/x/y.pyc"], &["tests/x/y.py", "tests/x/y.pyc"]),
        (&["tests/x/z.py"], &["tests/x/y.py", "tests/x/z.py"]),
    ] {
        let mut exam = listing(before);
        put(&mut exam, b"tests/x/y.py".to_vec(), entry(PathMode::File));
        assert_eq!(exam, listing(after), "{before:?}");
    }
}
