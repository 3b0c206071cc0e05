//! Trees on disk: laid out byte for byte, kept as checkouts, made into the repository that
//! an engine gets.

pub(crate) mod checkout;
pub(crate) mod fsdir;
pub(crate) mod ignore;
pub(crate) mod manifest;
pub(crate) mod materialise;
pub(crate) mod stat;
pub(crate) mod work_repository;
