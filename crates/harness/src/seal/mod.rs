//! Turns a captured result into a sealed bundle: verification, proofs of stages, report; also
//! of a run that died.

pub(crate) mod dead;
pub(crate) mod landing;
pub(crate) mod proof;
pub(crate) mod report;
pub(crate) mod verification;
