//! A remedy typed as it is printed, in the state that printed it.

#![expect(clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::Path;

use contract::remedy::Remedy;
use testkit::{Ran, run_git};

/// Commands that only show something; what they show is for a person to act on.
const LOOKS: [&str; 10] =
    ["decide", "diff", "doctor", "environment", "export", "logs", "records", "show", "status", "verify"];

/// Commands that end with the verdict they show, with the verdict of the state in which a remedy names them.
const VERDICTS: [(&str, i32); 1] = [("decide", 3)];

/// Words that stand for something of the person's own.
const FILLED: [(&str, &str); 2] = [("DIR", "../source"), ("ENGINE", "fake")];

/// A reason with its remedy, as a line on a pipe has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrintedRemedy {
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

/// Remedies of a run as it prints them on a pipe, with nothing filled in by the test.
pub(crate) fn printed_remedies(ran: &Ran) -> Vec<PrintedRemedy> {
    let lines = ran.text();
    let rows = lines.lines().filter_map(|line| {
        let rest = line.strip_prefix("reason ").or_else(|| line.strip_prefix("missing "))?;
        let (text, remedy) = rest.rsplit_once(" fix: ")?;
        let mut words = text.split(' ');
        // A decision names the gate before the reason.
        let reason = words.find(|word| contract::Reason::from_code(word).is_some())?;
        Some(PrintedRemedy { reason: reason.to_owned(), remedy: remedy.to_owned() })
    });
    rows.collect()
}

/// The person at a shell: `cto` as they call it, and the repository that they stand in for git.
pub(crate) struct Shell<'a> {
    pub(crate) cto: &'a dyn Fn(&[&str]) -> Ran,
    pub(crate) repository: &'a Path,
}

impl Shell<'_> {
    fn types(&self, words: &[String]) -> Ran {
        (self.cto)(&words.iter().skip(1).map(String::as_str).collect::<Vec<_>>())
    }

    /// Types the command of a remedy. Gives true if it changes something, and none if there is no command in it. Panics unless it
    /// ends as it is documented to end.
    pub(crate) fn paste(&self, printed: &PrintedRemedy) -> Option<bool> {
        let command = Remedy::parse_text(&printed.remedy).command?;
        let mut words = shell_words::split(command).unwrap();
        for word in &mut words {
            if let Some((_, filled)) = FILLED.iter().find(|(name, _)| name == word) {
                (*filled).clone_into(word);
            }
        }
        let told = |ran: &str| format!("{}: `{command}`: {ran}", printed.reason);
        if words[0] == "git" {
            for call in words.split(|word| word == "&&") {
                let output = run_git(self.repository, &call[1..]);
                assert!(output.status.success(), "{}", told(&String::from_utf8_lossy(&output.stderr)));
            }
            return Some(!["branch", "status"].contains(&words[1].as_str()));
        }
        assert_eq!(words[0], "cto", "{}", told("no program of ours"));
        if words[1] == "approve" {
            let packet = (self.cto)(&["packet", &words[2], "--json"]).expect(0).json();
            let sentence = packet["approval_command_text"].as_str().unwrap().to_owned();
            words.extend(["--sentence".to_owned(), sentence]);
        }
        let mut ran = self.types(&words);
        if ran.code == 2 && ran.stderr.contains("next  cto init ") {
            // A record needs a workspace: the way there is printed, and leads back.
            let _ = (self.cto)(&["init", "."]).expect(0);
            ran = self.types(&words);
        }
        let expected = VERDICTS.iter().find(|(name, _)| *name == words[1]).map_or(0, |(_, code)| *code);
        assert_eq!(ran.code, expected, "{}", told(&ran.told()));
        // A part of a patch that is named must be in it; every other command may say in a note that there is nothing, and a list
        // without rows prints none on a pipe.
        let is_list = ["approvals", "queue", "runs"].contains(&words[1].as_str());
        let is_told = is_list || !ran.stdout.is_empty() || (words[1] != "diff" && !ran.stderr.is_empty());
        assert!(is_told, "{}", told(&format!("shows nothing: {}", ran.told())));
        Some(!LOOKS.contains(&words[1].as_str()))
    }

    /// Pastes all remedies that a run printed, and runs it again if one of them changed something: what was refused for that reason
    /// must come further. Gives the number of commands.
    pub(crate) fn paste_all(&self, printed: &Ran, again: &dyn Fn() -> Ran) -> usize {
        let mut pasted = 0;
        let mut acted = Vec::new();
        for remedy in printed_remedies(printed) {
            assert!(!remedy.remedy.is_empty(), "{} says nothing to do", remedy.reason);
            let changes = self.paste(&remedy);
            pasted += usize::from(changes.is_some());
            acted.extend((changes == Some(true)).then_some(remedy));
        }
        if !acted.is_empty() {
            let after = again();
            let left = printed_remedies(&after);
            let stuck: Vec<&PrintedRemedy> = acted.iter().filter(|remedy| left.contains(remedy)).collect();
            assert!(stuck.is_empty(), "no further after its remedy: {stuck:?}\n{}", after.told());
        }
        pasted
    }

    /// Follows what is printed, one act after the other, until nothing is refused; gives the reasons on the way.
    pub(crate) fn follow(&self, again: &dyn Fn() -> Ran) -> Vec<String> {
        let mut reasons = Vec::new();
        for _ in 0..MOST_STEPS {
            let ran = again();
            if ran.code == 0 {
                return reasons;
            }
            let printed = printed_remedies(&ran);
            let first = printed.iter().find(|printed| Remedy::parse_text(&printed.remedy).command.is_some());
            let first = first.unwrap_or_else(|| panic!("no command leads on: {}", ran.told()));
            reasons.push(first.reason.clone());
            let _ = self.paste(first);
        }
        panic!("after {MOST_STEPS} remedies it is refused still: {reasons:?}")
    }
}

/// Remedies that one after the other lead to a run that is not refused.
const MOST_STEPS: usize = 6;
