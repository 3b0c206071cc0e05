//! The set that the scanner is measured with, and others beside it.

pub(crate) mod encode;
pub(crate) mod kinds;
pub(crate) mod lookalike;
pub(crate) mod planted;
pub(crate) mod random;
