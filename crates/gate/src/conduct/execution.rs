//! Judgement on an execution by the table of commands.
//!
//! Only executions are judged. A shell's script text is not read: the programs that it runs
//! are executed in their turn, as are those that `env`, `sudo`, `timeout` or `xargs` start,
//! and are seen then. An interpreter runs a script within itself, so there the script's
//! name counts as the program's; a dynamic loader and the first line of a script name a
//! program, too. A file counts as the program whose content it has. One without a name is
//! judged by its arguments alone.

use contract::sandbox::{Attempt, AttemptKind, ExecutedFile, Execution, FileKind};
use contract::task::ForbiddenAction;

use super::commands::{CommandRow, ToolRow, tools};
use super::{Counts, attempt, fits, push};

/// Arguments that the recorder keeps, the program's own name included.
pub(super) const ARGUMENTS_KEPT: usize = 128;

const REHEARSING: &[&str] = &["--dry-run", "--dry-run=client", "--dry-run=server", "--dryrun"];
/// Options of `push` that would take `--dry-run` for their value.
const TAKES_ANYTHING: &[&str] = &["-o", "--push-option", "--receive-pack", "--exec", "--repo"];
const INTERPRETERS: &str = "sh/bash/dash/ash/zsh/ksh/node/nodejs/ruby/python*";
/// Options of the dynamic loader that take the argument after them.
const LOADER_OPTIONS: &[&str] = &[
    "--argv0",
    "--audit",
    "--glibc-hwcaps-mask",
    "--glibc-hwcaps-prepend",
    "--inhibit-rpath",
    "--library-path",
    "--preload",
];
/// Words that mean the same whatever the program is. Patterns of more words do not need to
/// be in this list.
const UNMISTAKABLE: &[&str] = &["push", "send-pack", "http-push", "publish", "deploy"];
const SCRIPT_ENDINGS: &[&str] = &[".js", ".cjs", ".mjs", ".py", ".rb", ".sh"];

/// Judges one recorded execution; none if it is ordinary.
pub(super) fn judge_execution(cell: &str, execution: &Execution) -> Option<Attempt> {
    let counts = counts(execution)?;
    let attempt = attempt(cell, AttemptKind::Execution, counts, &command_line(execution));
    Some(Attempt { count: execution.count, ..attempt })
}

/// Judges an execution by the name of the file, by `argv[0]`, which decides what a program
/// of many names does, and by the program that runs in the end.
pub(super) fn counts(execution: &Execution) -> Option<Counts> {
    let Execution { path, argv, file, .. } = execution;
    let arguments = Arguments {
        given: argv.iter().skip(1).map(String::as_str).collect(),
        cut: argv.len() >= ARGUMENTS_KEPT,
        directory: execution.directory.as_deref(),
    };
    let resolved = file.as_ref().map(|file| &file.path);
    let names = [Some(path), argv.first(), resolved].into_iter().flatten().map(|path| file_name(path));
    let by_name = names.filter_map(|name| arguments.judge_program(name)).min();
    let (program, rest) = arguments.of_last_program(execution);
    let by_last = program.and_then(|program| rest.judge_program(program));
    by_name.into_iter().chain(by_last).chain(file.as_ref().and_then(|file| rest.judge_file(file))).min()
}

fn command_line(execution: &Execution) -> String {
    let Execution { path, argv, .. } = execution;
    let name = argv.first().map_or("", String::as_str);
    let program = match execution.file.as_ref().map(describe_file) {
        Some(told) => format!("{path} ({told}, as {name})"),
        None if file_name(path) == file_name(name) => name.to_owned(),
        None => format!("{path} (as {name})"),
    };
    let arguments = argv.iter().skip(1).map(String::as_str);
    let more = (argv.len() >= ARGUMENTS_KEPT).then_some("…");
    std::iter::once(program.as_str()).chain(arguments).chain(more).collect::<Vec<_>>().join(" ")
}

/// Says what a file is, beside its name.
fn describe_file(file: &ExecutedFile) -> String {
    let kind = match file.kind {
        FileKind::Named => None,
        FileKind::Removed => Some("a removed file".to_owned()),
        FileKind::Memory => Some("a memory file".to_owned()),
        FileKind::Unknown => Some("a file reached through /proc".to_owned()),
    };
    let interpreter = (!file.interpreter.is_empty()).then(|| format!("run by {}", file.interpreter.join(" ")));
    let same_as = file.same_as.as_ref().map(|program| format!("the program {program}"));
    let told: Vec<String> = [kind, interpreter, same_as].into_iter().flatten().collect();
    if told.is_empty() { file.path.clone() } else { told.join(", ") }
}

fn is_loader(name: &str) -> bool {
    name == "ld.so" || (name.starts_with("ld-") && name.contains(".so"))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Arguments of a program, as far as they were recorded.
#[derive(Debug, Clone)]
struct Arguments<'a> {
    given: Vec<&'a str>,
    /// True if arguments may be missing.
    cut: bool,
    /// Directory in which it is executed, if that is known.
    directory: Option<&'a str>,
}

impl<'a> Arguments<'a> {
    /// Other arguments of the same execution.
    fn with(&self, given: Vec<&'a str>) -> Self {
        Self { given, ..self.clone() }
    }

    fn judge_program(&self, name: &'a str) -> Option<Counts> {
        // `git-push` is `git push`.
        if let Some(command) = name.strip_prefix("git-") {
            let given = std::iter::once(command).chain(self.given.iter().copied()).collect();
            return self.with(given).judge_tool("git");
        }
        let script = self.script(name).and_then(|(script, rest)| rest.judge_tool(script));
        self.judge_tool(name).into_iter().chain(script).min()
    }

    /// Program that runs in the end, with its arguments: that of a script's first line,
    /// that of a dynamic loader, else the executed one.
    fn of_last_program(&self, execution: &'a Execution) -> (Option<&'a str>, Self) {
        let interpreter = execution.file.as_ref().and_then(|file| file.interpreter.split_first());
        if let Some((interpreter, argument)) = interpreter {
            let script = std::iter::once(execution.path.as_str());
            let given = argument.iter().map(String::as_str).chain(script).chain(self.given.iter().copied());
            return (Some(file_name(interpreter)), self.with(given.collect()));
        }
        let names = [Some(&execution.path), execution.argv.first()];
        if names.into_iter().flatten().any(|path| is_loader(file_name(path)))
            && let Some((program, rest)) = self.loaded()
        {
            return (Some(file_name(program)), rest);
        }
        (None, self.clone())
    }

    /// Program that a dynamic loader loads, with its arguments.
    fn loaded(&self) -> Option<(&'a str, Self)> {
        let mut given = self.given.iter().enumerate();
        while let Some((at, argument)) = given.next() {
            if LOADER_OPTIONS.contains(argument) {
                given.next();
            } else if !argument.starts_with('-') {
                return Some((argument, self.with(self.given.get(at + 1..)?.to_vec())));
            }
        }
        None
    }

    /// Judges a file by its content, under any name.
    fn judge_file(&self, file: &ExecutedFile) -> Option<Counts> {
        let same = file.same_as.as_deref().and_then(|program| self.judge_tool(program));
        let nameless = match file.kind {
            FileKind::Named => None,
            FileKind::Removed | FileKind::Memory => self.judge_nameless().or(Some(Counts::Note)),
            FileKind::Unknown => self.judge_nameless(),
        };
        same.into_iter().chain(nameless).min()
    }

    /// A file without a name may be any program: the commands that mean the same in all of
    /// them count.
    fn judge_nameless(&self) -> Option<Counts> {
        let literal = |token: &&str| !token.starts_with(['-', '.', '*', '…']);
        let says = |words: &[&str], pattern: &str| {
            let plain = match pattern.split(' ').filter(literal).count() {
                0 => false,
                1 => words.first().is_some_and(|word| UNMISTAKABLE.contains(word)),
                _ => true,
            };
            plain && self.match_pattern(pattern, words)
        };
        let counts = tools().filter_map(|tool| {
            let words = self.words(tool);
            let of = |command: &&CommandRow| command.patterns.iter().any(|pattern| says(&words, pattern));
            tool.commands.iter().find(of).map(|command| command.counts)
        });
        let action = counts.filter(|counts| matches!(counts, Counts::Action(_))).min()?;
        Some(if self.rehearse() { Counts::Note } else { action })
    }

    fn judge_tool(&self, name: &str) -> Option<Counts> {
        let tool = tools().find(|tool| tool.names.contains(&name))?;
        if self.ask() {
            return tool.otherwise.map(|_| Counts::Note);
        }
        let found = tool.commands.iter().find(|command| self.match_command(tool, command));
        match found.map(|command| command.counts).or(tool.otherwise) {
            Some(Counts::Action(_)) if self.rehearse() => Some(Counts::Note),
            Some(Counts::Action(ForbiddenAction::Push)) if name == "git" && self.is_push_elsewhere(tool) => {
                Some(Counts::Note)
            }
            counts => counts,
        }
    }

    /// True if a plain `git push` is of another repository than the workspace's and names
    /// no host: tests of programs that use git push between repositories of their own.
    fn is_push_elsewhere(&self, tool: &ToolRow) -> bool {
        let words = self.words(tool);
        let plain =
            words.first() == Some(&"push") && !self.cut && !self.has_option("-c") && !self.has_option("--config-env");
        plain
            && !self.names_host(&words)
            && push::repository(self.directory, &self.given).is_some_and(|it| !push::is_workspace(&it))
    }

    /// True if a push names its destination by something else than a path or the name of a
    /// remote.
    fn names_host(&self, words: &[&str]) -> bool {
        let given = self.given.iter().map(|argument| argument.strip_prefix("--repo=").unwrap_or(argument));
        words.get(1).is_some_and(|word| push::is_host_path(word)) || given.into_iter().any(push::is_address)
    }

    /// The script that an interpreter runs, and what the script is given.
    fn script(&self, name: &str) -> Option<(&'a str, Self)> {
        if !fits(INTERPRETERS, name) {
            return None;
        }
        let at = self.given.iter().position(|argument| *argument == "-m" || !argument.starts_with('-'))?;
        let (options, rest) = self.given.split_at_checked(at)?;
        // Text to run instead of a script.
        if options.iter().any(|option| !option.starts_with("--") && option.contains('c')) {
            return None;
        }
        let rest = rest.strip_prefix(&["-m"]).unwrap_or(rest);
        let (script, given) = rest.split_first()?;
        let file = file_name(script);
        let stem = SCRIPT_ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
        Some((stem.strip_suffix("-cli").unwrap_or(stem), self.with(given.to_vec())))
    }

    /// True if the tool only explains itself. Only the first option is sure to be an option
    /// and not another option's value; some short forms mean something else if more
    /// follows.
    fn ask(&self) -> bool {
        let Some(at) = self.given.iter().position(|argument| argument.starts_with('-')) else { return false };
        match self.given.get(at..) {
            Some(["--help" | "-help", ..]) => true,
            Some(["-h"]) => !self.cut,
            Some(["--version" | "-version"]) => at == 0,
            _ => false,
        }
    }

    /// True for a dry run. If the record was cut, the flag may have been revoked in the
    /// missing part, so the answer is false.
    fn rehearse(&self) -> bool {
        let flag = |(at, argument): (usize, &&str)| {
            let before = at.checked_sub(1).and_then(|at| self.given.get(at));
            REHEARSING.contains(argument) && !before.is_some_and(|before| TAKES_ANYTHING.contains(before))
        };
        let taken_back = |argument: &&str| *argument == "--" || argument.starts_with("--no-dry-run");
        !self.cut && self.given.iter().enumerate().any(flag) && !self.given.iter().any(taken_back)
    }

    fn match_command(&self, tool: &ToolRow, command: &CommandRow) -> bool {
        let words = self.words(tool);
        command.patterns.iter().any(|pattern| self.match_pattern(pattern, &words))
    }

    /// Arguments that are neither options nor option values. `+name` chooses a toolchain
    /// and is left out.
    fn words(&self, tool: &ToolRow) -> Vec<&'a str> {
        let mut given = self.given.iter().copied();
        let mut words = Vec::new();
        while let Some(argument) = given.next() {
            if tool.valued.contains(&argument) {
                given.next();
            } else if !argument.starts_with(['-', '+']) {
                words.push(argument);
            }
        }
        words
    }

    fn match_pattern(&self, pattern: &str, words: &[&str]) -> bool {
        match pattern {
            "" => words.is_empty(),
            "…" => words.is_empty() && self.cut,
            _ => self.match_tokens(pattern, words),
        }
    }

    fn match_tokens(&self, pattern: &str, mut words: &[&str]) -> bool {
        let mut anywhere = false;
        for token in pattern.split(' ') {
            if token == ".." {
                anywhere = true;
            } else if token.starts_with('-') {
                if !self.has_option(token) {
                    return false;
                }
            } else {
                let found = if anywhere {
                    words.iter().position(|word| fits(token, word) || fits(token, task(word)))
                } else {
                    words.first().filter(|word| fits(token, word)).map(|_| 0)
                };
                let Some(rest) = found.and_then(|at| words.get(at + 1..)) else { return false };
                words = rest;
            }
        }
        true
    }

    /// `--name`, also with a value; `--name=pattern`, with a value that fits. A value may
    /// stand apart or be attached.
    fn has_option(&self, token: &str) -> bool {
        let (name, value) = token.split_once('=').unwrap_or((token, "*"));
        let attached = |argument: &str| match argument.strip_prefix(name) {
            Some("") => value == "*",
            Some(rest) if name.starts_with("--") => rest.strip_prefix('=').is_some_and(|rest| fits(value, rest)),
            Some(rest) => fits(value, rest),
            None => false,
        };
        let apart = |pair: &[&str]| matches!(pair, [option, given] if *option == name && fits(value, given));
        self.given.iter().any(|argument| attached(argument)) || self.given.windows(2).any(apart)
    }
}

/// A task without the project it is of: `:lib:publish`.
fn task(word: &str) -> &str {
    word.rsplit(':').next().unwrap_or(word)
}
