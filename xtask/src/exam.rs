//! `cargo xtask exam`: docs/formats/exam-set.md holds the tables of the exam set as the
//! program has them.

use std::path::PathBuf;

use crate::ChoreResult;
use crate::process::{cargo, command_output, repository_root};

const BEGIN: &str = "<!-- begin: made by `cargo xtask exam` -->\n";
const END: &str = "\n<!-- end -->\n";

/// Writes the tables into the page.
pub(crate) fn write_tables() -> ChoreResult {
    let (path, page) = (page(), stored()?);
    let made = made(&page)?;
    std::fs::write(&path, made).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("the tables in {}", path.display());
    Ok(())
}

/// Fails if the page's tables differ from the program's.
pub(crate) fn check_tables() -> ChoreResult {
    let page = stored()?;
    match made(&page)? == page {
        true => Ok(()),
        false => Err("docs/formats/exam-set.md differs from the exam set: run `cargo xtask exam`".to_owned()),
    }
}

fn page() -> PathBuf {
    repository_root().join("docs/formats/exam-set.md")
}

fn stored() -> ChoreResult<String> {
    std::fs::read_to_string(page()).map_err(|error| format!("cannot read {}: {error}", page().display()))
}

/// The page with the tables of this source between its markers.
fn made(page: &str) -> ChoreResult<String> {
    let missing = || format!("{}: a marker is missing", self::page().display());
    let (before, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let tables = command_output(&mut cargo(&["run", "--quiet", "--package", "contract", "--example", "exam_set"]))?;
    Ok(format!("{before}{BEGIN}{tables}{END}{after}"))
}
