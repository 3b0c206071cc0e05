//! The one door to files that an engine, a setup, a check or a hostile repository could
//! have made.
//!
//! Every name is opened below an open directory, one component at a time and without
//! following a link. Only plain files are opened for reading, and only after the kernel
//! said that they are plain, so that opening a pipe or a device has no effect. No call
//! blocks, no walk recurses, and each is bounded. Links may be exchanged for files at any
//! moment: what is read is what was looked at.

mod bounds;
mod descent;
mod grant;
mod open;
pub mod own_files;
mod read;
mod remove;
mod walk;

pub use bounds::Bounds;
pub use grant::{grant_owner, grant_owner_of};
pub use open::{is_there, kind, lstat, open_dir, open_regular, open_root, some_names, sorted_names};
pub use read::{is_there_beneath, plain_names, read_beneath, read_limited, read_plain, read_plain_link, read_within};
pub use remove::{remove_tree, remove_tree_at};
pub use walk::{Cut, Met, Next, WalkEntry, walk};
