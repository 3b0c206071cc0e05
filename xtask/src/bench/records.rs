//! `cto validate workspace` beside check-jsonschema (the board by its schema) and
//! markdownlint-cli2 (the documents), over the same files: 30, 300 and 3,000 documents. Boards and records pages of two sizes each.

use std::fs;
use std::path::{Path, PathBuf};

use super::rounds::{Candidate, in_turns};
use super::serve::servers::{BenchServer, start_console};
use super::world::{World, git};
use super::{Bench, bench_table};
use crate::ChoreResult;
use crate::process::{command_output, program};
use crate::tools::fill_venv;

const ROUNDS: usize = 10;
const NAMES: [[&str; 2]; 3] = [
    ["`cto validate workspace`, 30 documents", "cto, 30"],
    ["`cto validate workspace`, 300 documents", "cto, 300"],
    ["`cto validate workspace`, 3,000 documents", "cto, 3,000"],
];
/// Commands over boards of two sizes, the second ten times the first.
const BOARDS: [(&str, usize, [&str; 2]); 4] = [
    ("next", 1_000, ["`cto work next`, 1,000 items", "next, 1,000"]),
    ("next", 10_000, ["`cto work next`, 10,000 items", "next, 10,000"]),
    ("graph", 1_000, ["`cto work graph`, 1,000 items", "graph, 1,000"]),
    ("graph", 10_000, ["`cto work graph`, 10,000 items", "graph, 10,000"]),
];
const SIZES: [usize; 3] = [30, 300, 3_000];
/// Records pages over documents, and over admissions of targets; the second of each ten times the first.
const PAGES: [(usize, usize, [&str; 2]); 4] = [
    (300, 0, ["the records page, 300 documents", "page, 300"]),
    (3_000, 0, ["the records page, 3,000 documents", "page, 3,000"]),
    (0, 300, ["the records page, 300 admissions", "admissions, 300"]),
    (0, 3_000, ["the records page, 3,000 admissions", "admissions, 3,000"]),
];
const PEERS: [&str; 2] = ["check-jsonschema and markdownlint-cli2, 3,000 documents", "both, 3,000"];

/// Measures workspaces of several sizes beside the other checkers and returns the table.
pub(super) fn measure_records(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "records")?;
    let peers = Peers::install(&world)?;
    let places: Vec<PathBuf> =
        SIZES.iter().map(|size| fill_workspace(bench, &world, *size)).collect::<ChoreResult<_>>()?;
    let mut candidates = Vec::new();
    for (place, [name, short]) in places.iter().zip(NAMES) {
        let home = world.path_of("home");
        candidates.push(Candidate::new(name, short, move |_| validate(bench, &home, place)));
    }
    let largest = places.last().cloned().unwrap_or_default();
    for (command, items, [name, short]) in BOARDS {
        let (home, place) = (world.path_of("home"), fill_board(bench, &world, items)?);
        candidates.push(Candidate::new(name, short, move |_| {
            cto(bench, &home, &["--workspace", &place.display().to_string(), "work", command]).map(drop)
        }));
    }
    for (documents, admissions, [name, short]) in PAGES {
        let place = match admissions {
            0 => world.path_of(&format!("workspace-{documents}")),
            _ => fill_admissions(bench, &world, admissions)?,
        };
        let server = start_console(bench, &world.path_of("home"), Some(&place))?;
        candidates.push(Candidate::new(name, short, move |_| ask_page(&server)));
    }
    candidates.push(Candidate::new(PEERS[0], PEERS[1], move |_| peers.check(&largest)));
    let rows = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(bench_table(&rows, &[0, 3, 5, 7, 9, 11]))
}

fn cto(bench: &Bench, home: &Path, words: &[&str]) -> ChoreResult<String> {
    command_output(program(&bench.cto, ["--home"]).arg(home).args(words).env("LANG", "C.UTF-8"))
}

fn validate(bench: &Bench, home: &Path, place: &Path) -> ChoreResult {
    let place = place.display().to_string();
    let told = cto(bench, home, &["--workspace", &place, "validate", "workspace"])?;
    if told.starts_with("pass ") { Ok(()) } else { Err(format!("the workspace is not valid: {told}")) }
}

/// A valid workspace in git with so many documents and as many items. The history had the documents before the first `cto init`, one
/// commit for each, and each item names its commit.
fn fill_workspace(bench: &Bench, world: &World, size: usize) -> ChoreResult<PathBuf> {
    let (place, home) = (world.path_of(&format!("workspace-{size}")), world.path_of("home"));
    cto(bench, &home, &["init", &place.display().to_string()])?;
    let fail = |error: std::io::Error| format!("cannot fill {}: {error}", place.display());
    let intent = fs::read_to_string(place.join(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md")).map_err(fail)?;
    let created = intent.lines().find(|line| line.starts_with("created: ")).unwrap_or_default();
    let text = format!(
        "{}\n{}",
        intent.replacen(created, "created: 2020-01-01", 1),
        "A paragraph about what is planned, with [terms](../../CONTEXT.md).\n\n".repeat(20)
    );
    let names: Vec<String> = (0..size).map(|number| format!("DEMO-WORK-{number:04}-BRIEF.md")).collect();
    let mut import = String::new();
    for name in &names {
        let path = format!(".sot/03-PROTOCOLS/{name}");
        fs::write(place.join(&path), &text).map_err(fail)?;
        let who = "committer bench <bench> 1577836800 +0000";
        import.push_str(&format!(
            "commit refs/heads/main\n{who}\ndata 1\nx\nM 644 inline {path}\ndata {}\n{text}\n",
            text.len()
        ));
    }
    let run = |arguments: &[&str]| command_output(&mut git(&place, arguments));
    run(&["init", "--quiet", "--initial-branch", "main"])?;
    let stream = world.path_of("import");
    fs::write(&stream, import).map_err(fail)?;
    let stream = fs::File::open(&stream).map_err(fail)?;
    command_output(git(&place, &["fast-import", "--quiet"]).stdin(stream))?;
    let mut board = "items:\n".to_owned();
    let commits = run(&["rev-list", "--reverse", "main"])?;
    for (number, (name, commit)) in names.iter().zip(commits.lines()).enumerate() {
        board.push_str(&format!("  - id: DEMO-WORK-{number:04}\n    title: item {number}\n    type: AFK\n    status: validated\n    evidence:\n      - {{kind: document, ref: {name}}}\n      - {{kind: commit, ref: '{commit}'}}\n"));
    }
    fs::write(place.join("WORKBOARD.yaml"), board).map_err(fail)?;
    run(&["add", "--all"])?;
    run(&["commit", "--quiet", "--message", "cto init"])?;
    Ok(place)
}

/// Asks for the records page once.
fn ask_page(server: &BenchServer) -> ChoreResult {
    let answer = server.send_request("GET", "/records", &format!("Cookie: {}\r\n", server.cookie))?;
    let first = answer.lines().next().unwrap_or_default();
    if first.contains(" 200 ") { Ok(()) } else { Err(format!("the records page answered {first}")) }
}

/// A workspace with so many admissions of targets.
fn fill_admissions(bench: &Bench, world: &World, count: usize) -> ChoreResult<PathBuf> {
    let place = world.path_of(&format!("admissions-{count}"));
    cto(bench, &world.path_of("home"), &["init", &place.display().to_string()])?;
    for number in 0..count {
        let file = place.join(format!("admissions/target/demo-{number:04}.json"));
        fs::write(&file, TARGET.replace("NUMBER", &number.to_string()))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(place)
}

const TARGET: &str = r#"{"admission_status": "admitted", "allowed_paths": ["docs/"], "approval_source": "Ada", "approval_timestamp": "2026-01-02",
"forbidden_actions": ["push", "merge", "deploy", "close", "pr_open", "issue_close", "public_publication", "credential_change",
"vendor_source_mutation", "cortex_core_mutation"], "forbidden_paths": ["secrets/"], "noncritical_rationale": "a toy",
"operator_outcome_required": true, "ownership_evidence": "notes/1", "repository_owner": "Ada", "review_trigger": "never",
"risk_classification": "low_risk_noncritical", "target_repository_path": "/srv/demo-NUMBER"}
"#;

/// A workspace with a chain of so many items.
fn fill_board(bench: &Bench, world: &World, items: usize) -> ChoreResult<PathBuf> {
    let place = world.path_of(&format!("board-{items}"));
    if place.exists() {
        return Ok(place);
    }
    cto(bench, &world.path_of("home"), &["init", &place.display().to_string()])?;
    let mut board = "items:\n".to_owned();
    for number in 0..items {
        let blocked = number.checked_sub(1).map(|before| format!("DEMO-WORK-{before:05}")).unwrap_or_default();
        board.push_str(&format!("  - id: DEMO-WORK-{number:05}\n    title: item {number}\n    type: AFK\n    status: draft\n    blocked_by: [{blocked}]\n"));
    }
    fs::write(place.join("WORKBOARD.yaml"), board)
        .map_err(|error| format!("cannot fill {}: {error}", place.display()))?;
    Ok(place)
}

/// The tools that people use today, installed beside the worlds.
struct Peers {
    check_jsonschema: PathBuf,
    markdownlint: PathBuf,
    schema: PathBuf,
}

impl Peers {
    fn install(world: &World) -> ChoreResult<Self> {
        let venv = world.path_of("venv");
        fill_venv(&venv, &["check-jsonschema"])?;
        let folder = world.path_of("node");
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let words = ["install", "--no-audit", "--no-fund", "--prefix"];
        command_output(program("npm", words).arg(&folder).arg("markdownlint-cli2"))?;
        let schema = crate::process::repository_root().join("docs/formats/schemas/workboard.json");
        let markdownlint = folder.join("node_modules/.bin/markdownlint-cli2");
        Ok(Self { check_jsonschema: venv.join("bin/check-jsonschema"), markdownlint, schema })
    }

    /// Line lengths and titles are matters of taste there, so that its rules about them are
    /// off.
    fn check(&self, place: &Path) -> ChoreResult {
        command_output(
            program(&self.check_jsonschema, ["--schemafile"]).arg(&self.schema).arg(place.join("WORKBOARD.yaml")),
        )?;
        let config = place.join(".markdownlint.json");
        fs::write(&config, r#"{"default": true, "MD013": false, "MD025": false, "MD012": false}"#)
            .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        command_output(program(&self.markdownlint, [".sot/03-PROTOCOLS/*.md"]).current_dir(place)).map(drop)
    }
}
