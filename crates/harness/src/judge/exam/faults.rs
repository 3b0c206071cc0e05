//! Signs of a lacking environment in the output of a command on the baseline.

use contract::text::show_controls;

/// Bytes at the end of an output that are searched.
const END: usize = 64 << 10;
/// Lines and bytes that are kept to be shown.
const LINES: usize = 8;
const LONGEST: usize = 1000;

/// The end of an output, for a person.
pub(super) fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(end(output)).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| show_controls(line));
    let mut kept: Vec<String> = kept.collect();
    while kept.len() > 1 && kept.iter().map(String::len).sum::<usize>() > LONGEST {
        kept.remove(0);
    }
    kept.join("\n").chars().take(LONGEST).collect()
}

/// Program or module that a failed command lacks, from the messages of programs that start
/// others.
pub(super) fn missing_tool(argv: &[String], exit: Option<i32>, output: &[u8]) -> Option<String> {
    if exit == Some(0) {
        return None;
    }
    let text = String::from_utf8_lossy(end(output));
    text.lines()
        .find_map(|line| python_module(argv, line).or_else(|| cargo_command(line)).or_else(|| make_program(line)))
}

fn end(output: &[u8]) -> &[u8] {
    &output[output.len().saturating_sub(END)..]
}

/// `python3: No module named pytest`, of the module that the command itself names behind `-m`.
fn python_module(argv: &[String], line: &str) -> Option<String> {
    let (_, module) = line.trim_end().rsplit_once(": No module named ")?;
    let module = module.trim_matches(['\'', '"']);
    let named = |words: &[&str]| words.windows(2).any(|pair| pair == ["-m", module]);
    let of_argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let of_script = argv.iter().any(|word| named(&word.split_whitespace().collect::<Vec<_>>()));
    (named(&of_argv) || of_script).then(|| module.to_owned())
}

/// ``error: no such command: `nextest` ``.
fn cargo_command(line: &str) -> Option<String> {
    let rest = line
        .trim_start()
        .strip_prefix("error: no such command: `")
        .or_else(|| line.strip_prefix("error: no such subcommand: `"))?;
    Some(format!("cargo {}", rest.split('`').next()?))
}

/// `make: tsc: No such file or directory`, `make[1]: ./x: Permission denied`: the recipe's
/// program, before `Error 127` or `126`.
fn make_program(line: &str) -> Option<String> {
    let rest = line.strip_prefix("make")?;
    let rest = rest.strip_prefix(": ").or_else(|| Some(rest.strip_prefix('[')?.split_once("]: ")?.1))?;
    let (program, why) = rest.rsplit_once(": ")?;
    let lacks = matches!(why.trim_end(), "No such file or directory" | "Permission denied" | "command not found");
    (lacks && !program.is_empty() && !program.contains([' ', '*'])).then(|| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_are_not_there() {
        for (argv, output, expected) in [
            (&["python3", "-m", "pytest"][..], "/usr/bin/python3: No module named pytest\n", Some("pytest")),
            (&["sh", "-c", "cd x && python3 -m pytest -q"], "python3: No module named pytest\n", Some("pytest")),
            // A module of the project is its own affair.
            (&["python3", "-m", "pytest"], "E   ModuleNotFoundError: No module named 'calc'\n", None),
            (&["python3", "-m", "unittest"], "ImportError: No module named calc\n", None),
            (
                &["cargo", "nextest", "run"],
                "error: no such command: `nextest`\n\nhelp: view all\n",
                Some("cargo nextest"),
            ),
            (&["make"], "make: tsc: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", Some("tsc")),
            (&["make"], "make[1]: ./run: Permission denied\n", Some("./run")),
            (&["make"], "make: *** No rule to make target 'x'.  Stop.\n", None),
            (&["make"], "cat: a.txt: No such file or directory\n", None),
        ] {
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            assert_eq!(missing_tool(&argv, Some(2), output.as_bytes()).as_deref(), expected, "{output}");
            assert_eq!(missing_tool(&argv, Some(0), output.as_bytes()), None);
        }
    }

    #[test]
    fn words_that_only_look_like_a_missing_tool() {
        for line in [
            "make: a b: No such file or directory",
            "make: *** x: Permission denied",
            "make: : command not found",
            "make: x: is up to date",
        ] {
            assert_eq!(make_program(line), None, "{line}");
        }
        assert_eq!(make_program("make: x: command not found").as_deref(), Some("x"), "control");
        assert_eq!(cargo_command("error: no such subcommand: `x`").as_deref(), Some("cargo x"), "of older ones");
    }

    #[test]
    fn lines_go_from_the_front_until_the_rest_is_short_enough() {
        let line = |letter: &str, length: usize| letter.repeat(length);
        let exact = format!("{}\n{}\n", line("a", 500), line("b", 500));
        assert_eq!(last_lines(exact.as_bytes()).len(), LONGEST, "as long as may be, and a newline less");
        let longer = format!("{}\n{}\n", line("a", 501), line("b", 500));
        assert_eq!(last_lines(longer.as_bytes()), line("b", 500));
        let one = line("c", 2000);
        assert_eq!(last_lines(one.as_bytes()), line("c", LONGEST));
    }

    #[test]
    fn the_end_is_short_and_plain() {
        assert_eq!(last_lines(b"a\n\n  b\x1b[31m \n"), "a\n  b␛[31m");
        let many: String = (0..100).map(|line| format!("{line}\n")).collect();
        assert_eq!(last_lines(many.as_bytes()).lines().count(), LINES);
        assert!(last_lines("x".repeat(100_000).as_bytes()).len() <= LONGEST);
    }
}
