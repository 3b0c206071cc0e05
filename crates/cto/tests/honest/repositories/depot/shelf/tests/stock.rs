use shelf::Shelf;
use units::Grams;

#[test]
fn an_empty_shelf_carries_nothing() {
    assert_eq!(Shelf::default().load(), Grams(0));
}

#[test]
fn a_thing_lies_there_once() {
    let mut shelf = Shelf::default();
    shelf.put("nail", Grams(4));
    shelf.put("nail", Grams(5));
    assert_eq!(shelf.load(), Grams(5));
}
