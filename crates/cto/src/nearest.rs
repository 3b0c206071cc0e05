//! The word that a person may have meant.

/// The nearest of the known words, if it is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &'a str| (strsim::damerau_levenshtein(known, word), known);
    let best = known.into_iter().map(distance).min()?;
    (best.0 <= best.1.chars().count().max(3) / 3).then_some(best.1)
}

/// `; did you mean X?`, or nothing.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|known| format!("; did you mean `{known}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slip_is_corrected() {
        let known = ["codex", "claude", "pi"];
        assert_eq!(did_you_mean("codxe", known), "; did you mean `codex`?");
        assert_eq!(nearest("cluade", known), Some("claude"));
        assert_eq!(nearest("gemini", known), None);
        assert_eq!(nearest("x", []), None);
    }
}
