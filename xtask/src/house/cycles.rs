//! Modules of a crate that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

/// Imports between the modules of one crate.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// The largest set of modules each of which can be reached from each other, sorted; a set of one is none.
pub(super) fn largest_cycle(imports: &Imports) -> Vec<String> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|module| (module, reachable(imports, module))).collect();
    let of = |module: &String| -> Vec<String> {
        let there = reached[module].iter().copied();
        there.filter(|other| reached.get(*other).is_some_and(|back| back.contains(module))).cloned().collect()
    };
    let cycles = imports.keys().map(of).filter(|cycle| cycle.len() > 1);
    cycles.max_by_key(Vec::len).unwrap_or_default()
}

fn reachable<'a>(imports: &'a Imports, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = imports.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_and_a_line_is_none() {
        let imports = |pairs: &[(&str, &[&str])]| -> Imports {
            let set = |to: &[&str]| to.iter().map(|to| (*to).to_owned()).collect();
            pairs.iter().map(|(from, to)| ((*from).to_owned(), set(to))).collect()
        };
        assert!(largest_cycle(&imports(&[("a", &["b"]), ("b", &["c"]), ("c", &[])])).is_empty());
        let round = imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"]), ("e", &["e"])]);
        assert_eq!(largest_cycle(&round), ["a", "b", "c"]);
    }
}
