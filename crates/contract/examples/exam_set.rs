//! Prints the tables of docs/formats/exam-set.md, as `cargo xtask exam` puts them between the page's markers.

use contract::exam::{ALWAYS, Ecosystem, Role, Rule};

fn main() {
    print!("{}", page());
}

fn page() -> String {
    let always = format!("\n### In every repository\n\n{}", table(ALWAYS));
    let found = Ecosystem::ALL.iter().map(|ecosystem| {
        let signs = ecosystem.signs();
        let endings: Vec<String> = signs.endings.iter().map(|ending| format!("*.{ending}")).collect();
        let endings: Vec<&str> = endings.iter().map(String::as_str).collect();
        let (files, programs) = ([signs.names, &endings].concat(), signs.programs);
        let by = format!("Found by the files {}, and by the programs {}.", codes(&files), codes(programs));
        format!("\n### {}\n\n{by}\n\n{}", ecosystem.title(), table(ecosystem.rules()))
    });
    std::iter::once(always).chain(found).collect()
}

/// One row a glob, grouped by what it is to the exam.
fn table(rules: &[Rule]) -> String {
    let mut out = "| glob | kind | reason |\n| --- | --- | --- |\n".to_owned();
    for role in Role::ALL {
        for rule in rules.iter().filter(|rule| rule.role == *role) {
            out += &format!("| `{}` | {} | {} |\n", rule.glob, role.title(), rule.why);
        }
    }
    out
}

fn codes(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_holds_these_tables() {
        let page = include_str!("../../../docs/formats/exam-set.md");
        assert!(page.contains(&super::page()), "docs/formats/exam-set.md differs: run `cargo xtask exam`");
    }
}
