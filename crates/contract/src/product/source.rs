//! Source files, by their names: those that a compiler reads before anything runs, and
//! those that an interpreter may never load.

/// Endings of files that are compiled or transpiled before they run.
const COMPILED: &[&str] = &[
    "ada", "adb", "ads", "asm", "c", "c++", "cc", "cpp", "cr", "cs", "cts", "cu", "cuh", "cxx", "d", "dart", "elm",
    "erl", "ex", "f", "f03", "f08", "f77", "f90", "f95", "for", "fs", "fsi", "go", "groovy", "h", "h++", "hh", "hpp",
    "hrl", "hs", "hxx", "idl", "inc", "inl", "ipp", "java", "jsx", "kt", "l", "less", "lex", "ll", "m", "ml", "mli",
    "mm", "mts", "nim", "odin", "pas", "proto", "pxd", "pxi", "pyx", "re", "res", "rs", "s", "sass", "scala", "scss",
    "swift", "sx", "thrift", "ts", "tsx", "v", "vala", "y", "ypp", "yy", "zig",
];

/// Endings of files that an interpreter reads, and that a build may bundle.
const INTERPRETED: &[&str] = &[
    "bash", "cjs", "clj", "cljs", "coffee", "js", "jl", "lua", "mjs", "php", "pl", "pm", "py", "pyi", "r", "rb", "sh",
    "tcl", "zsh",
];

/// Kind of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    Compiled,
    Interpreted,
}

/// Classifies a path by its ending; None where it names no source.
pub fn source_kind(path: &[u8]) -> Option<SourceKind> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    let ending = &name[name.iter().rposition(|byte| *byte == b'.')? + 1..];
    let is = |endings: &[&str]| endings.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(ending));
    match () {
        () if is(COMPILED) => Some(SourceKind::Compiled),
        () if is(INTERPRETED) => Some(SourceKind::Interpreted),
        () => None,
    }
}

/// Text that no compiler or interpreter of these languages accepts: unmatched closing
/// brackets. `mark` makes it unique, so that no cache has seen it.
pub fn poison_text(path: &[u8], mark: &str) -> Vec<u8> {
    // Outside of its tags, PHP prints whatever it finds.
    let tag = if path.ends_with(b".php") { "<?php " } else { "" };
    format!("{tag})]}} this does not compile: {mark} {{[(\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_told_by_its_ending() {
        for (path, kind) in [
            ("src/lib.rs", Some(SourceKind::Compiled)),
            ("a/b.F90", Some(SourceKind::Compiled)),
            ("main.c", Some(SourceKind::Compiled)),
            ("types.d.ts", Some(SourceKind::Compiled)),
            ("index.js", Some(SourceKind::Interpreted)),
            ("README.md", None),
            ("Makefile", None),
            ("data.json", None),
            ("go.mod", None),
            ("c", None),
        ] {
            assert_eq!(source_kind(path.as_bytes()), kind, "{path}");
        }
    }
}
