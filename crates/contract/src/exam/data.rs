//! Test data: files that tests read or compare with, in folders with a telling name. Source
//! in such a folder is source.

/// Names of folders, at any depth.
pub const DATA_FOLDERS: &[&str] = &["fixtures", "testdata", "expected", "golden", "snapshots", "cassettes"];

/// Endings of files that a compiler or an interpreter reads.
const SOURCE_ENDINGS: &[&str] = &[
    "asm", "bash", "bat", "c", "cc", "cjs", "clj", "cljs", "cpp", "cs", "cts", "cxx", "d", "dart", "erl", "ex", "exs",
    "f90", "fish", "fs", "fsx", "go", "groovy", "h", "hh", "hpp", "hrl", "hs", "hxx", "java", "jl", "js", "jsx", "kt",
    "kts", "lua", "m", "mjs", "ml", "mli", "mm", "mts", "nim", "php", "pl", "pm", "ps1", "py", "pyi", "pyx", "r", "rb",
    "rs", "s", "scala", "sh", "svelte", "swift", "ts", "tsx", "vb", "vue", "zig", "zsh",
];

/// True if a path lies in a folder of data and is no source.
pub fn is_test_data(path: &[u8]) -> bool {
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let name = parts.next().unwrap_or_default();
    parts.any(|part| DATA_FOLDERS.iter().any(|folder| folder.as_bytes() == part)) && !is_source_name(name)
}

/// True if a file of this name is read by a compiler or an interpreter.
pub fn is_source_name(name: &[u8]) -> bool {
    let ending = name.iter().rposition(|byte| *byte == b'.').map(|dot| name[dot + 1..].to_ascii_lowercase());
    ending.is_some_and(|ending| SOURCE_ENDINGS.iter().any(|known| known.as_bytes() == ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_read_is_data_and_code_is_not() {
        for folder in DATA_FOLDERS {
            assert!(is_test_data(format!("src/{folder}/deep/a.json").as_bytes()), "{folder}");
        }
        for (path, data) in [
            ("fixtures/a.json", true),
            ("app/fixtures/users.yaml", true),
            ("expected/out", true),
            ("golden/page.html", true),
            ("golden/.hidden", true),
            ("fixtures/users.py", false),
            ("fixtures/USERS.PY", false),
            ("crates/fixtures/src/lib.rs", false),
            ("fixtures", false),
            ("src/fixtures.json", false),
            ("myfixtures/a.json", false),
            ("src/expected.txt", false),
        ] {
            assert_eq!(is_test_data(path.as_bytes()), data, "{path}");
        }
    }
}
