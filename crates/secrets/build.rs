//! Makes what is looked for of the standard rules, from their tables and by the crate's own
//! code.

#[path = "src/filter.rs"]
#[expect(dead_code, reason = "tables are only made here")]
mod filter;
#[path = "src/literal.rs"]
mod literal;
#[path = "src/rule.rs"]
#[expect(dead_code, unreachable_pub, reason = "only what a table is made of is read here")]
mod rule;
#[path = "src/rules/mod.rs"]
mod rules;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    for source in ["build.rs", "src/filter.rs", "src/literal.rs", "src/rule.rs", "src/rules"] {
        println!("cargo::rerun-if-changed={source}");
    }
    let out = out_dir()?;
    let (index, grams) = literal::indexed(rules::all());
    let mut entries = String::new();
    for filter::GramEntry { gram_at, start, end, fold, target: (rule, form) } in &*index.entries {
        // Writing to a String cannot fail.
        let _ = writeln!(
            entries,
            "GramEntry {{ gram_at: {gram_at}, start: {start}, end: {end}, fold: {fold}, target: ({rule}, Form::{form:?}) }},"
        );
    }
    fs::write(out.join("texts"), &index.texts)?;
    fs::write(out.join("table"), &grams.0)?;
    let standard = format!(
        "pub(super) static GRAMS: &[u32] = &{:?};\n\
         pub(super) static AROUND: &[GramContext] = &{:?};\n\
         pub(super) static HEADS: &[u32] = &{:?};\n\
         pub(super) static ENTRIES: &[GramEntry<(usize, Form)>] = &[\n{entries}];\n\
         pub(super) static TEXTS: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/texts\"));\n\
         pub(super) static TABLE: &[u8; {}] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/table\"));\n",
        index.grams,
        index.around,
        index.heads,
        1_usize << filter::TABLE_BITS,
    );
    fs::write(out.join("standard.rs"), standard)
}

#[expect(clippy::disallowed_methods, reason = "cargo gives a build script its folder in the environment only")]
fn out_dir() -> io::Result<PathBuf> {
    std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("cargo did not set OUT_DIR"))
}
