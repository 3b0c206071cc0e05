//! The reader of git's configuration: what git reads, and what it refuses.

use super::super::config::{BYTES_MAX, SettingKey, read_config};

fn lines(bytes: &[u8]) -> Result<Vec<String>, usize> {
    let settings = read_config(bytes).map_err(|error| error.line)?;
    let line = |(SettingKey { section, subsection, name }, values): (&SettingKey, &Vec<Option<Vec<u8>>>)| {
        let subsection = subsection.as_ref().map(|subsection| format!(".{}", subsection.escape_ascii()));
        let values: Vec<String> = values
            .iter()
            .map(|value| value.as_ref().map_or("-".to_owned(), |value| format!("<{}>", value.escape_ascii())))
            .collect();
        format!("{section}{}.{name} {}", subsection.unwrap_or_default(), values.join(" "))
    };
    Ok(settings.iter().map(line).collect())
}

fn check(bytes: impl AsRef<[u8]>, wanted: &[&str]) {
    let bytes = bytes.as_ref();
    assert_eq!(lines(bytes).unwrap(), wanted, "{}", bytes.escape_ascii());
}

#[test]
fn settings_are_read_as_git_reads_them() {
    check("", &[]);
    check("\u{feff}[a]b=c", &["a.b <c>"]);
    check("# x\n ; y\n\n[core]\n\tbare = false\n", &["core.bare <false>"]);
    check("[CORE] HooksPath = A/b\r\n", &["core.hookspath <A/b>"]);
    check("[a]b\r\nc=x\\\r\ny", &["a.b -", "a.c <xy>"]);
    check("[a]b\n[a]\nb = \n b=1 \t", &["a.b - <> <1>"]);
    check("[remote \"Or.i g\\\"\\x\"] url=u", &["remote.Or.i g\\\"x.url <u>"]);
    check("[remote   \"x\"]\nurl=u", &["remote.x.url <u>"]);
    check("[Remote.Origin]url=u", &["remote.origin.url <u>"]);
    check("[a.B \"C\"]d=e", &["a.b.C.d <e>"]);
    check("[a \"\"]b=c", &["a..b <c>"]);
    check("[ \"x\"]b=c", &[".x.b <c>"]);
    check("b=c", &[".b <c>"]);
    check("[a]b=\"x # y\"; z\nc = p  q # r", &["a.b <x # y>", "a.c <p  q>"]);
    check("[a]b=x\\\n  y\nc=\"q \\\n r\"", &["a.b <x  y>", "a.c <q  r>"]);
    check("[a]b = \\tx\\n\\b\\\\\\\" \"\"  ", &["a.b <\\tx\\n\\x08\\\\\\\" >"]);
    check("[a]b=\" x \"y \n", &["a.b < x y>"]);
    check("[a]b=x\\", &["a.b <x>"]);
    check("[a][b]c=d", &["b.c <d>"]);
    check(b"[a \"\xff\"]b=\xfe", &["a.\\xff.b <\\xfe>"]);
}

#[test]
fn what_git_refuses_is_an_error_with_its_line() {
    for (bytes, line) in [
        ("[a", 1),
        ("[]", 1),
        ("[a\n\"b\"]", 2),
        ("[a \"b\"#\nc=d", 1),
        ("[a \"b]\nc=d", 2),
        ("[a \"b\\\n\"]", 2),
        ("[a b]", 1),
        ("[a \n\"b\"]", 2),
        ("[a \"b\" ]", 1),
        ("[a_b]", 1),
        ("[a]\n1=2", 2),
        ("[a]\nb_c=2", 2),
        ("[a]b # c", 1),
        ("[a]b c", 1),
        ("[a]\n\nb=\"c\nd=e", 4),
        ("[a]b=\\x", 1),
        ("[a]b=\"", 1),
        ("=b", 1),
        ("\u{feff}\u{feff}[a]", 1),
        ("[a]b=\0", 1),
    ] {
        assert_eq!(lines(bytes.as_bytes()), Err(line), "{bytes:?}");
    }
}

#[test]
fn a_file_is_read_up_to_its_limit() {
    let comment = |length: usize| vec![b'#'; length];
    assert!(read_config(&comment(BYTES_MAX)).is_ok());
    assert!(read_config(&comment(BYTES_MAX + 1)).is_err());
}
