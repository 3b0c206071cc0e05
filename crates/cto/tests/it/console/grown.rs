//! The records page of a larger workspace, from the request to the HTML, counted in instructions: twice the size costs twice the work.

use std::fs;
use std::path::Path;

use testkit::{each_row, not_here, program, skip, times};

use super::client::Served;
use crate::world;

const SIZES: [usize; 3] = [20, 40, 160];
/// Most that one more unit of size may cost in the second step, as a multiple of its cost in the first. Threads and the memory that they
/// share make a count differ from run to run, so that the bound is wider than that of the checks alone.
const MOST_RISE: f64 = 1.15;

const ADMISSION: &str = r#"{"admission_status": "admitted", "allowed_paths": ["docs/"], "approval_source": "Ada", "approval_timestamp": "2026-01-02",
"forbidden_actions": ["push", "merge", "deploy", "close", "pr_open", "issue_close", "public_publication", "credential_change",
"vendor_source_mutation", "cortex_core_mutation"], "forbidden_paths": ["secrets/"], "noncritical_rationale": "a toy",
"operator_outcome_required": true, "ownership_evidence": "notes/1", "repository_owner": "Ada", "review_trigger": "never",
"risk_classification": "low_risk_noncritical", "target_repository_path": "/srv/demo-NUMBER"}
"#;

/// Fills a workspace with admissions, or with documents and as many items.
type Fill = fn(&Path, usize);

const SHAPES: [(&str, Fill); 2] = [("admissions", fill_admissions), ("documents and items", fill_documents)];

fn fill_admissions(here: &Path, size: usize) {
    for number in 0..size {
        let file = here.join(format!("admissions/target/demo-{number:04}.json"));
        fs::write(file, ADMISSION.replace("NUMBER", &number.to_string())).unwrap();
    }
}

fn fill_documents(here: &Path, size: usize) {
    let intent = fs::read_to_string(here.join(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md")).unwrap();
    let mut board = "items:\n".to_owned();
    for number in 0..size {
        fs::write(here.join(format!(".sot/03-PROTOCOLS/DEMO-{number:04}-BRIEF.md")), &intent).unwrap();
        board.push_str(&format!(
            "  - id: DEMO-WORK-{number:04}\n    title: item {number}\n    type: AFK\n    status: draft\n"
        ));
    }
    fs::write(here.join("WORKBOARD.yaml"), board).unwrap();
}

/// Instructions of a console that shows the page three times.
fn count_instructions(fill: Fill, size: usize) -> f64 {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    fill(&world.here(), size);
    let log = world.path().join("valgrind.log");
    let log_flag = format!("--log-file={}", log.display());
    let wrapper = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", &log_flag];
    let words = ["serve", "--listen", "127.0.0.1:0", "--json", "--read-only"];
    let served = Served::spawn(world.under(&world.command(words), &wrapper));
    let cookie = served.log_in();
    for _ in 0..3 {
        assert_eq!(served.get("/records", &cookie).status, 200);
    }
    assert_eq!(served.end(), Some(0));
    let told = fs::read_to_string(&log).unwrap();
    let count = told.lines().find_map(|line| Some(line.split_once("refs:")?.1.trim().replace(',', "")));
    count.and_then(|count| count.parse().ok()).ok_or_else(|| format!("valgrind counted nothing: {told}")).unwrap()
}

/// `cargo xtask soak growth` runs it: a server under valgrind is slow.
#[test]
fn the_records_page_costs_as_much_more_as_the_workspace_is_larger() {
    let test = "the growth of the records page";
    if times("CTO_TEST_GROWTH", 0) == 0 {
        return not_here(test, "only `cargo xtask soak growth` runs it");
    }
    if program("valgrind", Path::new("/")).arg("--version").output().is_err() {
        return skip(test, "there is no valgrind");
    }
    let units = |step: usize| (SIZES[step + 1] - SIZES[step]) as f64;
    each_row(SHAPES, |fill| {
        let [small, middle, large] = SIZES.map(|size| count_instructions(fill, size));
        let rise = (large - middle) / (middle - small) / units(1) * units(0);
        println!("{small:.0} {middle:.0} {large:.0}, rise {rise:.3}");
        assert!(rise < MOST_RISE, "{small} {middle} {large}: each unit costs {rise:.3} times as much");
    });
}
