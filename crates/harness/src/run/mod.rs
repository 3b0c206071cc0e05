//! An open run, whatever it is at: its file, lease and kill switch, the record of its sandboxes, and the programs it supervises.

pub(crate) mod availability;
pub(crate) mod file;
pub(crate) mod halt;
pub(crate) mod harness;
pub(crate) mod journal;
pub(crate) mod lease;
pub(crate) mod look;
pub(crate) mod posture;
pub(crate) mod quarters;
pub(crate) mod sandboxes;
pub(crate) mod scan;
pub(crate) mod standing;
pub(crate) mod stated;
pub(crate) mod supervise;

#[cfg(test)]
pub(crate) mod tests;
