//! `cto __complete`: words that fit where a shell asks, which only the program knows: runs,
//! queued runs, engines, cases, reasons, requests, keys, work items.

use clap::{Arg, Command, CommandFactory as _};
use contract::Reason;
use cortex::PersonSigners;
use workboard::{Workboard, WorkspaceFiles};

use crate::approvals_view::{ledger_to_read, request_names};
use crate::args::Cli;
use crate::context::Context;
use crate::workspace_scene::workspace_root;

/// Runs that are offered: the newest.
const RUNS: usize = 50;

/// Kinds of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Run,
    Engine,
    Task,
    Reason,
    /// A run of the queue.
    Queued,
    Request,
    /// A key that is listed.
    Key,
    WorkItem,
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
        WordKind::Queued => known_queue(context).unwrap_or_default(),
        WordKind::Request => known_requests(context),
        WordKind::Key => known_keys(context),
        WordKind::WorkItem => known_items(context).unwrap_or_default(),
        WordKind::Nothing => Vec::new(),
    }
}

fn known_queue(context: &Context) -> Option<Vec<String>> {
    let ledger = ledger_to_read(context).ok()??;
    let mut rows = ledger.queue_runs(true, RUNS).ok()?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.seq));
    let runs = rows.iter().map(|row| row.run_id.suffix().to_owned());
    Some(["@".to_owned()].into_iter().chain(runs).collect())
}

fn known_requests(context: &Context) -> Vec<String> {
    ledger_to_read(context).ok().flatten().map(|ledger| request_names(&ledger)).unwrap_or_default()
}

/// Names of the listed keys. A name with a space is no word of a shell.
fn known_keys(context: &Context) -> Vec<String> {
    let Ok(people) = PersonSigners::read_lists(&context.config.records) else { return Vec::new() };
    let names = people.allowed().lines().iter().map(|line| line.principals().to_owned());
    names.filter(|name| !name.contains(char::is_whitespace)).collect()
}

fn known_items(context: &Context) -> Option<Vec<String>> {
    let files = WorkspaceFiles::read_board_alone(&workspace_root(context).ok()?).ok()?;
    let board = Workboard::read_whole(files.text_of("WORKBOARD.yaml")).ok()?;
    Some(board.items().iter().map(|item| item.id.clone()).collect())
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
    let (mut command, mut above, mut placed, mut waiting) = (root, "", 0, None::<&Arg>);
    for word in before {
        if waiting.take().is_some() {
            continue;
        }
        if let Some(option) = word.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or_default();
            let takes = |arg: &&Arg| arg.get_long() == Some(name) && arg.get_action().takes_values();
            waiting = command.get_arguments().chain(root.get_arguments()).find(takes).filter(|_| !option.contains('='));
        } else if let Some(below) = command.find_subcommand(word) {
            above = command.get_name();
            (command, placed) = (below, 0);
        } else if !word.starts_with('-') {
            placed += 1;
        }
    }
    match waiting {
        Some(option) => kind_of(option, above, command.get_name()),
        None if last.starts_with('-') => WordKind::Nothing,
        None => {
            let positional = || command.get_positionals();
            positional()
                .nth(placed)
                .or_else(|| positional().last())
                .map_or(WordKind::Nothing, |arg| kind_of(arg, above, command.get_name()))
        }
    }
}

/// The kind of an argument of a command, which is itself below another.
fn kind_of(arg: &Arg, above: &str, command: &str) -> WordKind {
    match arg.get_id().as_str() {
        "run" if matches!(command, "watch" | "cancel") => WordKind::Queued,
        "request" => WordKind::Request,
        "id" if above == "work" => WordKind::WorkItem,
        // `--key FILE` and `key add KEY` take files.
        "key" if above == "key" && matches!(command, "retire" | "compromised") => WordKind::Key,
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
            ("trust key retire ", WordKind::Key),
            ("trust key compromised a", WordKind::Key),
            ("approve ", WordKind::Request),
            ("hold req-1 --reason x --key ", WordKind::Nothing),
            ("packet re", WordKind::Request),
            ("work show ", WordKind::WorkItem),
            ("work status DEMO", WordKind::WorkItem),
            ("case new ", WordKind::Nothing),
            ("watch ", WordKind::Queued),
            ("cancel ", WordKind::Queued),
        ];
        for (line, expected) in rows {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(wanted(&root, &words), *expected, "{line}");
        }
    }
}
