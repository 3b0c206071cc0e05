//! Finding and redacting secrets in bytes.
//!
//! Two things are looked for: the exact values that the caller knows, in every encoding
//! they are usually met in, and well-known secret shapes, as a table of rules. Bytes go in;
//! hits, which never hold a value, and redacted bytes come out.
//!
//! Pure: no clock, no file system, no process, no network. Whatever comes in, nothing here
//! panics, time is linear in its length and memory is bounded. What is found does not
//! depend on the pieces a text comes in.

mod allowance;
mod baseline;
mod block;
mod check;
mod confirm;
mod documented;
mod filter;
mod hit;
mod joint;
mod known;
mod literal;
mod marker;
mod named;
mod needle;
mod page;
mod patch;
mod patch_text;
mod read;
mod redact;
mod rule;
mod rule_set;
mod rules;
mod scanner;
mod settle;
mod spelling;
mod stream;
mod view;

pub use allowance::Allowance;
pub use baseline::{BaselineValues, Search, Suspects};
pub use hit::{Class, Encoding, Hit};
pub use known::{Known, KnownClass, SHORTEST};
pub use page::rules_page;
pub use redact::Keep;
pub use rule::{After, Lead, LiteralCheck, MatchCheck, PrecedingByte, SecretRule};
pub use rule_set::RuleSet;
pub use scanner::Scanner;
pub use stream::Redactor;

/// The longest stretch of text that one hit can take, as it is written there.
pub const SPAN: usize = 32 * 1024;

/// Distance before a position at which a secret found there may begin.
pub(crate) const LOOKBACK: usize = 2048;

/// Distance after a position up to which the text must be present for a final answer.
pub(crate) const LOOKAHEAD: usize = SPAN + 1024;
