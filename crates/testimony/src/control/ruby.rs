//! A failing example at the end of each spec that RSpec ran.

use super::command::Arguments;
use super::tree::{ExamView, joined};
use super::wanted::{ControlRequest, ControlTest};

/// Options that choose among examples.
const CHOOSING: [&str; 10] = [
    "-e",
    "--example",
    "-E",
    "--example-matches",
    "-t",
    "--tag",
    "-P",
    "--pattern",
    "--only-failures",
    "--exclude-pattern",
];
const WITH_VALUE: [&str; 12] = [
    "-f",
    "--format",
    "-o",
    "--out",
    "-r",
    "--require",
    "-I",
    "--order",
    "--seed",
    "--failure-exit-code",
    "-O",
    "--options",
];
const SPECS: &str = "spec";

/// Control tests for RSpec; `None` if options or line numbers select examples.
pub(super) fn ruby_controls(wanted: &ControlRequest<'_>) -> Option<Vec<ControlTest>> {
    let arguments = Arguments::of_words(wanted.commands.after(&["rspec"]).unwrap_or_default(), &WITH_VALUE);
    // A number behind a file picks the example on that line.
    if arguments.has_any(&CHOOSING) || arguments.plain.iter().any(|word| word.contains([':', '['])) {
        return None;
    }
    let places = if arguments.plain.is_empty() { vec![SPECS] } else { arguments.plain };
    let places: Vec<String> = places.into_iter().filter_map(|place| wanted.tree.path_from_root(place)).collect();
    let is_run = |path: &&str| places.iter().any(|place| path.strip_prefix(place.as_str()).is_some_and(is_inside));
    let specs = specs(wanted.tree).filter(is_run).map(str::to_owned).collect();
    Some(wanted.each(specs, |path, name| wanted.appended(path, name, &addition(name))))
}

/// True for what follows a folder, or nothing behind a file.
fn is_inside(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

fn specs<'t>(tree: &'t ExamView<'_>) -> impl Iterator<Item = &'t str> {
    tree.paths().filter(|path| path.ends_with("_spec.rb"))
}

/// The specs in which an example of this description stands.
pub(super) fn declaring_specs(tree: &ExamView<'_>, identity: &str) -> Vec<String> {
    let description = identity.rsplit(" > ").next().unwrap_or(identity);
    let holds = |path: &&str| tree.read_text(path).is_some_and(|text| text.contains(description));
    specs(tree).filter(holds).filter_map(|path| joined("", path)).collect()
}

fn addition(name: &str) -> String {
    format!(
        "\nRSpec.describe('handles {name}') do\n  it('holds {name}') {{ expect('found').to eq('expected') }}\nend\n"
    )
}
