//! Exams of small trees. Their commands are played: a stand-in for pytest reads the tests of a tree and answers in pytest's words.

mod agreement;
mod controls;
mod desk;
mod excused;
mod put;
mod reasons;

pub(super) use desk::Script;
