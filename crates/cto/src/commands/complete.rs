//! `cto __complete`: words that fit where a shell asks, which only the program knows: runs,
//! engines, cases, reasons.

use clap::{Arg, Command, CommandFactory as _};
use contract::Reason;

use crate::args::Cli;
use crate::context::Context;

/// Runs that are offered: the newest.
const RUNS: usize = 50;

/// Kinds of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Run,
    Engine,
    Task,
    Reason,
    Nothing,
}

/// Prints the words, one a line. A home that cannot be read offers none: a shell asks again
/// with the next key.
pub(crate) fn complete(context: &Context, words: &[String]) -> u8 {
    let kind = wanted(&Cli::command(), words);
    let mut known = known_words(context, kind);
    known.dedup();
    context.output.print(&known.iter().map(|word| format!("{word}\n")).collect::<String>());
    0
}

fn known_words(context: &Context, kind: WordKind) -> Vec<String> {
    match kind {
        WordKind::Run => known_runs(context),
        WordKind::Engine => [harness::FAKE.to_owned()].into_iter().chain(context.config.engines.ids()).collect(),
        WordKind::Task => super::case::ids(context).unwrap_or_default(),
        WordKind::Reason => Reason::ALL.iter().map(|reason| reason.code().to_owned()).collect(),
        WordKind::Nothing => Vec::new(),
    }
}

fn known_runs(context: &Context) -> Vec<String> {
    let Ok((views, now)) = context.look_only() else { return Vec::new() };
    let query = views::RunQuery { limit: RUNS, ..views::RunQuery::default() };
    let Ok(page) = views.list_runs(&query, now) else { return Vec::new() };
    let runs = page.runs.iter().map(|run| run.row.run_id.suffix().to_owned());
    ["@".to_owned()].into_iter().chain(runs).collect()
}

/// The kind of the last word. The words before it choose the command, and an option may
/// wait for its value.
fn wanted(root: &Command, words: &[String]) -> WordKind {
    let Some((last, before)) = words.split_last() else { return WordKind::Nothing };
    let (mut command, mut placed, mut waiting) = (root, 0, None::<&Arg>);
    for word in before {
        if waiting.take().is_some() {
            continue;
        }
        if let Some(option) = word.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or_default();
            let takes = |arg: &&Arg| arg.get_long() == Some(name) && arg.get_action().takes_values();
            waiting = command.get_arguments().chain(root.get_arguments()).find(takes).filter(|_| !option.contains('='));
        } else if let Some(below) = command.find_subcommand(word) {
            (command, placed) = (below, 0);
        } else if !word.starts_with('-') {
            placed += 1;
        }
    }
    match waiting {
        Some(option) => kind_of(option),
        None if last.starts_with('-') => WordKind::Nothing,
        None => {
            let positional = || command.get_positionals();
            positional().nth(placed).or_else(|| positional().last()).map_or(WordKind::Nothing, kind_of)
        }
    }
}

fn kind_of(arg: &Arg) -> WordKind {
    match arg.get_id().as_str() {
        "run" | "runs" | "bundles" | "replay_model_traffic" => WordKind::Run,
        "engine" | "engines" | "candidate" => WordKind::Engine,
        "task" => WordKind::Task,
        // `--reason TEXT` of other commands is a sentence.
        "reason" if arg.is_positional() => WordKind::Reason,
        _ => WordKind::Nothing,
    }
}

/// The lines that make a shell ask the program first, and fall back on what clap wrote.
pub(super) fn asking_lines(shell: clap_complete::Shell) -> &'static str {
    match shell {
        clap_complete::Shell::Bash => BASH,
        clap_complete::Shell::Zsh => ZSH,
        clap_complete::Shell::Fish => FISH,
        _ => "",
    }
}

const BASH: &str = r#"
_cto_known() {
    local current=${COMP_WORDS[COMP_CWORD]} known
    known=$(cto __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=($(compgen -W "$known" -- "$current"))
    if [ ${#COMPREPLY[@]} -eq 0 ]; then _cto "$@"; fi
}
complete -F _cto_known -o nosort -o bashdefault -o default cto
"#;

const ZSH: &str = r#"
_cto_known() {
    local -a known
    known=(${(f)"$(cto __complete -- ${words[2,CURRENT]} 2>/dev/null)"})
    if (( ${#known} )); then compadd -V known -a known; else _cto "$@"; fi
}
compdef _cto_known cto
"#;

const FISH: &str = r#"
complete -c cto -f -k -a '(cto __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_word_says_what_it_can_be() {
        let root = Cli::command();
        let rows: &[(&str, WordKind)] = &[
            ("show ", WordKind::Run),
            ("--json show b9", WordKind::Run),
            ("compare @ ", WordKind::Run),
            ("verify --key k.pub ", WordKind::Run),
            ("verify --key ", WordKind::Nothing),
            ("run ", WordKind::Task),
            ("run r1 --engine ", WordKind::Engine),
            ("run --engine codex ", WordKind::Task),
            ("run --engine=codex ", WordKind::Task),
            ("race r1 --engines ", WordKind::Engine),
            ("explain no_", WordKind::Reason),
            ("halt --reason ", WordKind::Nothing),
            ("show --ma", WordKind::Nothing),
            ("trust key add ", WordKind::Nothing),
        ];
        for (line, expected) in rows {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(wanted(&root, &words), *expected, "{line}");
        }
    }
}
