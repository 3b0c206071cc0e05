//! Documents that do not load: one row for each way to be wrong, and its error.

use super::sample::Sample;
use crate::source::{Problems, Style, load};

const GOOD: &str = "task_id: a\ntitle: b\nrisk_class: low\n";

fn refused(file: &str, text: impl AsRef<[u8]>) -> Problems {
    load::<Sample>(file, text.as_ref()).unwrap_err()
}

/// The error of each document, which for YAML goes below a good head.
fn yaml(rows: &[&str]) -> String {
    rows.iter().map(|row| refused("f", format!("{GOOD}{row}")).to_string()).collect()
}

fn json(rows: &[&str]) -> String {
    rows.iter().map(|row| refused("f.json", row).to_string()).collect()
}

#[test]
fn keys() {
    insta::assert_snapshot!(yaml(&[
        "allowed_path: []\n",
        "zebra: 1\n",
        "limits: {wall_secs: 1, retires: 2}\n",
        "title: c\n",
        "limits:\n  retries: 1\n",
        "checks:\n  - path: a\n",
        "checks:\n  - kind: comand\n",
        "checks:\n  - kind: exists\n    pth: a\n",
        "checks:\n  - kind: exists\n    path: a\n    argv: b\n",
    ]), @"
    f:4:1: error: unknown key `allowed_path`; did you mean `allowed_paths`?
    f:4:1: error: unknown key `zebra`; known keys: task_id, title, risk_class, forbidden_actions, allowed_paths, limits, checks, variables, argv, approval_required, slots
    f:4:10: error: unknown key `wall_secs`; did you mean `wall_seconds`?
    f:4:24: error: unknown key `retires`; did you mean `retries`?
    f:4:1: error: duplicate key `title`, first given on line 2
    f:4:1: error: `wall_seconds` is missing
    f:5:5: error: `kind` is missing; one of: command, exists
    f:5:11: error: `comand` is not one of the values of `kind`; did you mean `command`?
    f:6:5: error: unknown key `pth`; did you mean `path`?
    f:7:5: error: unknown key `argv`; known keys: kind, path
    ");
    insta::assert_snapshot!(refused("f", "titel: b\nrisk_class: low\n"), @"
    f:1:1: error: unknown key `titel`; did you mean `title`?
    f:1:1: error: `task_id` is missing
    ");
    insta::assert_snapshot!(refused("f", "# nothing\n"), @"f:1:1: error: the document must be a map, found nothing");
    insta::assert_snapshot!(refused("f", "- a\n"), @"f:1:1: error: the document must be a map, found a list");
}

#[test]
fn values() {
    insta::assert_snapshot!(yaml(&[
        "approval_required: yes\n",
        "approval_required:\n",
        "allowed_paths: src\n",
        "allowed_paths: [a, 1.10, [b]]\n",
        "variables: {A: true}\n",
        "argv: 7\n",
        "argv: [a, 7]\n",
        "limits: 5\n",
        "limits: {wall_seconds: '60'}\n",
        "limits: {wall_seconds: 0}\n",
        "limits: {wall_seconds: 3601, retries: 256, money: 9007199254740992}\n",
        "limits: {wall_seconds: 1.5, retries: 007, money: -99999999999999999999}\n",
        "limits: {wall_seconds: -9223372036854775808}\n",
        "forbidden_actions:\n  - deploi\n  - 3\n  - zzz\n",
        "allowed_paths: [a, b, a, a]\n",
        "slots: [2, 4, 6]\n",
        "slots:\n  - 3\n  - 2\n",
        "slots:\n  - 2\n  - 3\n",
        "slots: [4294967296]\n",
    ]), @"
    f:4:20: error: `approval_required` must be true or false, found text
    f:4:1: error: `approval_required` must be true or false, found nothing
    f:4:16: error: `allowed_paths` must be a list, found text
    f:4:20: error: entry 2 of `allowed_paths` must be text, found a number; put it in quotes to make it text
    f:4:26: error: entry 3 of `allowed_paths` must be text, found a list
    f:4:16: error: `A` must be text, found true; put it in quotes to make it text
    f:4:7: error: `argv` must be text or a list, found a number; put it in quotes to make it text
    f:4:11: error: entry 2 of `argv` must be text, found a number; put it in quotes to make it text
    f:4:9: error: `limits` must be a map, found a number
    f:4:24: error: `wall_seconds` must be a number, found text; take the quotes away
    f:4:24: error: `wall_seconds` must be at least 1, found 0
    f:4:24: error: `wall_seconds` must be at most 3600, found 3601
    f:4:39: error: `retries` must be at most 255, found 256
    f:4:51: error: `money` must be within ±9007199254740991, found 9007199254740992
    f:4:24: error: `wall_seconds` must be a whole number, found `1.5`: no fractions
    f:4:38: error: `retries` must be a whole number, found `007`: only decimal digits
    f:4:50: error: `money` must be within ±9007199254740991, found -99999999999999999999
    f:4:24: error: `wall_seconds` must be at least 1, found -9223372036854775808
    f:5:5: error: `deploi` is not a forbidden action; did you mean `deploy`?
    f:6:5: error: entry 2 of `forbidden_actions` must be text, found a number; one of: deploy, issue_close, push
    f:7:5: error: `zzz` is not a forbidden action; one of: deploy, issue_close, push
    f:4:23: error: `a` is listed twice, first on line 4
    f:4:26: error: `a` is listed twice, first on line 4
    f:4:1: error: `slots` must have at most 2 entries, found 3
    f:5:5: error: 3 is odd
    f:6:5: error: 3 is odd
    f:4:9: error: entry 1 of `slots` must be at most 4294967295, found 4294967296
    ");
    insta::assert_snapshot!(refused("f", "task_id: -a\ntitle: ''\nrisk_class: [low]\n"), @"
    f:1:10: error: `-a` does not have the form of `task_id`; Letters, digits, `.`, `_` and `-`, beginning with a letter or digit.
    f:2:8: error: `title` must have at least 1 character, found 0
    f:3:1: error: `risk_class` must be text, found a list; one of: low, very-high
    ");
    insta::assert_snapshot!(refused("f", "task_id: 12\ntitle: aaaaaaaaaaaaaaaaaaaaa\nrisk_class: very_high\n"), @"
    f:1:10: error: `task_id` must be text, found a number; put it in quotes to make it text
    f:2:8: error: `title` must have at most 20 characters, found 21
    f:3:13: error: `very_high` is not one of the values of `risk_class`; did you mean `very-high`?
    ");
}

#[test]
fn yaml_that_means_more_than_it_shows() {
    insta::assert_snapshot!(yaml(&[
        "variables: &v {A: b}\n",
        "variables: {A: &a b, B: *a}\n",
        "variables: {A: *nowhere}\n",
        "variables: {A: !!str b}\n",
        "variables: {<<: {A: b}}\n",
        "variables: {1: a}\n",
        "variables: {true: a, ~: b, [x]: c}\n",
        "---\na: 1\n",
        "variables: {A: \"x\\0y\"}\n",
    ]), @"
    f:4:12: error: an anchor (`&name`) is not accepted
    f:4:16: error: an anchor (`&name`) is not accepted
    f:4:25: error: an alias (`*name`) is not accepted
    f:4:16: error: an alias (`*name`) is not accepted
    f:4:16: error: a tag (`!name`) is not accepted
    f:4:13: error: a merge key (`<<`) is not accepted
    f:4:13: error: a key must be text; put it in quotes if it is meant as text
    f:4:13: error: a key must be text; put it in quotes if it is meant as text
    f:4:22: error: a key must be text; put it in quotes if it is meant as text
    f:4:28: error: a key must be text; put it in quotes if it is meant as text
    f:4:1: error: more than one document is not accepted
    f:4:16: error: the text holds a NUL character
    ");
}

#[test]
fn syntax() {
    insta::assert_snapshot!(yaml(&[
        "limits:\n\twall_seconds: 1\n",
        "allowed_paths:\n  - a\n\t- b\n",
        "allowed_paths: [a, b\n",
        "argv: 'x\n",
        "argv: b: c\n",
        "argv: @x\n",
        "allowed_paths: [a]]\n",
    ]), @"
    f:5:1: error: a tab is used as indentation; indent with spaces
    f:6:1: error: a tab is used as indentation; indent with spaces
    f:4:21: error: not valid YAML: while parsing a flow sequence, expected ',' or ']'
    f:4:7: error: not valid YAML: while scanning a quoted scalar, found unexpected end of stream
    f:4:8: error: not valid YAML: mapping values are not allowed in this context
    f:4:7: error: not valid YAML: unexpected character: `@'
    f:4:19: error: not valid YAML: misplaced bracket
    ");
    insta::assert_snapshot!(json(&[
        "",
        "{\"title\": \"a\", // no\n}",
        "{\"title\": \"a\",}",
        "{'title': 'a'}",
        "{title: \"a\"}",
        "{\"title\": \"a\" \"x\": 1}",
        "{\"title\": \"\\ud83d\"}",
        "{\"title\": \"\\x41\"}",
        "{\"title\": \"a\nb\"}",
        "{\"title\": \"é\tb\"}",
        "{\"title\": 01}",
        "{\"title\": +1}",
        "{\"title\": NaN}",
        "{} {}",
        "{\"a\": [1, 2}",
    ]), @r"
    f.json:1:1: error: the file is empty
    f.json:1:16: error: not valid JSON: comments are not allowed
    f.json:1:14: error: not valid JSON: trailing commas are not allowed
    f.json:1:2: error: not valid JSON: single-quoted strings are not allowed
    f.json:1:2: error: not valid JSON: expected string for object property
    f.json:1:14: error: not valid JSON: expected comma
    f.json:1:12: error: not valid JSON: invalid unicode escape sequence. 'd83d (unpaired high surrogate)' is not a valid UTF8 character
    f.json:1:12: error: not valid JSON: invalid escape
    f.json:1:12: error: not valid JSON: control character (\u0000-\u001F) found while parsing a string
    f.json:1:12: error: not valid JSON: control character (\u0000-\u001F) found while parsing a string
    f.json:1:12: error: not valid JSON: expected comma
    f.json:1:11: error: not valid JSON: unary plus on numbers is not allowed
    f.json:1:11: error: not valid JSON: unexpected token
    f.json:1:4: error: not valid JSON: text cannot contain more than one JSON value
    f.json:1:12: error: not valid JSON: unexpected close brace
    ");
}

#[test]
fn json_documents_are_held_to_the_same() {
    insta::assert_snapshot!(json(&[
        "{\"task_id\": \"a\", \"title\": \"b\",\n \"risk_class\": \"low\", \"title\": \"c\"}",
        "{\"task_id\": 7, \"titel\": \"é\", \"risk_class\": \"lwo\", \"limits\": {\"wall_seconds\": 1.0}}",
        "{\"task_id\": \"a\", \"title\": \"b\\u0000\", \"risk_class\": \"low\"}",
        "[]",
    ]), @"
    f.json:2:23: error: duplicate key `title`, first given on line 1
    f.json:1:13: error: `task_id` must be text, found a number; put it in quotes to make it text
    f.json:1:16: error: unknown key `titel`; did you mean `title`?
    f.json:1:44: error: `lwo` is not one of the values of `risk_class`; did you mean `low`?
    f.json:1:78: error: `wall_seconds` must be a whole number, found `1.0`: no fractions
    f.json:1:27: error: the text holds a NUL character
    f.json:1:1: error: the document must be a map, found a list
    ");
}

#[test]
fn encoding() {
    let mut out = String::new();
    for bytes in [
        &b"task_id: a\ntitle: \xff"[..],
        b"task_id: a\0",
        b"\xef\xbb\xbftask_id: a",
        b"task_id: \x1b[31m",
        b"task_id: a\rtitle: b",
        &vec![b'a'; (1 << 20) + 1],
    ] {
        out += &refused("f", bytes).to_string();
    }
    insta::assert_snapshot!(out, @"
    f:2:8: error: the file is not UTF-8
    f:1:11: error: the file holds a NUL byte
    f:1:1: error: the file holds a byte order mark
    f:1:10: error: the file holds the control character U+001B
    f:1:11: error: the file holds a carriage return without a line feed
    f:1:1: error: the file is larger than 1 MiB
    ");
}

#[test]
fn shown_values_are_short_and_move_no_cursor() {
    let long = "x".repeat(200);
    let text = format!("task_id: a\ntitle: b\nrisk_class: \"\\e[31m\\u202E{long}\"\n");
    insta::assert_snapshot!(refused("e\u{1b}vil", text), @r"e␛vil:3:13: error: `␛[31m\u{202e}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is not one of the values of `risk_class`; one of: low, very-high");
}

const BROKEN: &str = "\
schema: 1
task_id: CTO-144
title: b
risk_class: low
# a comment
# and another

# before the list
allowed_path:
  - src/
  - tests/
forbidden_actions:
  - push
  - deploi
limits:
  retries: 300
argv:\t[\"😀\", 7]
";

#[test]
fn rendered() {
    let text = BROKEN.replace("title: b\n", "\n");
    insta::assert_snapshot!(refused("contracts/CTO-144.yaml", text).render_all(Style::default()), @r#"
    error: unknown key `schema`
      --> contracts/CTO-144.yaml:1:1
       |
     1 | schema: 1
       | ^^^^^^
       |
       = known keys: task_id, title, risk_class, forbidden_actions, allowed_paths, limits, checks,
         variables, argv, approval_required, slots

    error: unknown key `allowed_path`
      --> contracts/CTO-144.yaml:9:1
       |
     9 | allowed_path:
       | ^^^^^^^^^^^^ did you mean `allowed_paths`?
       |

    error: `deploi` is not a forbidden action
      --> contracts/CTO-144.yaml:14:5
       |
    14 |   - deploi
       |     ^^^^^^ did you mean `deploy`?
       |
       = one of: deploy, issue_close, push

    error: `wall_seconds` is missing
      --> contracts/CTO-144.yaml:15:1
       |
    15 | limits:
       | ^^^^^^
       |

    error: `retries` must be at most 255, found 300
      --> contracts/CTO-144.yaml:16:12
       |
    16 |   retries: 300
       |            ^^^
       |

    error: entry 2 of `argv` must be text, found a number
      --> contracts/CTO-144.yaml:17:13
       |
    17 | argv:    ["😀", 7]
       |                 ^
       |
       = put it in quotes to make it text

    error: `title` is missing
      --> contracts/CTO-144.yaml:1:1
       |
       = One line that says what to do.
    "#);
}

#[test]
fn rendered_one_by_one() {
    let problems = refused("f.json", format!("{{\"title\": \"a\", {}\"zebra\": 1}}", "\"variables\": {}, ".repeat(9)));
    let last = problems.problems.iter().find(|problem| problem.message.contains("zebra")).unwrap();
    insta::assert_snapshot!(last.render_problem(&problems.text, Style::default()), @r#"
    error: unknown key `zebra`
      --> f.json:1:169
       |
     1 | …: {}, "variables": {}, "variables": {}, "zebra": 1}
       |                                          ^^^^^^^
       |
       = known keys: task_id, title, risk_class, forbidden_actions, allowed_paths, limits, checks,
         variables, argv, approval_required, slots
    "#);
}

#[test]
fn rendered_in_color() {
    let problems = refused("f", format!("{GOOD}allowed_path: []\n"));
    insta::assert_snapshot!(problems.render_all(Style { color: true }).replace('\x1b', "ESC"), @"
    ESC[1;31merrorESC[0m: unknown key `allowed_path`
      --> f:4:1
       |
     4 | allowed_path: []
       | ESC[31m^^^^^^^^^^^^ESC[0m ESC[36mdid you mean `allowed_paths`?ESC[0m
       |
    ");
}
