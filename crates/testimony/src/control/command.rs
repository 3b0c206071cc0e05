//! Command lines of test runners.
//!
//! Read only to find reasons against a control: an expression that selects tests, options
//! that choose among them. A script after `sh -c` and the one that npm runs are included;
//! the work of `make` stays unknown.

use super::tree::{ControlInputs, ExamView, joined, name_of};

/// The commands of an argv, each as words.
#[derive(Debug)]
pub(super) struct Commands(Vec<Vec<String>>);

impl Commands {
    /// Collects the command itself, the scripts inside its arguments and the package
    /// scripts that it runs.
    pub(super) fn of_command(inputs: &ControlInputs<'_>, tree: &ExamView<'_>) -> Self {
        let mut commands = vec![inputs.argv.to_vec()];
        for script in inputs.argv.iter().filter(|argument| argument.contains(char::is_whitespace)) {
            commands.extend(of_script(script));
        }
        commands.extend(of_package_scripts(inputs.argv, tree));
        Self(commands)
    }

    /// The words after these, in the first command that has them one after the other.
    pub(super) fn after(&self, program: &[&str]) -> Option<&[String]> {
        self.0.iter().find_map(|words| {
            let fits = |window: &[String]| window.iter().zip(program).all(|(word, wanted)| name_of(word) == *wanted);
            let at = words.windows(program.len()).position(fits)?;
            words.get(at + program.len()..)
        })
    }

    /// All words of all commands.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(String::as_str)
    }
}

/// Good enough to find a runner and its options. Where output goes is no argument.
fn of_script(script: &str) -> Vec<Vec<String>> {
    let script = script.replace(">&", ">");
    let commands = script.split(['\n', ';', '&', '|', '(', ')']);
    let words = commands.map(|command| shell_words::split(command).unwrap_or_default());
    words.map(without_redirections).filter(|words| !words.is_empty()).collect()
}

fn without_redirections(words: Vec<String>) -> Vec<String> {
    let mut is_target = false;
    let kept = words.into_iter().filter(|word| {
        let was_target = std::mem::replace(&mut is_target, word.ends_with(['>', '<']));
        !was_target && !word.contains(['>', '<'])
    });
    kept.collect()
}

/// `npm test` and its like run a line of package.json.
fn of_package_scripts(argv: &[String], tree: &ExamView<'_>) -> Vec<Vec<String>> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let script = match words.as_slice() {
        ["npm" | "yarn" | "pnpm", "test" | "t", ..] => "test",
        ["npm" | "yarn" | "pnpm", "run", script, ..] => script,
        _ => return Vec::new(),
    };
    let package = joined(tree.cwd(), "package.json").and_then(|path| tree.read_file(&path));
    let package: Option<serde_json::Value> = package.and_then(|package| serde_json::from_slice(&package).ok());
    let line = package.as_ref().and_then(|package| package.get("scripts")?.get(script)?.as_str());
    line.map(of_script).unwrap_or_default()
}

/// Arguments told apart.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a> {
    /// Arguments that are neither options nor option values.
    pub(super) plain: Vec<&'a str>,
    options: Vec<(&'a str, Option<&'a str>)>,
    /// Arguments after `--`.
    pub(super) rest: &'a [String],
}

impl<'a> Arguments<'a> {
    /// `with_value`: options whose value is the next word.
    pub(super) fn of_words(words: &'a [String], with_value: &[&str]) -> Self {
        let mut arguments = Self::default();
        let mut at = 0;
        while let Some(word) = words.get(at).map(String::as_str) {
            at += 1;
            if word == "--" {
                arguments.rest = words.get(at..).unwrap_or_default();
                break;
            } else if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with('-')) {
                arguments.options.push((option, Some(value)));
            } else if with_value.contains(&word) {
                arguments.options.push((word, words.get(at).map(String::as_str)));
                at += 1;
            } else if word.starts_with('-') {
                arguments.options.push((word, None));
            } else {
                arguments.plain.push(word);
            }
        }
        arguments
    }

    /// True if the option is given.
    pub(super) fn has_option(&self, option: &str) -> bool {
        self.options.iter().any(|(given, _)| *given == option)
    }

    /// True if one of the options is given.
    pub(super) fn has_any(&self, options: &[&str]) -> bool {
        options.iter().any(|option| self.has_option(option))
    }

    /// The values given to any of these.
    pub(super) fn values(&self, options: &[&str]) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(|(given, _)| options.contains(given)).filter_map(|(_, value)| *value)
    }
}

/// Condition on a test's name, so that the command's filters select it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filter<'a> {
    None,
    /// The name must hold this word.
    Word(&'a str),
    /// Condition that cannot be satisfied for sure.
    Unknown,
}

impl<'a> Filter<'a> {
    /// Condition of the first filter; more than a single word cannot be satisfied for sure.
    pub(super) fn of_filters(filters: impl IntoIterator<Item = &'a str>) -> Self {
        let is_word = |filter: &&str| {
            !filter.is_empty() && filter.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match filters.into_iter().next() {
            None => Self::None,
            Some(filter) if is_word(&filter) => Self::Word(filter),
            Some(_) => Self::Unknown,
        }
    }

    /// Text to append to a name so that it is selected; `None` if that is unknown.
    pub(super) fn suffix(&self, between: &str) -> Option<String> {
        match self {
            Self::None => Some(String::new()),
            Self::Word(word) => Some(format!("{between}{word}")),
            Self::Unknown => None,
        }
    }
}
