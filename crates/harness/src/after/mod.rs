//! Acts on sealed runs and on the home: archives, retention, taking a patch, verifying
//! again, recovery, the audit of the ledger.

pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod collection;
pub(crate) mod gc;
pub(crate) mod lanes;
pub(crate) mod pack;
pub(crate) mod person_statements;
pub(crate) mod recover;
pub(crate) mod reverify;
pub(crate) mod rollback;
pub(crate) mod scan_files;
pub(crate) mod stage6;
pub(crate) mod take;
