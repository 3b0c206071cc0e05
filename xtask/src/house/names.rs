//! Words by which no type, function or module is named: metaphors, each with the word of the field.

use std::path::Path;

/// A metaphor, and what stands for it.
const METAPHORS: &[(&str, &str)] = &[
    ("cell", "sandbox, or confined process"),
    ("cellar", "copies"),
    ("outfit", "call, or environment"),
    ("quarters", "mounts, or view of a program"),
    ("room", "exam sandbox, or tree"),
    ("stuff", "the thing itself"),
    ("tape", "recording, or spans"),
    ("taping", "recorder"),
    ("way", "route, manner, or source"),
];

/// Functions in whose names such a word is one of the field, each with its meaning.
const ALLOWED_FUNCTIONS: &[(&str, &str)] = &[
    ("add_cells", "cells of a table"),
    ("cells", "columns of a terminal"),
    ("judge_in_the_way", "what is in the way of a commit"),
    ("in_the_way", "a file in the way of another"),
    ("split_cells", "cells of a table"),
    ("tape", "a test runner of npm"),
];

/// Complaints about the names of types, of functions, and of the files in which modules are.
pub(super) fn find_metaphors<'a>(
    types: impl Iterator<Item = &'a str>,
    functions: impl Iterator<Item = &'a str>,
    files: impl Iterator<Item = &'a Path>,
) -> Vec<String> {
    let is_allowed = |name: &str| ALLOWED_FUNCTIONS.iter().any(|(allowed, _)| *allowed == name);
    let of_function =
        |name: &'a str| name.split('_').filter_map(move |word| complain("function", name, word)).collect::<Vec<_>>();
    let of_type = |name: &'a str| split_camel(name).into_iter().filter_map(move |word| complain("type", name, &word));
    let of_file = |file: &'a Path| {
        let parts = file.components().filter_map(|part| part.as_os_str().to_str());
        let words = parts.map(|part| part.trim_end_matches(".rs"));
        let words = words.flat_map(|part| part.split('_').map(str::to_owned)).collect::<Vec<_>>();
        words.into_iter().filter_map(move |word| complain("module", &file.display().to_string(), &word))
    };
    let functions = functions.filter(|name| !is_allowed(name)).flat_map(of_function);
    let mut found: Vec<String> = types.flat_map(of_type).chain(functions).chain(files.flat_map(of_file)).collect();
    found.dedup();
    found
}

/// Words of a name in camel case, in small letters.
fn split_camel(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        if letter.is_uppercase() || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

fn complain(what: &str, name: &str, word: &str) -> Option<String> {
    let is_it = |metaphor: &str| word == metaphor || word.strip_suffix('s') == Some(metaphor);
    let (metaphor, instead) = METAPHORS.iter().find(|(metaphor, _)| is_it(metaphor))?;
    Some(format!("{what} {name}: `{metaphor}` is a metaphor, say {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metaphor_is_found_as_a_word_alone() {
        let check = |types: &[&str], functions: &[&str], files: &[&str], expected: usize| {
            let found = find_metaphors(types.iter().copied(), functions.iter().copied(), files.iter().map(Path::new));
            assert_eq!(found.len(), expected, "{types:?} {functions:?} {files:?} {found:?}");
        };
        check(&["Way", "JudgedCell", "Rooms", "StuffFate"], &[], &[], 4);
        check(&["Gateway", "Cellular", "BathroomTile", "Wayland"], &[], &[], 0);
        check(&[], &["make_room", "cells_of_run", "way_on"], &[], 3);
        check(&[], &["headroom_of", "split_cells", "judge_in_the_way"], &[], 0);
        check(&[], &[], &["crates/a/src/room.rs", "crates/a/src/tape/mod.rs", "crates/a/src/exam_room.rs"], 3);
        check(&[], &[], &["crates/a/src/headroom.rs", "crates/a/src/gateway.rs"], 0);
    }
}
