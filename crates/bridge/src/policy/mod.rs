//! The rules for a request: the admitted model, what a body may ask for, limits and prices.

pub(crate) mod admission;
pub(crate) mod limits;
pub(crate) mod price;
pub(crate) mod rules;
