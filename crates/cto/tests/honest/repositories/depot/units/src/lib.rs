//! Weights.

/// A weight in grams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Grams(pub u64);

impl Grams {
    pub fn of_kilos(kilos: u64) -> Self {
        Self(kilos * 1000)
    }
}

impl std::ops::Add for Grams {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

#[allow(dead_code)]
fn pounds(grams: Grams) -> f64 {
    grams.0 as f64 / 453.59237
}

#[allow(dead_code)]
fn stones(grams: Grams) -> f64 {
    pounds(grams) / 14.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilos() {
        assert_eq!(Grams::of_kilos(2), Grams(2000));
    }

    #[test]
    fn sum() {
        assert_eq!(Grams(1) + Grams(2), Grams(3));
    }
}
