//! Share of the evaluation set that is found, and false alarms.

use std::collections::BTreeMap;

use secrets::{RuleSet, Scanner};

use testkit::secret_set::lookalike;
use testkit::secret_set::planted::{self, Planted};

const SEED: u64 = 20_261_115;

fn is_found(scanner: &Scanner, planted: &Planted) -> bool {
    let overlaps = |hit: &secrets::Hit| {
        (hit.offset as usize) < planted.at.end && (hit.offset + hit.len) as usize > planted.at.start
    };
    scanner.scan(planted.text.as_bytes()).iter().any(overlaps)
}

#[test]
fn at_least_96_of_100_planted_secrets_are_found() {
    let scanner = Scanner::new(&[], RuleSet::standard());
    let planted = planted::all(SEED, 2);
    let missed: Vec<&Planted> = planted.iter().filter(|planted| !is_found(&scanner, planted)).collect();
    let mut by_kind: BTreeMap<_, usize> = BTreeMap::new();
    for planted in &missed {
        *by_kind.entry((planted.kind, planted.encoded)).or_default() += 1;
    }
    for m in &missed {
        println!("{} {:?} {}", m.kind, m.encoded, &m.text[m.at.clone()].chars().take(300).collect::<String>());
    }
    let recall = 1.0 - missed.len() as f64 / planted.len() as f64;
    println!("{} of {} missed, recall {recall:.3}: {by_kind:?}", missed.len(), planted.len());
    assert!(planted.len() >= 400 && recall >= 0.96, "recall {recall:.3}: {by_kind:?}");
}

#[test]
fn at_most_one_false_alarm_in_ten_megabytes() {
    let scanner = Scanner::new(&[], RuleSet::standard());
    let files = lookalike::files(SEED, 20 * 1024 * 1024);
    let size: usize = files.iter().map(|file| file.text.len()).sum();
    let mut alarms = Vec::new();
    for file in &files {
        for hit in scanner.scan(file.text.as_bytes()) {
            let at = hit.offset as usize;
            let shown =
                file.text.as_bytes()[at.saturating_sub(40)..(at + hit.len as usize).min(at + 60)].escape_ascii();
            alarms.push(format!("{} {} {shown}", file.name, hit.rule));
        }
    }
    assert!(
        size >= 20_000_000 && alarms.len() <= size / 10_000_000,
        "{}:\n{}",
        alarms.len(),
        alarms[..alarms.len().min(30)].join("\n")
    );
}
