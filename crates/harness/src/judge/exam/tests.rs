//! Exams of small trees. Their commands are played: a stand-in for pytest reads the tests of a tree and answers in pytest's words.

mod agreement;
mod conduct;
mod controls;
mod exam_trial;
mod excused;
mod facts;
mod names;
mod places;
mod poisoned;
mod put;
mod reasons;
mod trees;

pub(super) use exam_trial::Script;
