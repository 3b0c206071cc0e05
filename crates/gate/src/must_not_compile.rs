//! Proofs that the types forbid, also inside this crate. `cargo xtask ci` compiles this file with its crate and expects exactly the
//! error named at the end of each line.

use contract::{Decision, RunId};

use crate::{Admission, Refused};

fn forge_admission(run_id: RunId, decision: Decision) -> Admission {
    Admission { run_id, decision } //~ E0451
}

fn forge_refused(decision: Decision) -> Refused {
    Refused { decision } //~ E0451
}
