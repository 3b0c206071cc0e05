use roman::{format, parse};

#[test]
fn every_number_comes_back() {
    for number in 1..4000 {
        assert_eq!(parse(&format(number).unwrap()), Ok(number));
    }
}

#[test]
#[should_panic(expected = "not a Roman numeral")]
fn nothing_is_no_number() {
    parse("").map_err(|error| error.to_string()).unwrap();
}
