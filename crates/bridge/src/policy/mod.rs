//! The rules for a request: the admitted model, the permitted content of a body, limits and
//! prices.

pub(crate) mod admission;
pub(crate) mod limits;
pub(crate) mod price;
pub(crate) mod rules;
