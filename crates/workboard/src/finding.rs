//! A finding: one place in one file, the rule that it breaks, and the way to mend it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::check_rule::CheckRule;
use crate::rules::WordRule;

/// Weight of a finding: an error makes the workspace invalid, advice does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Advice,
}

impl Severity {
    /// Spelling in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Advice => "advice",
        }
    }
}

/// The one right edit for a finding: bytes from `start` to `end` become `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFix {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// Something that does not hold, or is only old-fashioned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Path below the workspace, with `/`.
    pub file: String,
    /// Line and column count from 1, columns in characters.
    pub line: usize,
    pub column: usize,
    pub rule: String,
    pub severity: Severity,
    pub message: String,
    /// Action for a person.
    pub remedy: String,
    /// True if `--fix` can make the edit.
    pub fixable: bool,
    #[serde(skip)]
    #[schemars(skip)]
    pub fix: Option<TextFix>,
}

impl Finding {
    /// A finding about a whole file.
    pub fn about_file(file: &str, rule: CheckRule, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::at_place(file, (1, 1), rule, message, remedy)
    }

    /// A finding at a line and column.
    pub fn at_place(
        file: &str,
        place: (usize, usize),
        rule: CheckRule,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(file, place, rule.id(), message.into(), remedy.into())
    }

    /// A finding by a rule about words, which brings its own id and remedy.
    pub(crate) fn of_words(file: &str, place: (usize, usize), rule: &WordRule, message: String) -> Self {
        Self::new(file, place, &rule.id, message, rule.remedy.clone())
    }

    fn new(file: &str, (line, column): (usize, usize), rule: &str, message: String, remedy: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            column,
            rule: rule.to_owned(),
            severity: Severity::Error,
            message,
            remedy,
            fixable: false,
            fix: None,
        }
    }

    /// The same, as advice.
    #[must_use]
    pub fn as_advice(self) -> Self {
        Self { severity: Severity::Advice, ..self }
    }

    /// The same with the edit that mends it.
    #[must_use]
    pub fn with_fix(self, fix: TextFix) -> Self {
        Self { fixable: true, fix: Some(fix), ..self }
    }

    /// `file:line:column: severity: [rule] message; remedy`, which editors and CI read.
    pub fn plain_line(&self) -> String {
        let Self { line, column, rule, message, remedy, .. } = self;
        let (file, severity) = (contract::text::show_controls(&self.file), self.severity.as_str());
        let (message, remedy) = (contract::text::show_controls(message), contract::text::show_controls(remedy));
        format!("{file}:{line}:{column}: {severity}: [{rule}] {message}; {remedy}")
    }
}
