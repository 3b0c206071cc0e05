//! `cargo xtask soak`: what the everyday suite takes a sample of, done thousands of times.
//! Run before a release, and before an issue about crashes is called resolved.

mod honest;

use crate::ChoreResult;
use crate::process::{cargo, run_command};
use crate::tools;

/// Tests that take their number of repetitions, or their seconds, from a variable.
struct Soak {
    name: &'static str,
    /// Each with its package.
    tests: &'static [(&'static str, &'static str)],
    variable: &'static str,
    times: u32,
    /// Variables of the tools it cannot do without; empty for all.
    tools: &'static [&'static str],
}

/// For tests that need no tool.
const NO_TOOL: &[&str] = &["none"];
/// Tests that are built only with the fleet.
const FLEET_TESTS: &str = "fleet::";
/// Package whose soaks need a server.
const FLEET_PACKAGE: &str = "ledger";

/// The soak that runs packages instead of tests.
const HONEST: &str = "honest";

const SOAKS: &[Soak] = &[
    Soak {
        name: "kills",
        tests: &[("cto", "strict::survive::a_killed_harness_leaves_nothing")],
        variable: "CTO_TEST_KILLS",
        times: 2000,
        tools: &[],
    },
    Soak {
        name: "writes",
        tests: &[("cto", "stops::a_broken_disk_at_every_write")],
        variable: "CTO_TEST_WRITES",
        times: 1,
        tools: &[],
    },
    // 10,000 connections to the console, half of them with a head that never ends.
    Soak {
        name: "connections",
        tests: &[("cto", "console::pressed::connections_without_end_are_bounded_and_disturb_no_run")],
        variable: "CTO_TEST_CONNECTIONS",
        times: 10_000,
        tools: NO_TOOL,
    },
    // A run of three minutes, watched by ten pages that are opened and cut at any moment.
    Soak {
        name: "live",
        tests: &[("cto", "live::ten_pages_that_are_cut_again_and_again_end_with_the_same_history")],
        variable: "CTO_TEST_LIVE_SECONDS",
        times: 180,
        tools: &["CTO_TEST_BROWSER"],
    },
    // The control summary of a home with this many runs.
    Soak {
        name: "summary",
        tests: &[("cto", "console::summary_size::the_summary_stays_small_and_the_same_however_many_runs_there_are")],
        variable: "CTO_TEST_SUMMARY_RUNS",
        times: 100_000,
        tools: NO_TOOL,
    },
    // Random edits of a valid workspace of 300 documents.
    Soak {
        name: "records",
        tests: &[
            ("workboard", "mutated::a_required_fact_is_never_lost_in_silence"),
            ("workboard", "mutated::a_required_fact_of_an_item_is_never_lost_in_silence"),
            ("workboard", "mutated::any_edit_of_any_file_is_judged_without_a_panic"),
            ("workboard", "mutated::no_edit_of_the_board_breaks_a_fact_in_silence"),
            ("workboard", "mutated::no_edit_breaks_a_required_fact_in_silence"),
            ("workboard", "mutated::no_edit_of_the_intent_breaks_a_fact_in_silence"),
            ("workboard", "mutated::no_edit_of_a_term_is_silent"),
        ],
        variable: "CTO_TEST_MUTATIONS",
        times: 2_000,
        tools: NO_TOOL,
    },
    // Random texts of secrets, parts of secrets and markers, as many for each property.
    Soak {
        name: "redaction",
        tests: &[
            ("secrets", "properties::redacting_twice_is_redacting_once"),
            ("secrets", "properties::pieces_give_what_the_whole_gives"),
            ("secrets", "properties::a_known_value_is_found_anywhere_in_every_encoding"),
            ("secrets", "properties::any_bytes_are_scanned"),
        ],
        variable: "CTO_TEST_REDACTIONS",
        times: 40_000,
        tools: &[],
    },
    // Instructions for each shape of a large workspace by itself; once is enough.
    Soak {
        name: "growth",
        tests: &[
            ("workboard", "growth::twice_the_size_costs_twice_the_work"),
            ("cto", "console::grown::the_records_page_costs_as_much_more_as_the_workspace_is_larger"),
        ],
        variable: "CTO_TEST_GROWTH",
        times: 1,
        tools: NO_TOOL,
    },
    Soak {
        name: "gc",
        tests: &[("cto", "gc::of_many_runs_the_latest_stay")],
        variable: "CTO_TEST_RUNS",
        times: 10_000,
        tools: &[],
    },
    // Real agents and official clients, whose answers end early and late: none may be lost.
    Soak {
        name: "answers",
        tests: &[
            ("bridge", "sdk::the_openai_client_works_unchanged"),
            ("bridge", "sdk::the_anthropic_client_works_unchanged"),
            ("cto", "agents::cases::codex_climbs"),
            ("cto", "agents::cases::pi_climbs"),
            ("cto", "agents::cases::claude_climbs"),
        ],
        variable: "CTO_TEST_ANSWERS",
        times: 100,
        tools: &["CTO_TEST_SDK_PYTHON", "CTO_TEST_CODEX", "CTO_TEST_PI", "CTO_TEST_CLAUDE", "CTO_TEST_NODE22"],
    },
    // Every signal in every phase, for every engine: each field of the report is what was
    // seen from outside.
    Soak {
        name: "interrupted",
        tests: &[
            ("cto", "interrupted::by_ctrl_c"),
            ("cto", "interrupted::by_sigterm"),
            ("cto", "interrupted::by_a_lost_terminal"),
            ("cto", "interrupted::by_sigkill"),
            ("cto", "case::interrupted::case_is_interrupted"),
            ("cto", "agents::interrupted::codex_is_interrupted"),
            ("cto", "agents::interrupted::pi_is_interrupted"),
            ("cto", "agents::interrupted::claude_is_interrupted"),
        ],
        variable: "CTO_TEST_INTERRUPTIONS",
        times: 1,
        tools: &["CTO_TEST_CODEX", "CTO_TEST_PI", "CTO_TEST_CLAUDE", "CTO_TEST_NODE22"],
    },
    // Every other time on a machine that is kept busy: the verdict must not depend on it.
    Soak {
        name: "case",
        tests: &[("cto", "case::table::every_end_counts_as_the_same_each_time")],
        variable: "CTO_TEST_CASE_ENDS",
        times: 6,
        tools: &["CTO_TEST_PYTHON"],
    },
    Soak {
        name: "theft",
        tests: &[
            ("cto", "strict::theft::an_engine_steals_nothing_through_what_is_kept_of_it"),
            ("cto", "strict::theft::a_check_steals_nothing_through_its_reports"),
            ("cto", "strict::theft::a_setup_steals_nothing_through_its_layer"),
        ],
        variable: "CTO_TEST_THEFTS",
        times: 200,
        tools: &[],
    },
    Soak {
        name: "capture",
        tests: &[("tree", "random::random_hostile_trees")],
        variable: "CTO_TEST_CAPTURE_SECONDS",
        times: 600,
        tools: &[],
    },
    Soak {
        name: "depth",
        tests: &[("cto", "engine_files::what_an_engine_leaves_is_read_by_no_path")],
        variable: "CTO_TEST_DEPTH",
        times: 19_000,
        tools: &[],
    },
    // Products of good source beside wrong source, in random shapes: never a silent pass.
    Soak {
        name: "products",
        tests: &[("cto", "judged::shipped::no_product_of_good_source_speaks_for_wrong_source")],
        variable: "CTO_TEST_PRODUCTS",
        times: 60,
        tools: &[],
    },
    // Runs at stage 5 that are killed at any moment: no approval is used twice, the target
    // has the whole commit or none of it.
    Soak {
        name: "approvals",
        tests: &[("cto", "targets::killed::at_any_moment")],
        variable: "CTO_TEST_APPROVAL_KILLS",
        times: 2000,
        tools: &["CTO_TEST_STOPPABLE"],
    },
    Soak {
        name: "at-once",
        tests: &[
            ("cto", "approvals::used::many_processes_use_an_approval_once"),
            ("cto", "targets::at_once::many_processes_land_one_commit"),
        ],
        variable: "CTO_TEST_AT_ONCE",
        times: 64,
        tools: &["CTO_TEST_STOPPABLE"],
    },
    Soak {
        name: "take-kills",
        tests: &[("cto", "take::killed::at_any_moment")],
        variable: "CTO_TEST_TAKE_KILLS",
        times: 300,
        tools: &[],
    },
    // A ledger of a year, moved to a server and back.
    Soak {
        name: "moved",
        tests: &[("ledger", "moved::there_and_back_it_is_the_same_ledger")],
        variable: "CTO_TEST_MOVED_RUNS",
        times: 100_000,
        tools: NO_TOOL,
    },
    // Workers of a queue that are killed and stopped at random, a server that crashes, an object store that fails and a network that is cut:
    // no run is lost, started twice or sealed by an epoch that has gone.
    Soak {
        name: "fleet",
        tests: &[
            ("cto", "queue::chaos::no_run_is_lost_or_started_twice"),
            ("cto", "fleet::no_queued_run_is_lost_or_started_twice"),
        ],
        variable: "CTO_TEST_QUEUED_RUNS",
        times: 2000,
        tools: &["CTO_TEST_STOPPABLE"],
    },
    Soak {
        name: "gc-kills",
        tests: &[("cto", "gc::interrupted::a_collection_may_be_killed_at_any_time")],
        variable: "CTO_TEST_GC_KILLS",
        times: 300,
        tools: &[],
    },
];

/// Runs the wanted soaks, each as often as asked.
pub(crate) fn run_soaks(arguments: &[&str]) -> ChoreResult {
    if let [HONEST, packages @ ..] = arguments {
        return honest::hold_pairs(packages);
    }
    let (wanted, times) = match arguments {
        [wanted @ .., "--times", times] => {
            (wanted, Some(times.parse::<u32>().map_err(|_| format!("`{times}` is no number of times"))?))
        }
        wanted => (wanted, None),
    };
    if let Some(unknown) = wanted.iter().find(|name| SOAKS.iter().all(|soak| soak.name != **name)) {
        let names: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        return Err(format!("there is no soak `{unknown}`; there are: {HONEST}, {}", names.join(", ")));
    }
    for soak in SOAKS.iter().filter(|soak| wanted.is_empty() || wanted.contains(&soak.name)) {
        soak.hold(times.unwrap_or(soak.times))?;
    }
    Ok(())
}

impl Soak {
    fn hold(&self, times: u32) -> ChoreResult {
        for (package, test) in self.tests {
            println!("soak {}: {test}, {times} times", self.name);
            let needs_fleet = test.starts_with(FLEET_TESTS) || *package == FLEET_PACKAGE;
            let features = if needs_fleet { "fleet" } else { "" };
            let words =
                ["test", "-p", package, "--features", features, "--tests", "--", "--nocapture", "--exact", test];
            let mut command = cargo(&words);
            command.env(self.variable, times.to_string());
            for (variable, make) in tools::TOOLS {
                if self.tools.is_empty() || self.tools.contains(variable) {
                    command.env(variable, make()?);
                }
            }
            run_command(&mut command)?;
        }
        Ok(())
    }
}
