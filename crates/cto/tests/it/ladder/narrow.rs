//! Ladders and the status on terminals of several widths: no line is wider than the terminal, and none loses a word.

use super::{lay_case, run_case};
use crate::world;

#[test]
fn nothing_is_wider_than_the_terminal() {
    let world = world();
    lay_case(&world, true);
    run_case(&world, 0);
    lay_case(&world, false);
    run_case(&world, 1);
    let config =
        "engines:\n  codex:\n    model: {provider: openai-codex, model: a-model-with-a-rather-long-name-2026-11-18}\n";
    let folder = world.user().join(".config/cto");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.yaml"), config).unwrap();
    for words in [
        &["ladder"][..],
        &["ladder", "--engine", "fake"],
        &["ladder", "explain", "2", "--engine", "fake"],
        &["ladder", "explain", "4"],
        &["status"],
    ] {
        for columns in [60, 80, 120] {
            let shown = world.on_terminal_of(columns, words);
            assert_eq!(shown.code, 0, "{words:?}");
            let screen = shown.screen();
            println!("{columns} columns, {words:?}\n{}", screen.join("\n"));
            let wide: Vec<&String> = screen.iter().filter(|line| line.chars().count() > usize::from(columns)).collect();
            assert!(wide.is_empty(), "{columns} columns, {words:?}: {wide:#?}");
            let text = screen.join(" ");
            assert!(text.contains("no engine is a default") || words.len() > 1 || columns < 80, "{text}");
        }
    }
}
