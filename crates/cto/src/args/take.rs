//! Arguments of `cto take`.

use std::path::PathBuf;

use clap::Args;
use contract::taken::Person;
use tree::BranchName;

/// Arguments of `cto take`.
#[derive(Debug, Args)]
#[command(after_help = "\
Takes patches of passed runs, from stage 3 on. Verifies the bundle and builds the result again first. Writes only the \
new branch and its objects, and runs no hook. A signed record says that you took it.

Examples:
  cto take @
  cto take b9tc --branch fix/slugify

Exit codes: 0 taken or there already, 1 the bundle does not verify, 2 wrong usage, 3 refused.")]
pub(crate) struct TakeArgs {
    /// A run: its id, a unique beginning of it or of its last part, `@` for the last one, `@-1` for the one before
    pub(crate) run: String,
    /// The new branch; default: the contract's branch_policy, else cto/TASK/RUN
    #[arg(long, value_name = "NAME", value_parser = branch)]
    pub(crate) branch: Option<BranchName>,
    /// The repository, if the contract names another path; it must have the baseline's commit
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Author and committer; default: git's configuration
    #[arg(long, value_name = "'NAME <MAIL>'", value_parser = person)]
    pub(crate) author: Option<Person>,
}

fn branch(text: &str) -> Result<BranchName, String> {
    BranchName::parse_name(text).map_err(|problem| format!("git takes no such name for a branch: {problem}"))
}

fn person(text: &str) -> Result<Person, String> {
    let wrong = || "an author is a name and an address, such as 'Ada Lovelace <ada@example.org>'".to_owned();
    let (name, rest) = text.split_once('<').ok_or_else(wrong)?;
    let email = rest.strip_suffix('>').ok_or_else(wrong)?;
    let (name, email) = (name.trim(), email.trim());
    let plain = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control() || matches!(c, '<' | '>'));
    if plain(name) && plain(email) {
        return Ok(Person { name: name.to_owned(), email: email.to_owned() });
    }
    Err(wrong())
}
