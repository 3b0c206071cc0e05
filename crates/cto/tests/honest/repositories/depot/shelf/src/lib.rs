//! What lies where.

use std::collections::BTreeMap;

use units::Grams;

/// Things on a shelf, with their weights.
#[derive(Debug, Default)]
pub struct Shelf(BTreeMap<String, Grams>);

impl Shelf {
    /// Puts a thing on the shelf, in place of one of the same name.
    pub fn put(&mut self, name: &str, weight: Grams) {
        self.0.insert(name.to_owned(), weight);
    }

    /// What the shelf carries.
    pub fn load(&self) -> Grams {
        self.0
            .values()
            .fold(Grams::default(), |sum, weight| sum + *weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum() {
        let mut shelf = Shelf::default();
        shelf.put("anvil", Grams::of_kilos(50));
        shelf.put("nail", Grams(4));
        assert_eq!(shelf.load(), Grams(50_004));
    }
}
