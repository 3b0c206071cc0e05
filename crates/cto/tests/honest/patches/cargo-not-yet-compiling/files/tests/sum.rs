use roman::sum;

#[test]
fn a_sum_is_a_numeral() {
    assert_eq!(sum(["X", "IV"]).unwrap(), "XIV");
}

#[test]
fn too_much_is_an_error() {
    assert!(sum(["MMM", "M"]).is_err());
}
