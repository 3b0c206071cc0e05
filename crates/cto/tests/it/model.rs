//! Model-backed runs through the real binary: a scripted model behind the bridge, a client inside the sandbox.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod advice;
mod alone;
mod at_a_terminal;
mod gates;
mod governed;
mod inside;
mod interrupted;
mod lanes;
mod leaks;
mod limits;
mod reach;
mod recorded;
mod runs;
mod scene;
mod signed;
mod transcript;
