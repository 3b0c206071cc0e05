//! The tables of secret shapes. Each rule carries its own examples, which a test checks; `docs/formats/secret-rules.md`
//! is made from them.

mod assigned;
mod cloud;
mod code;
mod keys;
mod models;
mod operations;
mod payments;
mod platforms;
mod services;

#[cfg(test)]
mod tests;

use crate::rule::{After, Before, Check, Glance, Lead, Rule};

/// What a rule is unless it says otherwise.
const RULE: Rule = Rule {
    id: "",
    what: "",
    literals: &[],
    fold: false,
    pattern: "",
    holds: None,
    lead: Lead::None,
    before: Before::NoLetterOrDigit,
    unless_after: &[],
    after: After::NoLetterOrDigit,
    block: None,
    check: Check::Random,
    glance: Glance::Anything,
    general: false,
    span: 200,
    yes: &[],
    no: &[],
};

/// In the order in which rules are named where two find the same.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    let tables = [
        cloud::RULES,
        platforms::RULES,
        code::RULES,
        operations::RULES,
        models::RULES,
        payments::RULES,
        services::RULES,
        keys::RULES,
        assigned::RULES,
    ];
    tables.into_iter().flatten()
}
