//! The writer beside the full canonicaliser.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::json;

use super::super::tests::any_value;
use super::*;

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Wrapped(&'static str);

#[derive(Serialize)]
struct Pair(u8, i64);

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Zero,
    One(u16),
    Two(i8, Option<char>),
    Named { to: u64, from: i32, at: Option<bool> },
}

#[derive(Serialize)]
struct Whole {
    z: Unit,
    wrapped: Wrapped,
    a: Pair,
    shapes: Vec<Shape>,
    none: Option<()>,
    map: BTreeMap<String, (u32, i16)>,
    empty: BTreeMap<String, ()>,
    list: [(); 0],
    by_shape: BTreeMap<Shape, bool>,
}

/// Holds the writer beside the full canonicaliser; `is_usual` says which of them writes.
fn check<T: Serialize>(value: &T, is_usual: bool) {
    let expected = serde_json_canonicalizer::to_string(&serde_json::to_value(value).unwrap()).unwrap();
    let written = write_canonical(value).map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(written, is_usual.then(|| expected.clone()));
    assert_eq!(crate::canonical_text(value).unwrap(), expected);
}

#[test]
fn every_kind_of_value_is_written_as_the_standard_says() {
    let map = [("b", (1, -1)), ("a\u{7f}", (2, 2)), ("B", (3, 3)), ("é", (4, 4)), ("", (5, 5))];
    let shapes = || {
        let named = Shape::Named { to: LARGEST, from: -7, at: Some(true) };
        vec![Shape::Zero, Shape::One(1), Shape::Two(-8, Some('"')), Shape::Two(0, None), named]
    };
    let whole = Whole {
        z: Unit,
        wrapped: Wrapped("a \"quoted\"\n\u{0} line \\ é \u{1f600}"),
        a: Pair(255, -9_007_199_254_740_991),
        shapes: shapes(),
        none: None,
        map: map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        empty: BTreeMap::new(),
        list: [],
        by_shape: BTreeMap::from([(Shape::Zero, true)]),
    };
    check(&whole, true);
    check(&vec![&whole, &whole], true);
    check(&"", true);
}

#[test]
fn the_rest_is_for_the_full_canonicaliser() {
    for value in [
        json!(1.5),
        json!(LARGEST + 1),
        json!(i64::MIN),
        json!({"a": {"b": [-0.0]}}),
        json!({"\n": 1, "a": 2}),
        json!({"a\\b": 1}),
        json!({"\u{e000}": 1, "\u{1f600}": 2}),
    ] {
        check(&value, false);
    }
    check(&serde_json::value::RawValue::from_string("{\"b\": 1, \"a\": 2}".to_owned()).unwrap(), false);
    check(&BTreeMap::from([(2, "number"), (10, "key")]), false);
}

#[test]
fn a_member_that_is_there_twice_is_not_written_twice() {
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("a", 1), ("b", 2), ("a", 3)])
        }
    }
    check(&Twice, false);
    check(&json!({"b": 2, "a": 3}), true);
}

proptest! {
    #[test]
    fn any_value_is_written_as_the_full_canonicaliser_writes_it(value in any_value()) {
        let expected = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(crate::canonical_bytes(&value).unwrap(), expected);
    }
}
