//! Pages of the documentation name only what there is: links, files, and names of codes, keys and variables.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::repository_root;

/// A page with its path from the root of the repository.
pub(super) struct DocumentedPage {
    pub(super) name: String,
    pub(super) text: String,
}

fn find_files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            find_files(&path, endings, found);
        } else if path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending)) {
            found.push(path);
        }
    }
}

pub(super) fn read_pages() -> Vec<DocumentedPage> {
    let mut files =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|page| repository_root().join(page)).to_vec();
    find_files(&repository_root().join("docs"), &["md"], &mut files);
    let own = files.iter().filter(|file| !file.starts_with(repository_root().join("docs/examples")));
    own.map(|file| read_page(file)).collect()
}

pub(super) fn read_page(file: &Path) -> DocumentedPage {
    let name = file.strip_prefix(repository_root()).unwrap().display().to_string();
    DocumentedPage { name, text: fs::read_to_string(file).unwrap() }
}

/// A text as one line, however it is wrapped.
pub(super) fn join_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines outside of code blocks.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Texts between backticks.
pub(super) fn find_names(text: &str) -> BTreeSet<&str> {
    prose_lines(text).flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// Targets of links to files of the repository, from their page. What begins with a question mark is a pattern of a rule.
pub(super) fn find_links(text: &str) -> Vec<&str> {
    let bare = prose_lines(text).flat_map(|line| line.split('`').step_by(2));
    let targets = bare.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.is_empty() && !target.starts_with('?')).collect()
}

/// The anchor that a forge makes of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    prose_lines(text).filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// Reason why a link is broken.
fn link_problem(page: &DocumentedPage, link: &str) -> Option<String> {
    let (path, place) = link.split_once('#').map_or((link, None), |(path, place)| (path, Some(place)));
    let own = repository_root().join(&page.name);
    let file = if path.is_empty() { own } else { own.parent()?.join(path) };
    if !file.exists() {
        return Some(format!("{}: {link}: there is no such file", page.name));
    }
    let place = place?;
    let text = fs::read_to_string(&file).ok()?;
    (!anchors(&text).contains(place)).then(|| format!("{}: {link}: there is no such heading", page.name))
}

#[test]
fn every_link_leads_somewhere() {
    let pages = read_pages();
    let links: Vec<_> =
        pages.iter().flat_map(|page| find_links(&page.text).into_iter().map(move |it| (page, it))).collect();
    assert!(links.len() > 300, "{}", links.len());
    let lost: Vec<String> = links.iter().filter_map(|(page, link)| link_problem(page, link)).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    for wrong in ["docs/no-such-page.md", "docs/ladder.md#no-such-heading"] {
        let page = DocumentedPage { name: "README.md".to_owned(), text: String::new() };
        assert!(link_problem(&page, wrong).is_some(), "control");
    }
}

/// Folders of the repository that pages name files of.
const FOLDERS: [&str; 3] = ["crates/", "docs/", "xtask/"];

#[test]
fn every_file_that_a_page_names_is_there() {
    let pages = read_pages();
    let mut seen = 0;
    for page in &pages {
        let files = find_names(&page.text).into_iter().filter(|name| FOLDERS.iter().any(|it| name.starts_with(it)));
        for file in files.filter(|name| !name.contains(['*', '{', ' ', 'N', 'I'])) {
            assert!(repository_root().join(file).exists(), "{} names {file}, which is not there", page.name);
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

/// Lines that open a block of code without saying its language. Commands in such a block are read by no test.
fn bare_blocks(text: &str) -> Vec<usize> {
    let mut is_open = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("```")) {
        if !is_open && line.trim() == "```" {
            found.push(index + 1);
        }
        is_open = !is_open;
    }
    found
}

#[test]
fn every_block_of_code_names_its_language() {
    for page in &read_pages() {
        let bare = bare_blocks(&page.text);
        assert!(bare.is_empty(), "{}: {bare:?}: write sh, console or text behind the marks", page.name);
    }
    assert_eq!(bare_blocks("```sh\na\n```\n\n```\ncto run\n```\n"), [5], "control");
}

/// True for a code, a key or a variable: two words and more between underscores.
fn is_code_name(name: &str) -> bool {
    let letters = |wanted: fn(&u8) -> bool| name.bytes().all(|it| wanted(&it) || it.is_ascii_digit() || it == b'_');
    let is_one_case = letters(u8::is_ascii_lowercase) || letters(u8::is_ascii_uppercase);
    is_one_case && name.trim_matches('_').contains('_') && !name.starts_with('_')
}

/// Names that pages use and the source does not spell out.
const FOREIGN: &[&str] = &[
    // Words of the kernel, pip, npm and Python.
    "RLIMIT_FSIZE",
    "O_NOATIME",
    "O_TMPFILE",
    "LD_PRELOAD",
    "PIP_FIND_LINKS",
    "npm_config_cache",
    "sort_keys",
    // Read by the shell harness, and no longer.
    "GITHUB_ORG",
    "DEFAULT_SANDCASTLE_PROVIDER",
    "SANDCASTLE_REPO",
    // Words of PostgreSQL.
    "pg_dump",
    "pg_terminate_backend",
    // Read by a hermes-webui.
    "HERMES_WEBUI_EXTENSION_DIR",
    // Made of an engine's name.
    "case_pass",
    "case_stage1",
    "case_stage5",
    "case_stage6",
];

/// True for a name that the source spells out, or that it makes of an engine's name: `CTO_HARNESS_CODEX_STAGE`.
fn is_in_source(words: &BTreeSet<String>, name: &str) -> bool {
    let of_engine = name.strip_prefix("CTO_HARNESS_").and_then(|rest| rest.split_once('_'));
    let is_composed = of_engine.is_some_and(|(engine, setting)| match engine {
        "ALLOW" => words.contains("CTO_HARNESS_ALLOW_"),
        _ => words.contains(&format!("_{setting}")) || words.contains(setting),
    });
    words.contains(name) || FOREIGN.contains(&name) || is_composed
}

/// Text of every file that is part of the program or of its chores, without tests and comments.
pub(super) fn source_texts() -> Vec<String> {
    let mut files = Vec::new();
    let endings = ["rs", "yaml", "json", "sql", "html", "js", "css", "toml", "py", "sh"];
    for folder in ["crates", "xtask", "docs/formats", "docs/examples"] {
        find_files(&repository_root().join(folder), &endings, &mut files);
    }
    let own = files.iter().filter(|file| !is_of_tests(file));
    own.filter_map(|file| Some(without_tests(file, &fs::read_to_string(file).ok()?))).collect()
}

fn is_of_tests(file: &Path) -> bool {
    let names = ["tests", "tests.rs", "benches"];
    file.strip_prefix(repository_root()).unwrap().iter().any(|part| names.iter().any(|name| part == *name))
}

fn without_tests(file: &Path, text: &str) -> String {
    if file.extension().is_none_or(|it| it != "rs") {
        return text.to_owned();
    }
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\n#[expect").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn source_words() -> BTreeSet<String> {
    let split = |text: String| {
        let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').map(str::to_owned);
        words.collect::<Vec<_>>()
    };
    source_texts().into_iter().flat_map(split).collect()
}

#[test]
fn every_code_key_and_variable_that_a_page_names_is_in_the_source() {
    let (pages, words) = (read_pages(), source_words());
    let mut seen = 0;
    let mut lost = Vec::new();
    for page in &pages {
        for name in find_names(&page.text).into_iter().filter(|name| is_code_name(name)) {
            seen += 1;
            if !is_in_source(&words, name) {
                lost.push(format!("{}: {name}", page.name));
            }
        }
    }
    assert!(lost.is_empty(), "names that the program does not have:\n{}", lost.join("\n"));
    assert!(seen > 500, "{seen}");
    for wrong in [["no_such", "_reason"].concat(), ["CTO_HARNESS_PI_NO", "_SUCH"].concat()] {
        assert!(!is_in_source(&words, &wrong), "control");
    }
}

#[test]
fn names_and_anchors_are_read_as_a_forge_reads_them() {
    assert_eq!(anchor("## `cto run` and 2, again"), "cto-run-and-2-again");
    assert!(is_code_name("verification_failed") && is_code_name("CTO_HOME"));
    assert!(!is_code_name("verification") && !is_code_name("Some_Type") && !is_code_name("a.b_c"));
    let code = "let a = \"one\";\n// two\n#[cfg(test)]\nmod tests {\n\"three\"";
    assert_eq!(without_tests(Path::new("a.rs"), code), "let a = \"one\";");
    let text = "a `one`\n```\n`two`\n```\n[x](a.md#b) [y](https://a.b)";
    assert_eq!(find_names(text).into_iter().collect::<Vec<_>>(), ["one"]);
    assert_eq!(find_links(text), ["a.md#b"]);
}
