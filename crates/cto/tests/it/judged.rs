//! What a pass rests on: each rule of what is judged, in what, and what counts, with honest work beside every refusal.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod contract;
