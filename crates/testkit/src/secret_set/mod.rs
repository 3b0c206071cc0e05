//! The set that the secret scanner is measured with, and others beside it.
//!
//! Made without looking at the rules: each of the kinds is written after what its vendor says about its form (`kinds`), with
//! values from a fixed seed, and planted in five encodings into text such as runs leave behind (`planted`). What must not be
//! found is text of the same look without a secret in it: digests, ids, public keys, lock files, minified code, placeholders
//! (`lookalike`).

pub mod encode;
pub mod kinds;
pub mod lookalike;
pub mod planted;
pub mod random;
