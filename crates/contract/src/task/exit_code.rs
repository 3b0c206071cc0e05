//! Commands that end with 0 whatever their tests did: a shell's pipe, `|| true`, `; true`.

/// Programs that end well whatever happened before them.
const ALWAYS_WELL: &[&str] = &["true", ":", "echo", "printf", "cat", "tee", "tail", "head", "date"];

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"];

/// Shell construct that hides the exit code of the tests; none if the command's exit code
/// can be trusted.
pub fn hidden_exit_code(argv: &[String]) -> Option<&'static str> {
    let (options, script) = shell_script(argv)?;
    let sets = |short: char, long: &str| {
        let in_options = options.iter().any(|option| option == long || is_short(option, short));
        let mut words = script.split_whitespace().zip(script.split_whitespace().skip(1));
        in_options || words.any(|(word, next)| matches!(word, "set" | "-o") && (next == long || is_short(next, short)))
    };
    let (errexit, pipefail) = (sets('e', "errexit"), script.contains("pipefail") || sets('\0', "pipefail"));
    let commands = split_commands(script);
    let mut followed = commands.iter().skip(1);
    if !pipefail && followed.any(|(operator, _)| *operator == "|") {
        return Some(
            "a pipe has its last command's exit code; leave the pipe out, or begin with `set -o pipefail` in bash",
        );
    }
    let (operator, last) = commands.last().filter(|_| commands.len() > 1)?;
    match *operator {
        "||" if ends_well(last) => Some("what follows `||` ends with 0 whatever was before it; leave it out"),
        ";" if !errexit && ends_well(last) => {
            Some("the last command ends with 0 whatever was before it; join them with `&&`, or leave it out")
        }
        _ => None,
    }
}

fn is_short(option: &str, letter: char) -> bool {
    option.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

/// The options of a shell and the script that it is given.
fn shell_script(argv: &[String]) -> Option<(&[String], &str)> {
    let name = argv.first()?.rsplit('/').next()?;
    let at = argv.iter().position(|word| is_short(word, 'c'))?;
    SHELLS.contains(&name).then(|| Some((&argv[1..=at], argv.get(at + 1)?.as_str())))?
}

fn ends_well(command: &str) -> bool {
    let mut words = command.split_whitespace().map(|word| word.trim_matches([')', '}', ';', '(', '{']));
    match words.next() {
        Some("exit") => matches!(words.next(), None | Some("0" | "")),
        Some(program) => ALWAYS_WELL.contains(&program.rsplit('/').next().unwrap_or(program)),
        None => false,
    }
}

/// The commands of a script, each with the operator before it: `|`, `||`, `&&` or `;`. What
/// is quoted or substituted is no operator. Good enough for advice; nothing else rests on
/// it.
fn split_commands(script: &str) -> Vec<(&'static str, String)> {
    let mut commands = vec![("", String::new())];
    let mut letters = script.chars().peekable();
    let (mut quote, mut depth) = (None, 0_u32);
    while let Some(letter) = letters.next() {
        let operator = match (letter, quote) {
            ('\\', _) => {
                letters.next();
                None
            }
            ('\'' | '"', None) => {
                quote = Some(letter);
                None
            }
            (_, Some(open)) => {
                quote = (letter != open).then_some(open);
                None
            }
            ('$', None) if letters.next_if_eq(&'(').is_some() => {
                depth += 1;
                None
            }
            (')', None) if depth > 0 => {
                depth -= 1;
                None
            }
            ('|', None) if depth == 0 => Some(if letters.next_if_eq(&'|').is_some() { "||" } else { "|" }),
            ('&', None) if depth == 0 && letters.next_if_eq(&'&').is_some() => Some("&&"),
            (';' | '\n', None) if depth == 0 => Some(";"),
            _ => None,
        };
        match (operator, commands.last_mut()) {
            (Some(operator), _) => commands.push((operator, String::new())),
            (None, Some((_, command))) => command.push(letter),
            (None, None) => {}
        }
    }
    commands.retain(|(_, command)| !command.trim().is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_exit_codes_are_told() {
        let check = |argv: &[&str], hidden: bool| {
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            assert_eq!(hidden_exit_code(&argv).is_some(), hidden, "{argv:?}");
        };
        for script in [
            "pytest | tee log",
            "pytest 2>&1 |tee log",
            "pytest || true",
            "pytest||:",
            "pytest || exit 0",
            "pytest || echo failed",
            "pytest; true",
            "pytest\ntrue\n",
            "cd a && pytest; exit 0",
            "(pytest || true)",
            "pytest -k \"a b\" | cat",
        ] {
            check(&["sh", "-c", script], true);
        }
        for script in [
            "pytest",
            "cd a && pytest",
            "cd a; pytest",
            "set -o pipefail; pytest | tee log",
            "set -e; pytest; echo done",
            "set -eu\npytest\necho done",
            "pytest -k 'a | b'",
            "pytest -k \"a || true\"",
            "test \"$(cat a | head -1)\" = 1",
            "pytest || exit 1",
            "pytest > log 2>&1",
            "echo a; pytest",
        ] {
            check(&["/bin/sh", "-c", script], false);
        }
        check(&["bash", "-o", "pipefail", "-c", "pytest | tee log"], false);
        check(&["bash", "-ec", "pytest; true"], false);
        check(&["bash", "-lc", "pytest; true"], true);
        check(&["pytest", "-c", "a | b"], false);
        check(&["sh"], false);
        check(&["sh", "-c"], false);
    }
}
