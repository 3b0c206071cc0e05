//! The exam: the environment that a tree is judged in, the checks that are held on it, and
//! the products it may carry. It judges the baseline before an engine starts and the result
//! afterwards, by the same code.

pub(crate) mod copy;
pub(crate) mod environment;
pub(crate) mod exam;
pub(crate) mod products;
