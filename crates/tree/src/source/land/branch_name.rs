//! Names that git takes for a branch, by the rules of `git check-ref-format --branch`,
//! without its shorthands.

use std::fmt;

/// Longest component: with `.lock` appended it must still fit into a file name.
const LONGEST_COMPONENT: usize = 240;
const LONGEST: usize = 1000;

/// A name under `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchName(String);

/// Rule that a text breaks as a branch name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BranchNameProblem {
    #[error("it is empty")]
    Empty,
    #[error("it is too long")]
    TooLong,
    #[error("git has another meaning for it")]
    Reserved,
    #[error("it begins with `-`")]
    LeadingDash,
    #[error("it holds {0:?}")]
    Character(char),
    #[error("it holds `{0}`")]
    Sequence(&'static str),
    #[error("it begins or ends with `/`, or holds `//`")]
    EmptyComponent,
    #[error("a part of it begins with `.`")]
    DotComponent,
    #[error("a part of it ends with `.lock`")]
    LockComponent,
    #[error("it ends with `.`")]
    TrailingDot,
}

impl BranchName {
    /// Accepts a name that git would accept for a new branch.
    pub fn parse_name(text: &str) -> Result<BranchName, BranchNameProblem> {
        match problem(text) {
            Some(problem) => Err(problem),
            None => Ok(BranchName(text.to_owned())),
        }
    }

    /// Name without `refs/heads/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn problem(text: &str) -> Option<BranchNameProblem> {
    use BranchNameProblem as Problem;
    if text.is_empty() {
        return Some(Problem::Empty);
    }
    if text.len() > LONGEST {
        return Some(Problem::TooLong);
    }
    if matches!(text, "@" | "HEAD") || text.starts_with("refs/heads/") {
        return Some(Problem::Reserved);
    }
    if text.starts_with('-') {
        return Some(Problem::LeadingDash);
    }
    if let Some(bad) = text.chars().find(|character| is_bad(*character)) {
        return Some(Problem::Character(bad));
    }
    if let Some(bad) = ["..", "@{"].into_iter().find(|sequence| text.contains(sequence)) {
        return Some(Problem::Sequence(bad));
    }
    if text.ends_with('.') {
        return Some(Problem::TrailingDot);
    }
    text.split('/').find_map(component_problem)
}

fn is_bad(character: char) -> bool {
    character.is_control() || matches!(character, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
}

fn component_problem(component: &str) -> Option<BranchNameProblem> {
    use BranchNameProblem as Problem;
    match component {
        "" => Some(Problem::EmptyComponent),
        _ if component.starts_with('.') => Some(Problem::DotComponent),
        _ if component.ends_with(".lock") => Some(Problem::LockComponent),
        _ if component.len() > LONGEST_COMPONENT => Some(Problem::TooLong),
        _ => None,
    }
}
