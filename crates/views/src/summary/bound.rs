//! Bounds of the summary: texts of others without an address or a secret's shape, lists and
//! ladders that fit into the document. The checks of `cto validate summary` hold for every
//! summary that is composed.

use contract::text::show_controls;
use evidence::censor::Censor;

use super::compose::blocked_lane;
use super::{ControlSummary, LARGEST_SUMMARY};

/// Most bytes of a text that others may have written.
const LONGEST_TEXT: usize = 400;
/// Most entries of a list, and most bytes of all of them.
const MOST_ITEMS: usize = 200;
const LARGEST_LIST: usize = 48 << 10;
/// Text in the place of one that may not stand here.
const LEFT_OUT: &str = "(left out: it holds an address or a value of a secret's shape)";

thread_local! {
    static SHAPES: Censor = Censor::new(Vec::new());
}

/// Makes a text of others printable and short. One with an address or a secret's shape is
/// left out as a whole: a part of a secret can be enough.
pub(super) fn cut_text(text: &str) -> String {
    let text = show_controls(text);
    if holds_secret(&text) {
        return LEFT_OUT.to_owned();
    }
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", &text[..end])
}

/// True if the checks of a summary refuse a document with this text.
fn holds_secret(text: &str) -> bool {
    // The document has the text with escapes, in which a shape can be another one.
    let quoted = serde_json::Value::from(text).to_string();
    let is_clean = |text: &str| SHAPES.with(|shapes| shapes.is_clean(text.as_bytes()));
    text.contains("://") || !is_clean(text) || !is_clean(&quoted)
}

/// The first texts of a list, within the bounds of a list.
pub(super) fn cut_list<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut left = LARGEST_LIST;
    let cut = texts.into_iter().take(MOST_ITEMS).map(|text| cut_text(text));
    cut.map_while(|text| {
        left = left.checked_sub(serde_json::Value::from(text.as_str()).to_string().len() + 1)?;
        Some(text)
    })
    .collect()
}

/// Leaves out the last ladders, and their lanes, until the document fits.
pub(super) fn fit_ladders(mut summary: ControlSummary) -> Result<ControlSummary, serde_json::Error> {
    while summary.to_bytes()?.len() > LARGEST_SUMMARY && summary.ladder.pop().is_some() {
        summary.ladder_cut = true;
        summary.blocked_lanes = summary.ladder.iter().filter_map(blocked_lane).collect();
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::super::{SummaryLadder, SummaryRung, check_summary};
    use super::*;
    use crate::ladder::{RungStatus, stages};

    /// Shape of a token, in two parts so that this file does not hold one.
    const TOKEN: &str = concat!("gh", "p_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1a2");

    #[test]
    fn addresses_and_secrets_are_left_out_and_other_text_stays() {
        for (text, is_out) in [
            ("cto request TASK --stage 4", false),
            ("see https://models.example/v1", true),
            ("postgres://me@db/x", true),
            ("a:// b", true),
            ("http: //half", false),
            (TOKEN, true),
            (&format!("before {TOKEN} after"), true),
            (&format!("{}{TOKEN}", "long ".repeat(100)), true),
        ] {
            assert_eq!(cut_text(text) == LEFT_OUT, is_out, "{text}");
            let with = |told: String| {
                let summary = ControlSummary { next_operator_action: told, ..sample() };
                check_summary(&summary.to_bytes().unwrap()).1
            };
            assert_eq!(with(cut_text(text)), [], "{text}");
            assert_eq!(with(text.to_owned()).is_empty(), !is_out, "the control: {text}");
        }
    }

    #[test]
    fn a_text_is_cut_in_bytes_and_between_characters() {
        let text = cut_text(&"語".repeat(500));
        assert!(text.len() <= LONGEST_TEXT + '…'.len_utf8() && text.ends_with("語…"), "{}", text.len());
    }

    fn wide_ladder(number: usize) -> SummaryLadder {
        let text = || Some(cut_text(&format!("{number} {}", "\"\\".repeat(400))));
        let rung = |stage| SummaryRung {
            stage,
            name: "rung".to_owned(),
            status: RungStatus::Stale,
            missing: text(),
            remedy: text(),
        };
        let rungs = stages().map(rung).collect();
        SummaryLadder { engine: text().unwrap(), source_id: text(), model: text(), rungs }
    }

    #[test]
    fn the_largest_facts_fit() {
        let wide: Vec<String> = (0..500).map(|number| format!("{number}{}", "\u{1F600}\"".repeat(400))).collect();
        let mut summary = sample();
        summary.approval_packet.allowed_paths = cut_list(&wide);
        summary.approval_packet.required_evidence_paths = cut_list(&wide);
        summary.ladder = (0..48).map(wide_ladder).collect();
        summary.blocked_lanes = summary.ladder.iter().filter_map(blocked_lane).collect();
        assert!(summary.to_bytes().unwrap().len() > LARGEST_SUMMARY, "the control: this does not fit");
        let summary = fit_ladders(summary).unwrap();
        assert_eq!(check_summary(&summary.to_bytes().unwrap()).1, []);
        assert!(summary.ladder_cut && summary.ladder.len() > 5, "{} ladders", summary.ladder.len());
        assert_eq!(summary.blocked_lanes.len(), summary.ladder.len());
        let small = fit_ladders(sample()).unwrap();
        assert_eq!(small, sample(), "one that fits stays as it is");
    }
}
