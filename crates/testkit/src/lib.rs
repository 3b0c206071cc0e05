//! Temporary worlds, tampering and faults, for tests only.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot set its scene up must stop")]

mod bundle;
mod case;
mod claims;
mod collected;
mod command;
mod draft;
mod lasting;
mod object_double;
mod object_server;
mod outcome;
mod postgres;
mod process;
mod relay;
mod rows;
pub mod secret_set;
mod skip;
mod tamper;
mod terminal;
mod tmux;
mod tools;
mod upstream;
mod warm;
mod who;
mod world;

pub use bundle::{copy_bundle, files_of, resign};
pub use case::contract_text;
pub use claims::{CLAIMS, find_claims, kept_claims, search_bytes};
pub use collected::{COLLECTED_BUNDLE, COLLECTED_KEY, collected_bundles};
pub use command::CtoCommand;
pub use draft::fill_in;
pub use lasting::{lasting_copy, lasting_dir};
pub use object_double::{ObjectDouble, StoreManner};
pub use object_server::{BUCKET, BUCKET_KEY, ObjectFolder, ObjectServer, ObjectServerKind};
pub use outcome::{outcome, outcome_of};
pub use postgres::{PostgresServer, SUPERUSER, StandbyCopy};
pub use process::{
    MARKER, end_marked, git, left_running, left_within, program, run_git, unfinished_git_files, wait_for, work_areas,
};
pub use relay::Relay;
pub use rows::each_row;
pub use skip::{not_here, python, skip};
pub use tamper::Forger;
pub use terminal::{Showing, Shown};
pub use tmux::Tmux;
pub use tools::{
    Agent, NodeRunner, agent, aider, bun, cargo, cargo_home, cmake, go, go_apart, go_cache, go_environment, moment,
    nextest, node, node_environment, node_managers, node_runner, npm_cache, open_api_python, python_environment, quick,
    same_place, sessions_python, stoppable, times, tsc, tsc_environment, user_home, wheels,
};
pub use upstream::{ConnectProxy, TlsModel};
pub use who::{Who, copy_to_change, tested_as_ordinary_user};
pub use world::{Ran, World, content_digest, contents};
