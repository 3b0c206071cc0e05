//! A draft of a whole contract: the words of the person, and the repository's own tests,
//! sources and environment.

mod checks;
mod ci;
mod sources;
mod variants;

use std::fmt::Write as _;
use std::path::Path;

use contract::task::Command;
use untrusted_fs::own_files;

use crate::environment::{EnvironmentDraft, SuggestEnvironmentError, draft_environment};
use crate::machine::{DraftChoice, MachineTools};
use crate::repository::list_project_folders;
use crate::yaml::{scalar, write_comment};

pub use variants::{EnvironmentVariant, VariantSearch};

/// The part of a contract that a repository does not know.
#[derive(Debug)]
pub struct ContractWords<'a> {
    pub task_id: &'a str,
    pub brief: &'a str,
    /// Paths that the person allows; the folders of sources that were found where they name
    /// none.
    pub allowed_paths: &'a [String],
    /// Path of the repository, where the contract is to name it.
    pub repository: Option<&'a str>,
}

/// A command of the exam, and the files that speak for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftCheck {
    pub(crate) command: Command,
    pub(crate) why: String,
}

/// Everything that a repository says about a contract for it.
#[derive(Debug, Clone)]
pub struct ContractDraft {
    checks: Vec<DraftCheck>,
    sources: Vec<String>,
    /// Commands of CI files that look like tests.
    ci: Vec<String>,
    environment: Option<EnvironmentDraft>,
}

/// Reads a repository for a contract. Nothing is started.
pub fn draft_contract(dir: &Path, tools: &MachineTools) -> Result<ContractDraft, SuggestEnvironmentError> {
    let root = own_files::canonicalize(dir).map_err(SuggestEnvironmentError::Look)?;
    let folders = list_project_folders(&root).map_err(SuggestEnvironmentError::Look)?;
    let environment = draft_environment(&folders, tools, DraftChoice::USUAL);
    Ok(ContractDraft {
        checks: checks::find_checks(&folders),
        sources: folders.first().map(sources::find_sources).unwrap_or_default(),
        ci: folders.first().map(ci::find_ci_tests).unwrap_or_default(),
        environment: (environment.count_projects() > 0).then_some(environment),
    })
}

const HEAD: &str = "Drafted by cto new from what lies in the repository. Read it and change what is wrong; a run does what stands here.";
const NO_CHECKS: &str = "Nothing in the repository says how it is tested. Name the commands of the exam, or write no_test_rationale and why; \
                         without either a run is blocked.";
const NO_SOURCES: &str =
    "No folder of sources was found. Name the paths that may change; without any a run is blocked.";
const UNSAID: &str = "Unless said: title is the first line of the brief, mutation_mode is copied-fixture, forbidden_actions are all ten. The \
                      owner is who git says you are. cto decide shows what the contract resolves to.";

impl ContractDraft {
    /// The same contract in another environment.
    pub fn in_environment(self, environment: Option<EnvironmentDraft>) -> Self {
        Self { environment, ..self }
    }

    /// True if a command of the exam was found.
    pub fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// The contract as YAML, with comments.
    pub fn yaml(&self, words: &ContractWords<'_>) -> String {
        let mut out = String::new();
        write_comment(&mut out, "", HEAD);
        let _ = writeln!(out, "schema_version: \"1\"\ntask_id: {}\nbrief: |", scalar(words.task_id));
        write_block(&mut out, words.brief);
        write_comment(
            &mut out,
            "",
            "low, medium or high: how much harm a mistake could do; stages 5 and 6 take low only",
        );
        out.push_str("risk_class: medium\n");
        self.write_paths(&mut out, words.allowed_paths);
        self.write_checks(&mut out);
        if let Some(repository) = words.repository {
            let _ = writeln!(out, "source_repository: {}", scalar(repository));
        }
        if let Some(environment) = &self.environment {
            environment.write_yaml(&mut out);
        }
        write_comment(&mut out, "", UNSAID);
        out
    }

    fn write_paths(&self, out: &mut String, said: &[String]) {
        let paths = if said.is_empty() { &self.sources } else { said };
        if paths.is_empty() {
            write_comment(out, "", NO_SOURCES);
        } else if said.is_empty() {
            write_comment(out, "", "the folders of sources; narrow it to what the task needs");
        }
        let paths: Vec<String> = paths.iter().map(|path| scalar(path)).collect();
        let _ = writeln!(out, "allowed_paths: [{}]", paths.join(", "));
    }

    fn write_checks(&self, out: &mut String) {
        for line in &self.ci {
            write_comment(out, "", &format!("CI runs: {line}"));
        }
        if self.checks.is_empty() {
            write_comment(out, "", NO_CHECKS);
            out.push_str("verification_commands: []\n");
            return;
        }
        out.push_str("verification_commands:\n");
        for check in &self.checks {
            write_comment(out, "  ", &check.why);
            let argv: Vec<String> = check.command.argv.iter().map(|word| scalar(word)).collect();
            let (argv, seconds) = (argv.join(", "), check.command.timeout_seconds);
            let cwd = check.command.cwd.as_ref().map_or_else(String::new, |cwd| format!(", cwd: {}", scalar(cwd)));
            let _ = writeln!(out, "  - {{argv: [{argv}], timeout_seconds: {seconds}{cwd}}}");
        }
    }
}

/// A literal block. A tab or a space at the beginning of a line stays; control characters
/// that YAML has no place for do not.
fn write_block(out: &mut String, text: &str) {
    let is_kept = |letter: &char| {
        *letter == '\t' || !letter.is_control() && !matches!(letter, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    // The first line decides how far a block is indented, so that it must not begin with a
    // space of its own.
    for line in text.trim().lines() {
        let line: String = line.chars().filter(is_kept).collect();
        let line = line.trim_end();
        let _ = if line.is_empty() { writeln!(out) } else { writeln!(out, "  {line}") };
    }
}

/// Characters of a task id that is made of words.
const ID_LENGTH: usize = 48;

/// Task id from the words of a brief or a title: lower case, words joined by dashes.
pub fn task_id_of(words: &str) -> String {
    let mut id = String::new();
    for word in words.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if id.len() + word.len() >= ID_LENGTH {
            break;
        }
        if !id.is_empty() {
            id.push('-');
        }
        id.push_str(&word.to_ascii_lowercase());
    }
    if id.is_empty() { "task".to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_words() {
        for (words, id) in [
            ("fix the crash in parse()", "fix-the-crash-in-parse"),
            ("  #42: Ünïcode & more ", "42-n-code-more"),
            ("…", "task"),
            ("", "task"),
            (&"x".repeat(100), "task"),
            (&"word ".repeat(40), "word-word-word-word-word-word-word-word-word"),
        ] {
            assert_eq!(task_id_of(words), id, "{words}");
        }
    }

    #[test]
    fn a_brief_is_a_block_whatever_it_holds() {
        let mut out = String::new();
        write_block(&mut out, "  a\n\n\tb: c\u{1b}[31m\n---\nrisk_class: low\u{85}\n");
        assert_eq!(out, "  a\n\n  \tb: c[31m\n  ---\n  risk_class: low\n");
    }
}
