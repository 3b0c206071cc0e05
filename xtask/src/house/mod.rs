//! `cargo xtask house [DIR]`: measures the code of a tree: sizes, names, comments, cycles.
//! `--check` holds it against `xtask/house.toml`, `--tighten` writes there what has become
//! better, `--cycles` names the imports of every cycle. Limits only tighten.

mod cycles;
mod direction;
mod imports;
mod items;
mod lexer;
mod literals;
mod modules;
mod names;
mod raised;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ChoreResult;
use crate::process::repository_root;
use cycles::Cycle;
use direction::against_direction;
pub(crate) use literals::{SourceText, read_source_texts};
pub(crate) use tree::collect_sources;
use tree::{MeasuredTree, Packages, measure_tree};

/// The side on which a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    Higher,
    Lower,
}

/// One line of the table.
struct Figure {
    name: &'static str,
    better: Better,
    /// Room for noise, so that a file more does not fail a build.
    slack: f64,
    of: fn(&MeasuredTree) -> f64,
}

const FIGURES: &[Figure] = &[
    Figure { name: "file_lines_p95", better: Better::Lower, slack: 10.0, of: |m| m.file_lines(95) },
    Figure { name: "function_lines_median", better: Better::Lower, slack: 0.0, of: |m| m.function_lines(50) },
    Figure { name: "function_lines_p95", better: Better::Lower, slack: 1.0, of: |m| m.function_lines(95) },
    Figure { name: "visible_types_unique_percent", better: Better::Higher, slack: 0.5, of: MeasuredTree::unique_types },
    Figure {
        name: "one_word_functions_percent",
        better: Better::Lower,
        slack: 0.5,
        of: MeasuredTree::one_word_functions,
    },
    Figure { name: "visible_documented_percent", better: Better::Higher, slack: 0.5, of: MeasuredTree::documented },
    Figure { name: "docs_begin_with_question_percent", better: Better::Lower, slack: 0.2, of: MeasuredTree::questions },
    Figure { name: "comment_lines_percent", better: Better::Higher, slack: 0.2, of: MeasuredTree::comments },
    Figure { name: "code_line_chars", better: Better::Lower, slack: 0.3, of: MeasuredTree::line_chars },
    Figure {
        name: "largest_cycle_modules",
        better: Better::Lower,
        slack: 0.0,
        of: |m| largest(&m.packages.module_cycles()),
    },
    Figure {
        name: "largest_cycle_folders",
        better: Better::Lower,
        slack: 0.0,
        of: |m| largest(&m.packages.folder_cycles()),
    },
    Figure { name: "unwraps_outside_tests", better: Better::Lower, slack: 0.0, of: |m| m.unwraps as f64 },
    Figure { name: "clones_per_1000_lines", better: Better::Lower, slack: 0.3, of: MeasuredTree::clones },
    Figure { name: "locked_packages", better: Better::Lower, slack: 0.0, of: |m| m.locked as f64 },
    Figure { name: "test_lines_percent_of_code", better: Better::Higher, slack: 1.0, of: MeasuredTree::tests },
];

/// Cycles by the figure that counts the modules of the largest.
const CYCLES: [(&str, CyclesOf); 2] =
    [("largest_cycle_modules", Packages::module_cycles), ("largest_cycle_folders", Packages::folder_cycles)];

type CyclesOf = fn(&Packages) -> Vec<Cycle>;

/// Prints the figures, or checks or tightens the limits.
pub(crate) fn run_house(arguments: &[&str]) -> ChoreResult {
    match arguments {
        [] => print(&measure_tree(&repository_root())?),
        ["--check"] => return check_limits(),
        ["--tighten"] => return tighten(),
        ["--cycles"] => print_cycles(&measure_tree(&repository_root())?),
        ["--cycles", folder] => print_cycles(&measure_tree(Path::new(folder))?),
        [folder] => print(&measure_tree(Path::new(folder))?),
        _ => return Err("house [DIR] | house --cycles [DIR] | house --check | house --tighten".to_owned()),
    }
    Ok(())
}

fn print(measured: &MeasuredTree) {
    println!("{} files, {} lines of code\n", measured.files.len(), measured.code_lines);
    for figure in FIGURES {
        println!("{:<34} {:>8.1}", figure.name, (figure.of)(measured));
    }
    for (name, of) in CYCLES {
        let heads: Vec<String> =
            of(&measured.packages).iter().take(5).map(|cycle| format!("\n  {}", cycle.head())).collect();
        println!("\n{name} of packages:{}", heads.concat());
    }
    println!("types that occur most: {}", measured.commonest_types(8).join(", "));
}

fn largest(cycles: &[Cycle]) -> f64 {
    cycles.first().map_or(0, |cycle| cycle.modules.len()) as f64
}

fn print_cycles(measured: &MeasuredTree) {
    for (name, of) in CYCLES {
        of(&measured.packages).iter().for_each(|cycle| println!("{name} {}\n", cycle.listing()));
    }
}

fn limits_path() -> PathBuf {
    repository_root().join("xtask/house.toml")
}

fn read_limits() -> ChoreResult<BTreeMap<String, f64>> {
    let path = limits_path();
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The drift of a tree from its limits.
pub(crate) fn check_limits() -> ChoreResult {
    let (limits, measured) = (read_limits()?, measure_tree(&repository_root())?);
    let mut worse = against_direction(&measured.packages);
    worse.extend(measured.metaphors());
    worse.extend(raised::find_loosened(&repository_root())?);
    for figure in FIGURES {
        let value = (figure.of)(&measured);
        let Some(limit) = limits.get(figure.name) else {
            worse.push(format!("xtask/house.toml has no `{}`", figure.name));
            continue;
        };
        let holds = match figure.better {
            Better::Higher => value >= limit - figure.slack,
            Better::Lower => value <= limit + figure.slack,
        };
        if !holds {
            worse.push(format!("{}: {value:.1}, and it was {limit:.1}", figure.name));
            let cycles = CYCLES.iter().filter(|(name, _)| *name == figure.name);
            let largest = cycles.filter_map(|(_, of)| of(&measured.packages).into_iter().next());
            worse.extend(largest.map(|cycle| cycle.listing()));
        }
    }
    match worse.is_empty() {
        true => Ok(()),
        false => Err(format!("the code got worse by its own measure:\n{}", worse.join("\n"))),
    }
}

/// Writes every figure that is better than its limit, and those that have none.
fn tighten() -> ChoreResult {
    let (limits, measured) = (read_limits().unwrap_or_default(), measure_tree(&repository_root())?);
    let before = fs::read_to_string(limits_path()).unwrap_or_default();
    let reasons = raised::reasons(&before);
    let mut text = String::from(
        "# Limits of `cargo xtask house`. They only tighten: `cargo xtask house --tighten` writes them. One that is raised by hand needs a\n\
         # line `# raised: WHY` directly above it, one more each time.\n",
    );
    for figure in FIGURES {
        let value = ((figure.of)(&measured) * 10.0).round() / 10.0;
        let limit = limits.get(figure.name).copied().unwrap_or(value);
        let tighter = match figure.better {
            Better::Higher => value.max(limit),
            Better::Lower => value.min(limit),
        };
        let raised = reasons.get(figure.name).into_iter().flatten();
        raised.for_each(|reason| text.push_str(&format!("{reason}\n")));
        text.push_str(&format!("{} = {tighter:.1}\n", figure.name));
    }
    fs::write(limits_path(), text).map_err(|error| format!("{}: {error}", limits_path().display()))
}
