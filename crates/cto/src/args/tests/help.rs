//! Help pages fit the terminal, and only the terminal's width breaks their lines.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Problems of a help page at a width: lines that are too wide, and lines that end before the next word had to move.
fn find_bad_lines(help: &str, width: usize) -> Vec<String> {
    let lines: Vec<&str> = help.lines().collect();
    let wide = lines.iter().filter(|line| line.chars().count() > width && !is_unbreakable(line));
    let wide = wide.map(|line| format!("wider than {width}: {line}"));
    let pairs = lines.windows(2).filter(|pair| continues(pair[0], pair[1]));
    let early = pairs.filter(|pair| {
        let word = pair[1].split_whitespace().next().unwrap_or_default();
        pair[0].chars().count() + 1 + word.chars().count() <= width
    });
    wide.chain(early.map(|pair| format!("broken early at {width}: {} / {}", pair[0], pair[1]))).collect()
}

/// True for one long word, which no width can break, and for the usage, which clap leaves in one line.
fn is_unbreakable(line: &str) -> bool {
    line.split_whitespace().count() == 1 || line.starts_with("Usage:")
}

/// True if the second line goes on with the paragraph or the description of the first.
fn continues(line: &str, next: &str) -> bool {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let is_paragraph = !line.is_empty() && !next.is_empty() && indent(line) == 0 && indent(next) == 0;
    let is_name = line.trim_start().starts_with(['-', '<', '[']) && !line.trim_start().contains("  ");
    is_paragraph || (indent(next) >= 8 && !is_name && !line.is_empty())
}

fn check_pages(command: &Command, path: &str, width: usize, wrong: &mut Vec<String>) -> usize {
    let page = command.clone().term_width(width).render_help().to_string();
    wrong.extend(find_bad_lines(&page, width).into_iter().map(|problem| format!("{path}: {problem}")));
    let below = command.get_subcommands();
    1 + below.map(|it| check_pages(it, &format!("{path} {}", it.get_name()), width, wrong)).sum::<usize>()
}

#[test]
fn only_the_width_of_the_terminal_breaks_help() {
    let mut root = Cli::command();
    root.build();
    for width in [60, 80, 120] {
        let mut wrong = Vec::new();
        assert!(check_pages(&root, "cto", width, &mut wrong) > 100);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn a_break_by_hand_is_found() {
    let help = |text: &str| Command::new("x").after_help(text.to_owned()).term_width(30).render_help().to_string();
    let once = "Words that go on for more than one line of it, and end.";
    assert_eq!(find_bad_lines(&help(once), 30), Vec::<String>::new(), "control");
    assert_eq!(find_bad_lines(&help(&once.replace("one line", "one\nline")), 30).len(), 1);
    assert_eq!(find_bad_lines(once, 30).len(), 1);
}
