//! Lists of files, however they are written.

use super::super::files::compare_files;
use super::super::short;

/// Files that did not change, that are unclear, and that are not named.
fn check(named: &[&str], changed: &[&str], wanted: [&[&str]; 3]) {
    let strings = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let found = compare_files(&strings(named), &strings(changed));
    assert_eq!(
        [&found.unchanged, &found.unclear, &found.unnamed],
        [&strings(wanted[0]), &strings(wanted[1]), &strings(wanted[2])],
        "{named:?} in {changed:?}"
    );
}

#[test]
fn lists() {
    for (named, changed, wanted) in [
        (&["a", "b"][..], &["a", "b"][..], [&[][..], &[], &[]]),
        (&["a"], &["a", "b"], [&[], &[], &["b"]]),
        (&["a", "c"], &["a"], [&["c"], &[], &[]]),
        (&[], &[], [&[], &[], &[]]),
        // Ways to write a path.
        (&["./a", "x/../b", "c//d", "a", "./././a"], &["a", "b", "c/d"], [&[], &[], &[]]),
        (&["src\\app.py"], &["src/app.py"], [&[], &[], &[]]),
        (&["a\\b"], &["a\\b"], [&[], &[], &[]]),
        (&["..", "../a", "x/../../a", "", ".", "/"], &["a"], [&["..", "../a", "x/../../a", "", ".", "/"], &[], &["a"]]),
        (&["A"], &["a"], [&["A"], &[], &["a"]]),
        // Absolute paths, under one workspace that is not known.
        (&["/w/repo/src/a", "/w/repo/b"], &["src/a", "b"], [&[], &[], &[]]),
        (&["/w/repo/src/a", "/w/repo/b"], &["src/a"], [&["/w/repo/b"], &[], &[]]),
        (&["/a"], &["a"], [&[], &[], &[]]),
        (&["/../../w/a"], &["a"], [&[], &[], &[]]),
        (&["C:\\w\\src\\a", "C:/w/b"], &["src/a", "b"], [&[], &[], &[]]),
        (&["/w/ba"], &["a"], [&["/w/ba"], &[], &["a"]]),
        // `src/a` did not change, and another place is not found for it because an `a` did.
        (&["/w/src/a", "/w/src/b", "/w/c"], &["a", "src/b", "c"], [&["/w/src/a"], &[], &["a"]]),
        (&["/w/src/a"], &["a", "src/a"], [&[], &[], &["a"]]),
        (&["/one/a", "/two/b"], &["a", "b"], [&["/one/a"], &[], &["a"]]),
        (&["/tmp/note"], &["a"], [&["/tmp/note"], &[], &["a"]]),
        // A folder leaves open which of its files are meant.
        (&["src/", "b"], &["src/a", "src/c", "b"], [&[], &["src/"], &["src/a", "src/c"]]),
        (&["src"], &["srcs/a", "src.py"], [&["src"], &[], &["src.py", "srcs/a"]]),
        // Names with control characters are compared as they are shown.
        (&["a␊b"], &["a\nb"], [&[], &[], &[]]),
    ] {
        check(named, changed, wanted);
    }
}

#[test]
fn a_name_that_was_cut_is_unclear() {
    let long = "d/".repeat(200) + "a";
    let cut = short(&long);
    check(&[&cut], &[&long], [&[], &[&cut], &[&long]]);
}
