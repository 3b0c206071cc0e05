//! Growth of the work with the size of a workspace, counted in instructions: this program starts itself under valgrind with one shape
//! and size, so that no clock decides. Twice the size may cost twice as much, and not more.

use std::path::Path;

use testkit::{each_row, program, skip, times};
use untrusted_fs::own_files;
use workboard::{NoEvidenceSource, WorkGraph, Workboard, WorkspaceFiles, list_facts, validate_workspace};

use super::{TODAY, document, fresh_texts};

const TEST: &str = "growth::twice_the_size_costs_twice_the_work";
/// File beside a child that names its shape and size.
const TASK: &str = "growth-task";
/// Name of all shapes in one workspace, which the everyday suite counts; `cargo xtask soak growth` counts each by itself.
const ALL: &str = "all";
const SIZES: [usize; 3] = [20, 40, 160];
/// Most that one more unit of size may cost in the second step, as a multiple of its cost in the first: 1 where work is linear. Counts
/// differ by the order of hashes alone, so that a small part that grows with the square is seen.
const MOST_RISE: f64 = 1.02;
/// The same for one shape by itself, whose work is small beside what every start costs.
const MOST_RISE_ALONE: f64 = 1.05;

type Texts = Vec<(String, String)>;
type Shape = (&'static str, fn(usize) -> Texts);

/// Ways to be large, each a place where a check could look at everything for everything.
const SHAPES: &[Shape] = &[
    ("documents with links and anchors", linked_documents),
    ("a chain of items with evidence", |size| board(size, chain_item)),
    ("items that wait for each other in one tangle", |size| board(size, tangled_item)),
    ("one item with many blockers and much evidence", heavy_item),
    ("many items with one large document as evidence", one_large_document),
    ("many decision records about one large decision", decision_records),
    ("a board on one line", board_on_one_line),
    ("one line of broken links", |size| one_document("[a](missing.md) `x` ".repeat(size * 20))),
    ("one line of claims", |size| one_document("The pilot is promoted to Core. ".repeat(size * 4))),
    ("one paragraph without an end", |size| one_document("words that \"go on\" without an end\n".repeat(size * 20))),
    ("one line that is nearly an id", |size| one_document("A-WORK-".repeat(size * 40))),
    ("one line of known keys", |size| one_document(format!("{}\n", "name status: ".repeat(size * 20)))),
    ("labels as bullets", |size| {
        one_document(format!("## A-WORK-001 - One\n\n{}", "- Blocked by: A-WORK-001\n- Validator:\n".repeat(size * 10)))
    }),
    ("facts of a record", |size| one_document((0..size * 20).map(|n| format!("- fact_{n}: yes\n")).collect())),
    ("much front matter", much_front_matter),
    ("equal headings", |size| one_document("## Again\n\ntext\n\n".repeat(size * 10))),
    ("headings of items", |size| {
        one_document((0..size * 4).map(|n| format!("## A-WORK-{n:05} - Item\n\nStatus: draft\n\n")).collect())
    }),
    ("secrets in one file", |size| one_document(format!("token ghp_{}\n", "a1B2".repeat(9)).repeat(size))),
];

fn with_fresh(more: Texts) -> Texts {
    let names: Vec<&String> = more.iter().map(|(name, _)| name).collect();
    let mut texts: Texts = fresh_texts().into_iter().filter(|(name, _)| !names.contains(&name)).collect();
    texts.extend(more);
    texts
}

fn one_document(body: String) -> Texts {
    with_fresh(vec![(".sot/03-PROTOCOLS/LARGE-ISSUES.md".to_owned(), document(&body))])
}

fn linked_documents(size: usize) -> Texts {
    let name = |number: usize| format!("DEMO-{number:04}-BRIEF.md");
    let one = |number: usize| {
        let next = name((number + 1) % size);
        (format!(".sot/03-PROTOCOLS/{}", name(number)), document(&format!("See [the next]({next}#title).\n")))
    };
    with_fresh((0..size).map(one).collect())
}

fn board(size: usize, item: fn(usize, usize) -> String) -> Texts {
    let items: String = (0..size * 2).map(|number| item(number, size * 2)).collect();
    with_fresh(vec![("WORKBOARD.yaml".to_owned(), format!("items:\n{items}"))])
}

fn item_head(number: usize) -> String {
    format!("  - id: A-WORK-{number:05}\n    title: item {number}\n    type: AFK\n    status: validated\n")
}

fn chain_item(number: usize, _: usize) -> String {
    let blocked = number.checked_sub(1).map(|before| format!("A-WORK-{before:05}")).unwrap_or_default();
    let evidence = "    evidence:\n      - {kind: document, ref: CONTEXT.md}\n";
    format!("{}    blocked_by: [{blocked}]\n{evidence}", item_head(number))
}

/// Each waits for the first and for the next, and rests on both as evidence.
fn tangled_item(number: usize, size: usize) -> String {
    let next = (number + 1) % size;
    let evidence = format!("{{kind: work, ref: A-WORK-00000}}, {{kind: work, ref: A-WORK-{next:05}}}");
    format!("{}    blocked_by: [A-WORK-00000, A-WORK-{next:05}]\n    evidence: [{evidence}]\n", item_head(number))
}

fn heavy_item(size: usize) -> Texts {
    let blockers: String = (0..size * 4).map(|_| "A-WORK-00001, ".to_owned()).collect();
    let evidence: String = (0..size * 4).map(|_| "      - {kind: work, ref: A-WORK-00001}\n".to_owned()).collect();
    let heavy = format!("{}    blocked_by: [{blockers}]\n    evidence:\n{evidence}", item_head(0));
    with_fresh(vec![(
        "WORKBOARD.yaml".to_owned(),
        format!("items:\n{heavy}{}", chain_item(1, 0).replace("[A-WORK-00000]", "[]")),
    )])
}

fn one_large_document(size: usize) -> Texts {
    let item = |number: usize| {
        let sha256 = "0".repeat(64);
        format!("{}    evidence: [{{kind: document, ref: LARGE-ISSUES.md, sha256: '{sha256}'}}]\n", item_head(number))
    };
    let board = format!("items:\n{}", (0..size).map(item).collect::<String>());
    let mut texts = one_document("plain words of a plan\n\n".repeat(size * 10));
    texts.retain(|(name, _)| name != "WORKBOARD.yaml");
    texts.push(("WORKBOARD.yaml".to_owned(), board));
    texts
}

fn decision_records(size: usize) -> Texts {
    let facts: String = (0..size).map(|number| format!("fact_{number}: yes\n")).collect();
    let mut texts: Texts = vec![("decisions/core-promotion.yaml".to_owned(), facts)];
    let record = |number: usize| format!(".sot/03-PROTOCOLS/R{number}-DECISION-RECORD.md");
    texts.extend((0..size).map(|number| (record(number), document("- fact_1: yes\n"))));
    with_fresh(texts)
}

fn board_on_one_line(size: usize) -> Texts {
    let item = |number: usize| format!("{{id: A-WORK-{number:05}, title: t, type: AFK, status: lost}}, ");
    let items: String = (0..size * 4).map(item).collect();
    with_fresh(vec![("WORKBOARD.yaml".to_owned(), format!("items: [{items}]\n"))])
}

fn much_front_matter(size: usize) -> Texts {
    let keys: String = (0..size * 20).map(|number| format!("key-{number}: value\n")).collect();
    let text = document("").replacen("---\n", &format!("---\n{keys}"), 1);
    with_fresh(vec![(".sot/03-PROTOCOLS/LARGE-BRIEF.md".to_owned(), text)])
}

/// Every shape in one workspace, each in files of its own. Boards go one behind the other with names of their own.
fn all_shapes(size: usize) -> Texts {
    let mut board = "items:\n".to_owned();
    let mut texts = Texts::new();
    for (number, (_, make)) in SHAPES.iter().enumerate() {
        let series = char::from(b'B' + u8::try_from(number).unwrap());
        for (name, text) in make(size) {
            match text.strip_prefix("items:\n") {
                Some(items) if name == "WORKBOARD.yaml" => {
                    board.push_str(&items.replace("A-WORK-", &format!("{series}-WORK-")));
                }
                _ if name.contains("LARGE-") => texts.push((name.replace("LARGE-", &format!("{series}-LARGE-")), text)),
                _ if name.contains("/03-PROTOCOLS/") || name.starts_with("decisions/") => texts.push((name, text)),
                _ => {}
            }
        }
    }
    texts.push(("WORKBOARD.yaml".to_owned(), board));
    with_fresh(texts)
}

/// Everything that `validate workspace`, `work next`, `work graph`, `records draft` and the records page compute.
fn do_work(texts: Texts) -> usize {
    let facts: usize = texts.iter().map(|(_, text)| list_facts(text).len()).sum();
    let files = WorkspaceFiles::of_texts(texts);
    let check = validate_workspace(&files, &NoEvidenceSource, TODAY);
    let graph = WorkGraph::of_board(&Workboard::read_board(files.text_of("WORKBOARD.yaml").unwrap_or_default()));
    facts + check.findings.len() + graph.ready_items().len() + graph.dot_text().len()
}

/// Instructions of this program for one shape and size.
fn count_instructions(folder: &Path, shape: &str, size: usize) -> f64 {
    own_files::write_file(folder.join(TASK), format!("{size} {shape}")).unwrap();
    let mut command = program("valgrind", folder);
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    let output = command.arg(std::env::current_exe().unwrap()).args(["--exact", TEST]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stdout));
    let count =
        told.lines().find_map(|line| Some(line.split_once("refs:")?.1.trim().replace(',', ""))).unwrap_or_default();
    count.parse().map_err(|_| format!("valgrind counted nothing: {told}")).unwrap()
}

#[test]
fn twice_the_size_costs_twice_the_work() {
    if let Ok(task) = own_files::read_to_string(TASK) {
        let (size, name) = task.split_once(' ').unwrap();
        let make =
            SHAPES.iter().find(|(known, _)| *known == name).map_or(all_shapes as fn(usize) -> Texts, |row| row.1);
        assert!(do_work(make(size.parse().unwrap())) > 0);
        return;
    }
    if program("valgrind", Path::new("/")).arg("--version").output().is_err() {
        return skip("the growth of a large workspace", "there is no valgrind");
    }
    let each = SHAPES.iter().map(|(name, _)| *name).filter(|_| times("CTO_TEST_GROWTH", 0) > 0);
    let units = |step: usize| (SIZES[step + 1] - SIZES[step]) as f64;
    each_row(each.chain([ALL]).map(|name| (name, name)), |name| {
        let folder = tempfile::tempdir().unwrap();
        let [small, middle, large] = SIZES.map(|size| count_instructions(folder.path(), name, size));
        let rise = (large - middle) / (middle - small) / units(1) * units(0);
        println!("{name}: {small:.0} {middle:.0} {large:.0}, rise {rise:.3}");
        let most = if name == ALL { MOST_RISE } else { MOST_RISE_ALONE };
        assert!(rise < most, "{name}: {small} {middle} {large}: each unit costs {rise:.3} times as much");
    });
}
