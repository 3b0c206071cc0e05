//! The set of rules that a scanner uses.
//!
//! The literals of the standard rules, thousands of them, and the tables to find them by are
//! made when this crate is built, by the code that makes them for any other set: making them
//! takes longer than scanning a small run's evidence.

use std::sync::{Arc, OnceLock};

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::filter::{Grams, LiteralIndex};
use crate::literal::{Form, indexed};
use crate::rule::SecretRule;
use crate::rules;

/// Written by the build script.
mod made {
    use crate::filter::{GramContext, GramEntry};
    use crate::literal::Form;

    include!(concat!(env!("OUT_DIR"), "/standard.rs"));
}

/// The rules of a scanner, ready for use.
pub struct RuleSet {
    rules: Vec<Compiled>,
    pub(crate) index: LiteralIndex<(usize, Form)>,
    pub(crate) grams: Grams,
}

struct Compiled {
    rule: &'static SecretRule,
    /// Compiled when the first candidate turns up: most rules meet none.
    regex: OnceLock<Option<Regex>>,
}

impl RuleSet {
    /// All rules this crate has.
    pub fn standard() -> &'static RuleSet {
        static STANDARD: OnceLock<RuleSet> = OnceLock::new();
        STANDARD.get_or_init(|| RuleSet {
            rules: compiled(rules::all()),
            index: LiteralIndex {
                grams: made::GRAMS.into(),
                around: made::AROUND.into(),
                entries: made::ENTRIES.into(),
                heads: made::HEADS.into(),
                texts: made::TEXTS.into(),
            },
            grams: Grams::made(made::TABLE),
        })
    }

    /// No rule: known values alone.
    pub fn none() -> &'static RuleSet {
        static NONE: OnceLock<RuleSet> = OnceLock::new();
        NONE.get_or_init(|| RuleSet::of([]))
    }

    fn of(rules: impl IntoIterator<Item = &'static SecretRule>) -> RuleSet {
        let rules = compiled(rules);
        let (index, grams) = indexed(rules.iter().map(|compiled| compiled.rule));
        RuleSet { rules, index, grams }
    }

    /// Rules of the set, in their order.
    pub fn rules(&self) -> impl Iterator<Item = &'static SecretRule> {
        self.rules.iter().map(|compiled| compiled.rule)
    }

    /// Rule by its number in the set.
    pub(crate) fn rule(&self, number: usize) -> Option<&'static SecretRule> {
        self.rules.get(number).map(|compiled| compiled.rule)
    }

    /// Id of a rule by its number in the set.
    pub(crate) fn rule_name(&self, number: usize) -> Option<Arc<str>> {
        self.rules.get(number).map(|compiled| compiled.rule.id.into())
    }

    /// Compiled pattern; none if it is invalid, which a test rules out for the tables.
    pub(crate) fn regex(&self, number: usize) -> Option<&Regex> {
        let Compiled { rule, regex, .. } = self.rules.get(number)?;
        regex.get_or_init(|| compile(rule)).as_ref()
    }
}

fn compiled(rules: impl IntoIterator<Item = &'static SecretRule>) -> Vec<Compiled> {
    rules.into_iter().map(|rule| Compiled { rule, regex: OnceLock::new() }).collect()
}

impl std::fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RuleSet({} rules)", self.rules.len())
    }
}

fn compile(rule: &SecretRule) -> Option<Regex> {
    let bytes =
        syntax::Config::new().unicode(false).utf8(false).case_insensitive(rule.fold).dot_matches_new_line(false);
    Regex::builder().syntax(bytes).build(rule.pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_at_build_time_is_what_would_be_made_now() {
        let (made, now) = (RuleSet::standard(), RuleSet::of(rules::all()));
        assert!(made.index.entries == now.index.entries && made.index.texts == now.index.texts);
        assert!(made.index.grams == now.index.grams && made.index.heads == now.index.heads);
        assert!(made.index.around == now.index.around);
        assert!(made.grams.0 == now.grams.0 && made.rules.len() == now.rules.len());
    }
}
