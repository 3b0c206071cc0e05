//! Files and functions that the pages for contributors name are there. A page that names what was moved leads nowhere.

mod chores;
mod documented;
mod documented_keys;
mod figures;
mod reader_test;
mod run_file_checks;
mod stale_words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::repository_root;

const PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Source files by their paths below `crates`.
fn sources(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let below = path.strip_prefix(repository_root().join("crates")).unwrap().to_path_buf();
            found.insert(below, fs::read_to_string(&path).unwrap());
        }
    }
}

fn all_sources() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    sources(&repository_root().join("crates"), &mut found);
    found
}

/// The texts between backticks of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_source(text: &str) -> bool {
    text.ends_with(".rs") && text.bytes().all(|byte| byte.is_ascii_lowercase() || b"0123456789_/.".contains(&byte))
}

/// The files that a page may mean: a path below the repository or its `crates`, or the end of one.
fn meant<'a>(sources: &'a BTreeMap<PathBuf, String>, text: &str) -> Vec<&'a str> {
    let text = text.strip_prefix("crates/").unwrap_or(text);
    let named = sources.iter().filter(|(path, _)| path.ends_with(text));
    let code = named.map(|(_, code)| code.as_str()).collect();
    if repository_root().join(text).exists() { vec![""] } else { code }
}

#[test]
fn files_that_a_page_names_are_there() {
    let sources = all_sources();
    for page in PAGES {
        let text = fs::read_to_string(repository_root().join(page)).unwrap();
        let named: Vec<&str> = text.lines().flat_map(quoted).filter(|text| is_source(text)).collect();
        assert!(named.len() > 10, "{page}: {named:?}");
        let lost: Vec<&&str> = named.iter().filter(|text| meant(&sources, text).is_empty()).collect();
        assert!(lost.is_empty(), "{page} names files that are not there: {lost:?}");
    }
}

/// Words between a name and the file that has it: `NAME` (`file.rs`).
const BEFORE_FILE: [&str; 3] = [" (", " of ", " in "];

/// Names of a line with the file beside them.
fn named_places(line: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = line.split('`').collect();
    let mut found = Vec::new();
    for at in (3..parts.len()).step_by(2).filter(|at| is_source(parts[*at])) {
        if BEFORE_FILE.contains(&parts[at - 1]) {
            found.push((parts[at - 2], parts[at]));
            if at > 4 && parts[at - 3] == " or " {
                found.push((parts[at - 4], parts[at]));
            }
        }
    }
    found.into_iter().filter(|(name, _)| is_name(name)).collect()
}

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_:!".contains(&byte);
    text.bytes().all(is_letter) && text.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// True if the code declares a macro, a table, a function, a type or a closure of this name.
fn declares(code: &str, name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    if let Some(name) = last.strip_suffix('!') {
        return code.contains(&format!("macro_rules! {name} "));
    }
    let words = ["const", "static", "fn", "struct", "enum", "trait", "let"];
    words.iter().any(|word| {
        let declared = format!("{word} {last}");
        code.match_indices(&declared).any(|(at, _)| !code[at + declared.len()..].starts_with(is_word_letter))
    })
}

fn is_word_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[test]
fn tables_and_functions_that_a_page_names_are_in_their_files() {
    let sources = all_sources();
    let mut seen = 0;
    for page in PAGES {
        let text = fs::read_to_string(repository_root().join(page)).unwrap();
        for (name, file) in text.lines().flat_map(named_places) {
            let own = fs::read_to_string(repository_root().join(file)).unwrap_or_default();
            let code = meant(&sources, file);
            let is_there = declares(&own, name) || code.iter().any(|code| declares(code, name));
            assert!(is_there, "{page} names `{name}` in {file}, which does not declare it");
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen}");
    let line = "A row in `one!` (`a/b.rs`), in `A` or `B` of `c.rs`, or in `+= 1` (`d.rs`).";
    assert_eq!(named_places(line), [("one!", "a/b.rs"), ("B", "c.rs"), ("A", "c.rs")]);
    assert!(declares("const ONE: u8 = 1;", "ONE") && declares("macro_rules! one {", "one!"));
    assert!(!declares("const ONES: u8 = ONE;", "ONE") && !declares("one!()", "one!"), "control");
}

#[test]
fn functions_that_a_walk_names_are_in_their_files() {
    let sources = all_sources();
    let page = fs::read_to_string(repository_root().join("ARCHITECTURE.md")).unwrap();
    let walks = page.split("\n## Walks\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let hops = walks.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let mut seen = 0;
    for hop in hops {
        let (head, _) = hop.split_once(": ").unwrap();
        let (files, names): (Vec<&str>, Vec<&str>) = quoted(head).partition(|text| is_source(text));
        let code: Vec<&str> = files.iter().flat_map(|file| meant(&sources, file)).collect();
        for name in names {
            let function = format!("fn {}", name.rsplit("::").next().unwrap());
            assert!(code.iter().any(|code| code.contains(&function)), "{hop}: no `{function}` in {files:?}");
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen}");
}

/// The folder of a source in its crate: the first below `src`.
fn folder_of(source: &str) -> &str {
    let below = source.split_once("/src/").map_or(source, |(_, below)| below);
    below.split('/').next().unwrap_or(below)
}

/// Folders of the hops of a walk that it had left before.
fn folders_met_again<'a>(hops: &[&'a str]) -> Vec<&'a str> {
    let mut folders: Vec<&str> = Vec::new();
    let mut again = Vec::new();
    for hop in hops {
        let (head, _) = hop.split_once(": ").unwrap();
        let Some(folder) = quoted(head).find(|text| is_source(text)).map(folder_of) else { continue };
        if folders.last() != Some(&folder) {
            again.extend(folders.contains(&folder).then_some(folder));
            folders.push(folder);
        }
    }
    again
}

#[test]
fn no_walk_comes_back_into_a_folder_that_it_has_left() {
    let page = fs::read_to_string(repository_root().join("ARCHITECTURE.md")).unwrap();
    let walks = page.split("\n## Walks\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut seen = 0;
    for walk in walks.split("\n**").skip(1) {
        let is_hop = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
        let hops: Vec<&str> = walk.lines().filter(is_hop).collect();
        assert_eq!(folders_met_again(&hops), [""; 0], "{walk}");
        seen += hops.len();
    }
    assert!(seen > 25, "{seen}");
    let control = ["1. `a/src/run/x.rs` `f`: y", "2. `seal/b.rs` `g`: y", "3. `run/c.rs` `h`: y"];
    assert_eq!(folders_met_again(&control), ["run"]);
}

/// Body of a function of a file, with its head.
fn function_text<'a>(source: &'a str, head: &str) -> Option<&'a str> {
    let from = &source[source.find(head)?..];
    from.find("\n}\n").map(|end| &from[..end + 3])
}

#[test]
fn the_spine_on_the_page_is_that_of_the_code() {
    let page = fs::read_to_string(repository_root().join("ARCHITECTURE.md")).unwrap();
    let code = fs::read_to_string(repository_root().join("crates/harness/src/spine.rs")).unwrap();
    let follow = function_text(&code, "fn follow(").unwrap();
    assert!(follow.lines().count() > 10 && follow.contains("seal_run"), "{follow}");
    assert!(page.contains(&format!("```rust\n{follow}```")), "copy `follow` of spine.rs into ARCHITECTURE.md");
}
