//! Words that pages keep to: no metaphor where the field has a word, and a glossary whose terms are used.

use super::texts::PlacedText;
use crate::ChoreResult;
use crate::process::repository_root;

/// Metaphors and turns of phrase that readers stumble over, and the plain words for them. Names in backticks are not looked at.
const BANNED: &[(&str, &str)] = &[
    ("quarters", "mounts"),
    ("room", "exam sandbox, or space"),
    ("rooms", "exam sandboxes"),
    ("cell", "sandbox"),
    ("cells", "sandboxes"),
    ("outfit", "environment"),
    ("stuff", "the thing itself"),
    ("tape", "recording"),
    ("tapes", "recordings"),
    ("held against", "compared with, or counts against"),
    ("what came of", "the result of"),
    ("what becomes of", "what happens to"),
    ("is said", "a subject and an active verb"),
    ("are told", "a subject and an active verb"),
    ("in earnest", "with real runs"),
    ("says of", "says about"),
    ("speaks of", "is about"),
    ("speak of", "be about"),
    ("spoken of", "named"),
    ("spoken to", "used, or reached"),
    ("thrown away", "temporary"),
    ("stands against", "blocks"),
    ("stand against", "block"),
    ("whatever came of", "whatever the result of"),
    ("held again", "repeated"),
    ("believed in", "trusted"),
];

/// Terms of the glossary with the words that pages, help and console do not use for them.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("approval", &["sign-off", "permission slip"]),
    ("baseline", &["base commit", "base tree"]),
    ("blind check", &["hidden check", "hidden checks", "hidden test", "hidden tests"]),
    ("bridge", &["model proxy", "model gateway"]),
    ("bundle", &["evidence pack", "evidence bundle", "capsule"]),
    ("console", &["dashboard", "web ui"]),
    ("decoy", &["canary", "canaries", "honeypot", "honeytoken", "bait"]),
    ("exam", &["grader", "examination"]),
    ("kill switch", &["emergency stop", "halt switch", "safety switch"]),
    ("litter", &["debris", "junk"]),
    ("poison control", &["poison test", "poison check"]),
    ("queue", &["backlog", "job queue"]),
    ("reason", &["error code", "reason code", "failure code"]),
    ("sandbox", &["jail", "cage"]),
    ("worker", &["worker node"]),
    ("yardstick", &["reference engine"]),
];

/// Sentences that use another word for a term of the glossary.
pub(super) fn find_synonyms(text: &PlacedText) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in &text.sentences {
        let words = plain_words(&sentence.text);
        for (term, others) in SYNONYMS {
            let used = others.iter().filter(|other| words.contains(&format!(" {other} ")));
            found.extend(
                used.map(|other| format!("{}:{}: `{other}`, say {term}: {}", text.place, sentence.line, sentence.text)),
            );
        }
    }
    found
}

/// Synonyms of something that the glossary does not have.
fn find_unknown_terms(terms: &[&str]) -> Vec<String> {
    let unknown = SYNONYMS.iter().filter(|(term, _)| !terms.contains(term));
    unknown.map(|(term, _)| format!("docs/glossary.md: `{term}` has synonyms and no entry")).collect()
}

/// Sentences that use a banned word.
pub(super) fn find_banned(text: &PlacedText) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in &text.sentences {
        let words = plain_words(&sentence.text);
        for (word, instead) in find_banned_words(&words, &[]) {
            found.push(format!("{}:{}: `{word}`, say {instead}: {}", text.place, sentence.line, sentence.text));
        }
    }
    found
}

/// Banned phrases and those of a further list that occur in words as [`plain_words`] gives them.
pub(super) fn find_banned_words<'a>(words: &str, more: &'a [(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let all = BANNED.iter().chain(more);
    all.filter(|(word, _)| words.contains(&format!(" {word} "))).copied().collect()
}

/// Words in small letters between single spaces, without punctuation and without code.
pub(super) fn plain_words(sentence: &str) -> String {
    let words = sentence.split_whitespace().map(|word| match word.contains('`') {
        true => "`".to_owned(),
        false => word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase(),
    });
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// Terms of the glossary that no other page uses.
pub(super) fn find_unused_terms(texts: &[PlacedText]) -> ChoreResult<Vec<String>> {
    let page = repository_root().join("docs/glossary.md");
    let page = std::fs::read_to_string(&page).map_err(|error| format!("cannot read {}: {error}", page.display()))?;
    let terms: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    if terms.len() < 30 {
        return Err(format!("docs/glossary.md has only {} terms", terms.len()));
    }
    let others = texts.iter().filter(|text| text.place != "docs/glossary.md").flat_map(|text| &text.sentences);
    let used: String = others.map(|sentence| plain_words(&sentence.text)).collect();
    let unknown = find_unknown_terms(&terms);
    let unused = terms.into_iter().filter(|term| !is_used(&used, term));
    Ok(unused.map(|term| format!("docs/glossary.md: no page uses `{term}`")).chain(unknown).collect())
}

/// True for a term that occurs in its singular or plural.
fn is_used(words: &str, term: &str) -> bool {
    words.contains(&format!(" {term} ")) || words.contains(&format!(" {term}s "))
}

#[cfg(test)]
mod tests {
    use super::super::sentences::split_page;
    use super::*;

    fn count(page: &str) -> usize {
        find_banned(&PlacedText::new("page", 30, split_page(page))).len()
    }

    #[test]
    fn a_metaphor_is_found_and_a_name_is_not() {
        assert_eq!(count("The engine has a room, and its Cell."), 2);
        assert_eq!(count("The result is held\nagainst the run. It says so."), 1);
        assert_eq!(count("`cells[].seen` lists `room` in the bedroom; the exam runs."), 0);
    }

    #[test]
    fn another_word_for_a_term_is_found() {
        let find = |page: &str| find_synonyms(&PlacedText::new("page", 30, split_page(page))).len();
        assert_eq!(find("The dashboard shows\nhidden checks."), 2);
        assert_eq!(find("The console shows blind checks and `canary`."), 0, "control");
        assert_eq!(find_unknown_terms(&["exam"]).len(), SYNONYMS.len() - 1);
    }

    #[test]
    fn a_term_is_used_in_singular_or_plural() {
        let words = plain_words("Two blind checks, one rung.");
        assert!(is_used(&words, "blind check") && is_used(&words, "rung"));
        assert!(!is_used(&words, "ladder"), "control");
    }
}
