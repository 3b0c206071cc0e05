//! The engine at work, and its results: supervision to its end, its claims, its captured
//! result.

pub(crate) mod claims;
pub(crate) mod engines;
pub(crate) mod result;
