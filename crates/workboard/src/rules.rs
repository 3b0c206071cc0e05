//! Rules about words as data: what they forbid or demand, the sentence they protect
//! against, and their own examples, which are tried when a rule is loaded.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use contract::source::{self, Problems};
use regex_automata::Input;
use regex_automata::meta::{BuildError, Regex};
use regex_automata::util::syntax::Config as SyntaxConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::DocumentKind;
use crate::rendered::{LinkLabels, render_text};
use crate::wording::SeenSentence;

const BUILT_IN: [(&str, &str); 2] = [
    ("wording.yaml", include_str!("../rules/wording.yaml")),
    ("required.yaml", include_str!("../rules/required.yaml")),
];

/// A file of rules: the built-in ones, and `rules/*.yaml` of a workspace, which can only add.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "RuleFile")]
pub struct RuleFile {
    /// Parts of patterns by name; a pattern has `{{name}}` in their place.
    pub words: BTreeMap<String, String>,
    /// Patterns at which a clause ends.
    pub clause_ends: Vec<String>,
    /// Patterns of a clause that goes on with the negation of the one before.
    pub carried: Vec<String>,
    /// Patterns that make a sentence honest where an earlier clause has them.
    pub governing: Vec<String>,
    /// Patterns that make a claim honest where they stand before it in its own clause.
    pub honest_before: Vec<String>,
    /// Patterns that make a claim honest where they stand behind it.
    pub honest_after: Vec<String>,
    /// Patterns that are read as if they were not there.
    pub neutral: Vec<String>,
    pub rules: Vec<WordRule>,
}

/// One rule. With `kinds` it demands that such documents match; without, it forbids that
/// any sentence does.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordRule {
    pub id: String,
    /// The sentence that it protects against, or that has to be kept.
    pub sentence: String,
    /// A regular expression without look-around.
    #[serde(default)]
    pub pattern: String,
    /// Several such expressions in the place of one: the shapes that a claim can have.
    #[serde(default)]
    pub shapes: Vec<String>,
    /// Kinds of documents that have to match, such as `closeout`.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Sentence that `--fix` adds at the end of a document that lacks it.
    #[serde(default)]
    pub insert: Option<String>,
    pub remedy: String,
    pub must_match: Vec<String>,
    pub must_not_match: Vec<String>,
}

/// Reason why a file of rules is not used.
#[derive(Debug, thiserror::Error)]
pub enum LoadRulesError {
    #[error("{0}")]
    Shape(#[source] Box<Problems>),
    #[error("the pattern of `{rule}` cannot be used: {source}")]
    Pattern { rule: String, source: Box<BuildError> },
    #[error("`{rule}` needs either `pattern` or `shapes`")]
    NoPattern { rule: String },
    #[error("`{rule}` names `{{{{{word}}}}}`, which `words` does not have")]
    Word { rule: String, word: String },
    #[error("`{rule}` names `{kind}`, which is no kind of document")]
    Kind { rule: String, kind: String },
    #[error("`{rule}` has no example that must match, or none that must not")]
    NoExamples { rule: String },
    #[error("`{rule}` should match its own example, and does not: {example}")]
    Unmatched { rule: String, example: String },
    #[error("`{rule}` should not match its own example, and does: {example}")]
    Matched { rule: String, example: String },
}

/// A rule that forbids, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct ForbidRule {
    pub(crate) rule: WordRule,
    pattern: Regex,
    honesty: Arc<Honesty>,
}

/// Patterns by which a claim of one file of rules is honest.
#[derive(Debug)]
struct Honesty {
    clause_ends: Vec<Regex>,
    carried: Vec<Regex>,
    governing: Vec<Regex>,
    before: Vec<Regex>,
    after: Vec<Regex>,
    neutral: Vec<Regex>,
}

/// A rule that demands, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct DemandRule {
    pub(crate) rule: WordRule,
    pub(crate) kinds: Vec<DocumentKind>,
    pattern: Regex,
}

/// All rules about words that hold for a workspace.
#[derive(Debug, Clone, Default)]
pub struct RuleBook {
    pub(crate) forbids: Vec<ForbidRule>,
    pub(crate) demands: Vec<DemandRule>,
}

impl RuleBook {
    /// The built-in rules, built once in a process.
    pub fn built_in() -> Result<Self, LoadRulesError> {
        static BUILT: OnceLock<RuleBook> = OnceLock::new();
        if let Some(book) = BUILT.get() {
            return Ok(book.clone());
        }
        let mut book = Self::default();
        for (name, text) in BUILT_IN {
            book.add_file(name, text)?;
        }
        Ok(BUILT.get_or_init(|| book).clone())
    }

    /// Adds the rules of a file after trying their examples.
    pub fn add_file(&mut self, name: &str, text: &str) -> Result<(), LoadRulesError> {
        let loaded = source::load::<RuleFile>(name, text.as_bytes());
        let file = loaded.map_err(|found| LoadRulesError::Shape(Box::new(found)))?.value;
        let honesty = Arc::new(build_honesty(name, &file)?);
        for rule in file.rules {
            let pattern = build_pattern(&rule.id, &whole_pattern(&rule)?, &file.words)?;
            if rule.kinds.is_empty() {
                let forbid = ForbidRule { pattern, honesty: Arc::clone(&honesty), rule };
                try_examples(&forbid.rule, |text| forbid.find_claim(text).is_some())?;
                self.forbids.push(forbid);
            } else {
                let kinds = read_kinds(&rule)?;
                let demand = DemandRule { kinds, pattern, rule };
                try_examples(&demand.rule, |text| demand.is_kept(text))?;
                self.demands.push(demand);
            }
        }
        Ok(())
    }

    /// All rules, those that forbid first.
    pub fn rules(&self) -> impl Iterator<Item = &WordRule> {
        self.forbids.iter().map(|rule| &rule.rule).chain(self.demands.iter().map(|rule| &rule.rule))
    }
}

impl ForbidRule {
    /// Byte at which a text claims what the rule forbids.
    pub(crate) fn find_claim(&self, text: &str) -> Option<usize> {
        let rendered = render_text(text, &LinkLabels::new());
        let whole = SeenSentence::of_text(&rendered);
        self.find_in_sentence(&whole).map(|at| rendered.origin_of(at))
    }

    /// Byte at which a sentence claims it. Quotes and code that state the whole claim only name it. Those of a part are read as if
    /// they were not marked, and once as if they were not there.
    pub(crate) fn find_in_sentence(&self, sentence: &SeenSentence<'_>) -> Option<usize> {
        let text = sentence.text.as_bytes();
        let is_claim = |range: &&Range<usize>| self.pattern.is_match(&text[range.start..range.end]);
        let unmarked = blank_marks(sentence.text);
        let blanked = |ranges: &mut dyn Iterator<Item = &Range<usize>>| {
            let mut copy = unmarked.clone();
            ranges.for_each(|range| copy[range.clone()].fill(b' '));
            copy
        };
        let first = self.find_unexcused(blanked(&mut sentence.phrases.iter()));
        if first.is_some() || sentence.phrases.is_empty() {
            return first;
        }
        self.find_unexcused(blanked(&mut sentence.phrases.iter().filter(is_claim)))
    }

    fn find_unexcused(&self, mut sentence: Vec<u8>) -> Option<usize> {
        self.pattern.find(Input::new(&sentence))?;
        for neutral in &self.honesty.neutral {
            blank_matches(&mut sentence, neutral);
        }
        let mut claims = self.pattern.find_iter(Input::new(&sentence));
        claims.find(|found| !self.honesty.excuses(&sentence, found.range())).map(|found| found.start())
    }
}

/// Bytes of a sentence with its quotation marks as blanks.
fn blank_marks(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, mark) in text.match_indices(['"', '“', '”']) {
        bytes[at..at + mark.len()].fill(b' ');
    }
    bytes
}

impl Honesty {
    /// True if a claim is denied, asked or only wished for where it stands.
    fn excuses(&self, sentence: &[u8], claim: Range<usize>) -> bool {
        let (before, after) = (&sentence[..claim.start], &sentence[claim.end..]);
        let mut ends: Vec<Range<usize>> = self
            .clause_ends
            .iter()
            .flat_map(|pattern| pattern.find_iter(Input::new(before)))
            .map(|end| end.range())
            .collect();
        ends.sort_by_key(|end| end.start);
        let start_of = |count: usize| count.checked_sub(1).map_or(0, |last| ends[last].end);
        let mut count = ends.len();
        while count > 0 && is_any(&self.carried, &before[start_of(count)..]) {
            count -= 1;
        }
        let mut earlier = (0..count).map(|clause| &before[start_of(clause)..ends[clause].start]);
        is_any(&self.before, &before[start_of(count)..])
            || earlier.any(|clause| is_any(&self.governing, clause))
            || is_any(&self.after, after)
    }
}

fn is_any(patterns: &[Regex], text: &[u8]) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(text))
}

impl DemandRule {
    /// True if a text keeps the sentence.
    pub(crate) fn is_kept(&self, text: &str) -> bool {
        self.pattern.is_match(text)
    }
}

fn blank_matches(text: &mut [u8], pattern: &Regex) {
    let ranges: Vec<_> = pattern.find_iter(Input::new(&*text)).map(|found| found.range()).collect();
    ranges.into_iter().for_each(|range| text[range].fill(b' '));
}

/// The pattern of a rule, or its shapes as one.
fn whole_pattern(rule: &WordRule) -> Result<String, LoadRulesError> {
    match (rule.pattern.as_str(), rule.shapes.as_slice()) {
        ("", []) => Err(LoadRulesError::NoPattern { rule: rule.id.clone() }),
        (pattern, []) => Ok(pattern.to_owned()),
        ("", shapes) => Ok(shapes.iter().map(|shape| format!("(?:{shape})")).collect::<Vec<_>>().join("|")),
        _ => Err(LoadRulesError::NoPattern { rule: rule.id.clone() }),
    }
}

fn build_honesty(file: &str, rules: &RuleFile) -> Result<Honesty, LoadRulesError> {
    let build = |patterns: &[String]| -> Result<Vec<Regex>, LoadRulesError> {
        patterns.iter().map(|pattern| build_pattern(file, pattern, &rules.words)).collect()
    };
    Ok(Honesty {
        clause_ends: build(&rules.clause_ends)?,
        carried: build(&rules.carried)?,
        governing: build(&rules.governing)?,
        before: build(&rules.honest_before)?,
        after: build(&rules.honest_after)?,
        neutral: build(&rules.neutral)?,
    })
}

fn build_pattern(rule: &str, pattern: &str, words: &BTreeMap<String, String>) -> Result<Regex, LoadRulesError> {
    let pattern = put_words(rule, pattern, words)?;
    // Bytes and not characters: the tables of Unicode would cost more than rules about
    // English sentences gain.
    let syntax = SyntaxConfig::new().unicode(false).utf8(false);
    let built = Regex::builder().syntax(syntax).configure(Regex::config().utf8_empty(false)).build(&pattern);
    built.map_err(|source| LoadRulesError::Pattern { rule: rule.to_owned(), source: Box::new(source) })
}

/// Puts words in the places of their names. A word may not name another.
fn put_words(rule: &str, pattern: &str, words: &BTreeMap<String, String>) -> Result<String, LoadRulesError> {
    let mut parts = pattern.split("{{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let missing = |word: &str| LoadRulesError::Word { rule: rule.to_owned(), word: word.to_owned() };
        let (name, rest) = part.split_once("}}").ok_or_else(|| missing(part))?;
        out.push_str(words.get(name).ok_or_else(|| missing(name))?);
        out.push_str(rest);
    }
    Ok(out)
}

fn read_kinds(rule: &WordRule) -> Result<Vec<DocumentKind>, LoadRulesError> {
    let read = |kind: &String| {
        DocumentKind::of_word(kind).ok_or_else(|| LoadRulesError::Kind { rule: rule.id.clone(), kind: kind.clone() })
    };
    rule.kinds.iter().map(read).collect()
}

fn try_examples(rule: &WordRule, matches: impl Fn(&str) -> bool) -> Result<(), LoadRulesError> {
    if rule.must_match.is_empty() || rule.must_not_match.is_empty() {
        return Err(LoadRulesError::NoExamples { rule: rule.id.clone() });
    }
    if let Some(example) = rule.must_match.iter().find(|example| !matches(example)) {
        return Err(LoadRulesError::Unmatched { rule: rule.id.clone(), example: example.clone() });
    }
    match rule.must_not_match.iter().find(|example| matches(example)) {
        Some(example) => Err(LoadRulesError::Matched { rule: rule.id.clone(), example: example.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rules_hold_for_their_own_examples_and_have_ten_of_each() {
        let book = RuleBook::built_in().unwrap_or_else(|error| panic!("{error}"));
        for rule in book.rules() {
            assert!(rule.must_match.len() >= 10 && rule.must_not_match.len() >= 10, "{}", rule.id);
        }
        assert_eq!((book.forbids.len(), book.demands.len()), (3, 4));
    }

    #[test]
    fn a_rule_that_breaks_its_own_examples_is_refused() {
        let rule = |example: &str| {
            format!(
                "rules:\n  - id: r\n    sentence: s\n    pattern: 'bad'\n    remedy: m\n    must_match: [bad]\n    must_not_match: [{example}]\n"
            )
        };
        let add = |text: &str| RuleBook::default().add_file("r.yaml", text).map_err(|error| error.to_string());
        assert_eq!(add(&rule("good")), Ok(()));
        assert_eq!(
            add(&rule("a bad one")),
            Err("`r` should not match its own example, and does: a bad one".to_owned())
        );
        let unmatched = rule("good").replace("[bad]", "[fine]");
        assert_eq!(add(&unmatched), Err("`r` should match its own example, and does not: fine".to_owned()));
        assert!(add(&rule("good").replace("'bad'", "'('")).unwrap_err().contains("cannot be used"));
    }
}
