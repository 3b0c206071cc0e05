//! An open run, whatever it is at: its file, lease and kill switch, the record of its sandboxes, and the programs it supervises.

pub(crate) mod about;
pub(crate) mod attached;
pub(crate) mod availability;
pub(crate) mod bytecode;
pub(crate) mod commit_words;
pub(crate) mod conceal;
pub(crate) mod confinement;
pub(crate) mod continuity;
pub(crate) mod engine_intent;
pub(crate) mod evidence_store;
pub(crate) mod file;
pub(crate) mod followed;
pub(crate) mod halt;
pub(crate) mod harness;
pub(crate) mod identity;
pub(crate) mod journal;
pub(crate) mod lease;
pub(crate) mod lease_deadline;
pub(crate) mod look;
pub(crate) mod notes;
pub(crate) mod observation;
pub(crate) mod posture;
pub(crate) mod program_view;
pub(crate) mod sandboxes;
pub(crate) mod scan;
pub(crate) mod standing;
pub(crate) mod stated;
pub(crate) mod stop_run;
pub(crate) mod supervise;
pub(crate) mod used;

#[cfg(test)]
pub(crate) mod tests;
