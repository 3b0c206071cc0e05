//! Documents of stage 6, each about other bundles.

pub mod comparison;
pub mod refresh;
