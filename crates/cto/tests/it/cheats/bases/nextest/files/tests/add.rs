#[test]
fn sum() {
    assert_eq!(calc::add(1, 2), 3);
}

#[test]
fn zero() {
    assert_eq!(calc::add(0, 0), 0);
}
