//! A large board and many documents: everything still answers, and one edit keeps every other byte.

use std::fs;
use std::time::Instant;

use super::{errors, workspace};

const ITEMS: usize = 10_000;
const DOCUMENTS: usize = 3_000;

#[test]
fn ten_thousand_items_and_three_thousand_documents() {
    let world = workspace();
    let item = |number: usize| {
        let blocked = number.checked_sub(1).map(|before| format!("DEMO-WORK-{before:05}")).unwrap_or_default();
        format!(
            "  - id: DEMO-WORK-{number:05}\n    title: item {number}\n    type: AFK\n    status: draft\n    blocked_by: [{blocked}]\n"
        )
    };
    let board = format!("items:\n{}", (0..ITEMS).map(item).collect::<String>());
    world.write("WORKBOARD.yaml", &board);
    let intent = fs::read_to_string(world.here().join(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md")).unwrap();
    for number in 0..DOCUMENTS {
        fs::write(world.here().join(format!(".sot/03-PROTOCOLS/DEMO-{number:04}-BRIEF.md")), &intent).unwrap();
    }
    let began = Instant::now();
    assert_eq!(errors(&world, 0), Vec::<String>::new());
    println!("validated in {:?}", began.elapsed());
    let next = world.cto(["work", "next", "--json"]).expect(0).json();
    assert_eq!(next["afk"].as_array().unwrap().len(), 1);
    let graph = world.cto(["work", "graph", "--json"]).expect(0).json();
    assert_eq!(graph["nodes"].as_array().unwrap().len(), ITEMS);
    let _ = world.cto(["work", "status", "DEMO-WORK-05000", "candidate"]).expect(0);
    let after = fs::read_to_string(world.here().join("WORKBOARD.yaml")).unwrap();
    let changed: Vec<(usize, &str)> =
        after.lines().enumerate().zip(board.lines()).filter(|((_, new), old)| new != old).map(|(new, _)| new).collect();
    assert_eq!(changed, [(1 + 5000 * 5 + 3, "    status: candidate")]);
    assert_eq!(after.len(), board.len() + "candidate".len() - "draft".len());
}
