//! Packages that a Python project names as its build tools, in `[build-system]` of pyproject.toml.

/// Requirements of the table's key `requires`, in their order. Empty if there are none that can be read.
pub(super) fn read_build_requirements(manifest: &str) -> Vec<String> {
    let Some(table) = find_table(manifest) else { return Vec::new() };
    let after_key =
        |line: &str| line.trim_start().strip_prefix("requires")?.trim_start().strip_prefix('=').map(str::len);
    let mut rest = table;
    while let Some(line) = rest.lines().next() {
        if let Some(length) = after_key(line) {
            return read_array(&rest[line.len() - length..]);
        }
        rest = rest[line.len()..].trim_start_matches(['\r', '\n']);
    }
    Vec::new()
}

/// Text below the head of the table, up to the head of the next.
fn find_table(manifest: &str) -> Option<&str> {
    let mut at = 0;
    let mut begin = None;
    for line in manifest.split_inclusive('\n') {
        let is_head = line.starts_with('[');
        match begin {
            Some(begin) if is_head => return Some(&manifest[begin..at]),
            None if is_head && line.trim_end().trim_end_matches(']') == "[build-system" => {
                begin = Some(at + line.len())
            }
            _ => {}
        }
        at += line.len();
    }
    begin.map(|begin| &manifest[begin..])
}

/// Quoted texts between the first bracket and the one that closes it.
fn read_array(text: &str) -> Vec<String> {
    let Some(mut rest) = text.trim_start().strip_prefix('[') else { return Vec::new() };
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, next)| next);
            continue;
        }
        let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'')) else { return found };
        let Some((value, next)) = rest[1..].split_once(quote) else { return found };
        found.push(value.to_owned());
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_in_each_form() {
        for (manifest, expected) in [
            ("[build-system]\nrequires = [\"flit_core<4\"]\nbuild-backend = \"x\"\n", vec!["flit_core<4"]),
            (
                "[project]\nrequires = [\"no\"]\n[build-system]\nbuild-backend = 'x'\nrequires = [\n  # tools\n  'a>=1',\n  \"b; python_version < '3.12'\",\n]\n[tool.x]\nrequires = [\"no\"]\n",
                vec!["a>=1", "b; python_version < '3.12'"],
            ),
            ("[build-system]\r\nrequires=[ \"hatchling\", ]\r\n", vec!["hatchling"]),
            ("[build-system]\nrequires-python = [\"no\"]\n", vec![]),
            ("[build-system]\nrequires = []\n", vec![]),
            ("[build-system]\nrequires = \"x\"\n", vec![]),
            ("[build-system]\nrequires = [\"open\n", vec![]),
            ("[project]\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(read_build_requirements(manifest), expected, "{manifest}");
        }
    }
}
