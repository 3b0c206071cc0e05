//! Names that git takes for a branch, by the rules of `git check-ref-format --branch`, without its shorthands.

use std::fmt;

/// With `.lock` behind it a component must still fit into a file name.
const LONGEST_COMPONENT: usize = 240;
const LONGEST: usize = 1000;

/// A name under `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchName(String);

/// Why text is no branch's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchNameProblem {
    Empty,
    TooLong,
    Reserved,
    LeadingDash,
    Character(char),
    Sequence(&'static str),
    EmptyComponent,
    DotComponent,
    LockComponent,
    TrailingDot,
}

impl fmt::Display for BranchNameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong => f.write_str("it is too long"),
            Self::Reserved => f.write_str("git has another meaning for it"),
            Self::LeadingDash => f.write_str("it begins with `-`"),
            Self::Character(character) => write!(f, "it holds {character:?}"),
            Self::Sequence(sequence) => write!(f, "it holds `{sequence}`"),
            Self::EmptyComponent => f.write_str("it begins or ends with `/`, or holds `//`"),
            Self::DotComponent => f.write_str("a part of it begins with `.`"),
            Self::LockComponent => f.write_str("a part of it ends with `.lock`"),
            Self::TrailingDot => f.write_str("it ends with `.`"),
        }
    }
}

impl std::error::Error for BranchNameProblem {}

impl BranchName {
    pub fn parse(text: &str) -> Result<BranchName, BranchNameProblem> {
        match problem(text) {
            Some(problem) => Err(problem),
            None => Ok(BranchName(text.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As git's files have it.
    pub(super) fn reference(&self) -> Vec<u8> {
        format!("refs/heads/{}", self.0).into_bytes()
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
