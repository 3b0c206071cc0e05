//! The tables of secret shapes. Each rule carries its own examples, which a test checks;
//! `docs/formats/secret-rules.md` is made from them.

mod assigned;
mod business;
mod cloud;
mod code;
mod commands;
mod hosting;
mod inference;
mod keys;
mod models;
mod operations;
mod payments;
mod places;
mod platforms;
mod services;

#[cfg(test)]
mod tests;

use crate::rule::SecretRule;

/// In the order in which rules are named where two find the same.
pub(crate) fn all() -> impl Iterator<Item = &'static SecretRule> {
    let tables = [
        cloud::RULES,
        platforms::RULES,
        code::RULES,
        operations::RULES,
        models::RULES,
        payments::RULES,
        services::RULES,
        inference::RULES,
        hosting::RULES,
        business::RULES,
        keys::RULES,
        places::RULES,
        assigned::RULES,
        commands::RULES,
    ];
    tables.into_iter().flatten()
}
