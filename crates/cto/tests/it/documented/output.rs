//! Output that a page shows below a command, compared with what the command prints: ids, digests, times, counts and places differ
//! from run to run and are masked, words are not.

/// Stands for whatever a run makes.
const MASK: &str = "#";

/// Lines of a page that the command does not print. `own` are names that this home gave its runs.
pub(super) fn find_unprinted(shown: &[String], printed: &str, own: &[String]) -> Vec<String> {
    let own: Vec<String> = own.iter().cloned().chain(find_run(printed)).collect();
    let own = own.as_slice();
    let printed: Vec<String> = printed.lines().map(|line| mask_line(line, own)).collect();
    let is_left_out = |line: &&String| line.trim().is_empty() || line.trim() == "...";
    let lines = shown.iter().filter(|line| !is_left_out(line));
    lines.filter(|line| !printed.contains(&mask_line(line, own))).cloned().collect()
}

/// Last part of the id of the run whose bundle was printed, which may be letters alone.
fn find_run(printed: &str) -> Option<String> {
    let plain = without_colours(printed);
    let mut words = plain.split_whitespace().skip_while(|word| *word != "bundle");
    let (_, run, sealed) = (words.next()?, words.next()?, words.next()?);
    (sealed == "sealed,").then(|| run.to_owned())
}

fn mask_line(line: &str, own: &[String]) -> String {
    let plain = without_colours(line);
    plain.split_whitespace().map(|word| mask_word(word, own)).collect::<Vec<_>>().join(" ")
}

fn mask_word(word: &str, own: &[String]) -> String {
    if let Some((key, value)) = word.split_once('=') {
        return format!("{key}={}", mask_word(value, own));
    }
    // A slow machine counts in another unit.
    let differs = matches!(word, "ms" | "s")
        || word.starts_with(['/', '~'])
        || word.contains("SHA256:")
        || word.bytes().any(|byte| byte.is_ascii_digit())
        || own.iter().any(|name| word.contains(name.as_str()));
    if differs { MASK.to_owned() } else { word.to_owned() }
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            let _ = letters.by_ref().find(|end| end.is_ascii_alphabetic() || *end == '\\');
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_and_what_a_run_makes_does_not() {
        let shown = |line: &str| vec![line.to_owned()];
        let own = ["wxyz".to_owned()];
        for (page, printed, is_there) in [
            ("pass  8ajm  134 of 134 checks hold   6 ms", "pass  wxyz  216 of 216 checks hold  11 ms", true),
            ("fail ./bundle checks=133 failed=1", "fail ./bundle checks=216 failed=1", true),
            ("\u{1b}[32mpass\u{1b}[0m", "pass", true),
            ("...", "", true),
            ("pass  8ajm  all checks hold", "pass  wxyz  216 of 216 checks hold", false),
            ("bundle /home/ada/x", "bundle /home/bob/y", true),
            ("sealed run", "run sealed", false),
        ] {
            assert_eq!(find_unprinted(&shown(page), printed, &own).is_empty(), is_there, "{page}");
        }
    }
}
