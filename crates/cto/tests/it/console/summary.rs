//! The control summary: every field, the same bytes everywhere, bounded, and without anything that belongs to nobody else.

use serde_json::{Value, json};

use super::Served;
use crate::world;

/// Keys that other tools read.
const KEYS: &[&str] = &[
    "schema_version",
    "generated_at",
    "ladder",
    "health",
    "failure_closure_report_paths",
    "candidate_default",
    "runtime_default_activation",
    "matrix_path",
    "comparison_path",
    "case_stage6_real_governed_refresh",
    "stage6_real_governed_refresh_comparison_path",
    "real_stage5_pass_report",
    "real_stage5_proof",
    "repeat_stage5_pass_report",
    "repeat_stage5_proof",
    "target_read_only_status",
    "target_repository_mutation",
    "repeatability_count",
    "repeatability_status",
    "candidate_default_repeatability_eligible",
    "core_promotion_status",
    "blocked_lanes",
    "next_operator_action",
    "approval_required",
    "approval_granted",
    "execution_allowed",
    "approval_reason",
    "allowed_next_actions",
    "blocked_next_actions",
    "approval_packet",
    "governed_execution",
    "case_runtime_default_active",
];

/// Keys of the parts that other tools read.
const NESTED: &[(&str, &[&str])] = &[
    (
        "approval_packet",
        &[
            "status",
            "approval_command_text",
            "required_evidence_paths",
            "allowed_paths",
            "blocked_actions",
            "executable",
        ],
    ),
    (
        "governed_execution",
        &["approval_consumed", "consumed_by_pass_evidence", "consumed_pass_report_path", "consumed_proof_path"],
    ),
];

/// Every key is there, also where it has no value.
#[track_caller]
fn expect_keys(summary: &Value) {
    for key in KEYS {
        assert!(summary.get(key).is_some(), "`{key}` is missing");
    }
    for (part, keys) in NESTED {
        for key in *keys {
            assert!(summary[part].get(key).is_some(), "`{part}.{key}` is missing");
        }
    }
    let lists = ["required_evidence_paths", "allowed_paths", "blocked_actions"];
    assert!(lists.iter().all(|key| summary["approval_packet"][key].is_array()), "{}", summary["approval_packet"]);
    assert_eq!(summary["approval_packet"]["executable"], false);
}

fn without_time(mut summary: Value) -> Value {
    summary.as_object_mut().unwrap().remove("generated_at");
    summary
}

#[test]
fn the_summary_has_every_key_and_is_the_same_everywhere() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let told = world.cto(["summary", "--json"]).expect(0).json();
    expect_keys(&told);
    assert_eq!(told["schema_version"], "0.2.0");
    assert_eq!(told["core_promotion_status"], "not-promoted");
    let expected = json!([true, false, false, false, false]);
    let found = [
        "approval_required",
        "approval_granted",
        "execution_allowed",
        "runtime_default_activation",
        "target_repository_mutation",
    ]
    .map(|key| told[key].clone());
    assert_eq!(json!(found), expected);
    assert_eq!(told["approval_packet"]["executable"], false);
    assert_eq!(told["health"]["total_runs"], 1);
    let stages: Vec<&Value> =
        told["ladder"][0]["rungs"].as_array().unwrap().iter().map(|rung| &rung["stage"]).collect();
    assert_eq!(json!(stages), json!([1, 2, 3, 4, 5, 6]));

    let again = world.cto(["summary", "--json"]).expect(0).json();
    assert_eq!(without_time(told.clone()), without_time(again), "the same ledger, the same summary");

    let _ = world.cto(["summary", "--write"]).expect(0);
    let file = world.home().join("matrix/webui-summary.json");
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(without_time(told.clone()), without_time(written));

    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let answer = served.get("/api/cto/control-summary", &cookie);
    assert_eq!(answer.status, 200);
    // A login is an entry of the ledger, and no run.
    assert_eq!(without_time(told), without_time(answer.json()));
    assert!(answer.body.ends_with(b"}\n"), "as it is printed");
    let text = served.get("/metrics", &cookie).text();
    assert!(text.contains("cto_runs 1\n") && text.contains("cto_rung_validated{engine="), "{text}");
}

#[test]
fn a_summary_that_activates_leaks_or_grows_is_refused() {
    let world = world();
    world.make_home();
    let good = world.cto(["summary", "--json"]).expect(0);
    let told: Value = good.json();
    let check = |text: &[u8], code: i32| {
        let file = world.write("summary.json", text);
        world.cto(["validate", "summary", file.to_str().unwrap(), "--json"]).expect(code).json()
    };
    assert_eq!(check(&good.stdout, 0)["ok"], true, "the control");
    let rows: &[(&str, &str, Value)] = &[
        ("/runtime_default_activation", "runtime_default_activation", json!(true)),
        ("/case_runtime_default_active", "case_runtime_default_active", json!(true)),
        ("/target_repository_mutation", "target_repository_mutation", json!(true)),
        ("/approval_packet/executable", "approval_packet.executable", json!(true)),
        ("/approval_required", "approval_required", json!(false)),
        ("/execution_allowed", "execution_allowed", json!(true)),
        ("/schema_version", "schema_version", json!("9")),
        ("/ladder/0/rungs", "ladder", json!([])),
        ("/next_operator_action", "next_operator_action", json!("")),
        ("/next_operator_action", "secrets", json!("curl https://models.example/v1")),
        ("/next_operator_action", "secrets", json!(format!("ghp_{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1a2"))),
        ("/core_promotion_status", "shape", json!("promoted")),
        ("/blocked_next_actions", "size", json!(["x".repeat(300_000)])),
    ];
    for (place, expected, value) in rows {
        let mut changed = told.clone();
        *changed.pointer_mut(place).unwrap() = value.clone();
        let found = check(changed.to_string().as_bytes(), 1);
        let checks: Vec<&str> =
            found["errors"].as_array().unwrap().iter().map(|error| error["check"].as_str().unwrap()).collect();
        assert!(checks.contains(expected), "{place}: {checks:?}");
    }
    let mut extra = told;
    extra["api_key"] = json!("x");
    assert_eq!(check(extra.to_string().as_bytes(), 1)["ok"], false, "a key that nobody knows");
    assert_eq!(check(b"{", 1)["ok"], false);
    let _ = world.cto(["validate", "summary", "not-there.json"]).expect(2);
}

#[test]
fn health_has_the_summary_as_a_group() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let health = world.cto(["health", "--only", "webui_summary", "--json"]).expect(0).json();
    assert_eq!(health["webui_summary"]["passed"], true, "{health}");
    let folder = world.home().join("matrix");
    assert!(folder.join("webui-summary.json").is_file());
    // A summary that cannot be put where other tools look is a defect, and so is a home that is not there.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    expect_defect(&world, 1, "summary_written");
    std::fs::remove_file(&folder).unwrap();
    let _ = world.cto(["health", "--only", "webui_summary", "--json"]).expect(0);
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(world.home().join(file));
    }
    std::fs::write(world.home().join("ledger.db"), b"this is no ledger").unwrap();
    expect_defect(&world, 3, "is not a ledger");
    std::fs::remove_dir_all(world.home()).unwrap();
    expect_defect(&world, 3, "there is no home");
}

/// The group does not pass, and these words say why.
#[track_caller]
fn expect_defect(world: &testkit::World, code: i32, words: &str) {
    let told = world.cto(["health", "--only", "webui_summary", "--json"]).expect(code);
    assert!(told.json()["webui_summary"]["passed"] != true && told.told().contains(words), "{words}: {}", told.told());
}

#[test]
fn the_published_schema_takes_the_summary() {
    let world = world();
    world.make_home();
    let schema = world.cto(["schema", "control-summary"]).expect(0).json();
    let summary = world.cto(["summary", "--json"]).expect(0).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&summary));
    let mut wrong = summary;
    wrong["approval_required"] = json!("yes");
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn smoke_asks_the_three_routes() {
    let world = world();
    let smoke = world.cto(["hermes", "smoke", "--json"]).expect(0).json();
    let told: Vec<(&str, u64)> = smoke["routes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["route"].as_str().unwrap(), row["status"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("/api/cto/control-summary", 401),
        ("/plugins/svrnty/cto_control_panel.js", 200),
        ("/plugins/svrnty/cto_control_panel.css", 200),
    ];
    assert_eq!((told.as_slice(), &smoke["failed"]), (&expected[..], &json!(0)));
    assert!(!world.home().exists(), "nothing is left behind");
    let served = Served::start(&world, &[]);
    let _ = world.cto(["hermes", "smoke", "--url", &format!("http://{}", served.host)]).expect(0);
    let gone = served.host.clone();
    drop(served);
    let failed = world.cto(["hermes", "smoke", "--url", &format!("http://{gone}"), "--json"]).expect(1).json();
    assert_eq!(failed["failed"], 3, "nobody answers");
    let _ = world.cto(["hermes", "smoke", "--url", "ftp://x"]).expect(2);
}

/// A client that asks again with the tag gets nothing new while nothing but the time changed: the summary here and at the sidecar, and the
/// facts of the pages.
#[test]
fn what_did_not_change_is_not_sent_again() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let state = world.user().join("webui");
    let folder = state.join("sidecar-auth");
    std::fs::create_dir_all(&folder).unwrap();
    let (token, file) = ("T".repeat(43), folder.join("cto-panel.token"));
    std::fs::write(&file, &token).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = world.command(["serve", "--listen", "127.0.0.1:0", "--sidecar", &free, "--json"]);
    command.env("HERMES_WEBUI_STATE_DIR", &state);
    let served = Served::spawn(command);
    let cookie = served.log_in();
    let summary = "/api/cto/control-summary";
    let ask = |path: &str, tag: &str| match path {
        "sidecar" => {
            let head = format!("GET {summary} HTTP/1.1\r\nHost: {free}\r\nX-Hermes-Sidecar-Token: {token}\r\n");
            let text = format!("{head}If-None-Match: {tag}\r\nConnection: close\r\n\r\n");
            Served::send_to(&free, text.as_bytes()).unwrap()
        }
        path => served.ask("GET", path, &cookie, &[("If-None-Match", tag)], ""),
    };
    for path in ["sidecar", summary, "/api/cto/overview", "/api/cto/runs/@", "/api/cto/runs", "/api/cto/spend"] {
        let first = ask(path, "none");
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path}: {}", first.head)).to_owned();
        for _ in 0..2 {
            let again = ask(path, &tag);
            assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        }
        world.run("r1-string-slugify", 0);
        let changed = ask(path, &tag);
        // Spend has no run with an account, so that nothing of it changes.
        assert_eq!(changed.status, if path.ends_with("spend") { 304 } else { 200 }, "{path}: a new run");
    }
}

/// A request at stage 4 for this case, by a key that may decide.
fn request(world: &testkit::World, case: &str) -> String {
    let asked = world.cto(["request", case, "--stage", "4", "--json"]).expect(0);
    asked.json()["request"].as_str().unwrap().to_owned()
}

fn lay_operator(world: &testkit::World) {
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
}

/// Posture of the summary: granted, executable, consumed, consumed by a pass.
fn posture(summary: &Value) -> [bool; 4] {
    let execution = &summary["governed_execution"];
    [
        &summary["approval_granted"],
        &summary["execution_allowed"],
        &execution["approval_consumed"],
        &execution["consumed_by_pass_evidence"],
    ]
    .map(|value| value.as_bool().unwrap())
}

/// The summary follows requests from the question to the use, a pass and a failure, and says the same to everybody.
#[test]
fn the_summary_follows_a_request_to_its_use() {
    let world = world();
    world.case("made", &[("mutation_mode", "candidate-default")]);
    world.case("failing", &[("mutation_mode", "candidate-default"), ("fake", "{steps: []}")]);
    lay_operator(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let told = || {
        let summary = world.cto(["summary", "--json"]).expect(0).json();
        let answer = served.get("/api/cto/control-summary", &cookie).json();
        assert_eq!(without_time(summary.clone()), without_time(answer));
        let _ = world.cto(["validate", "summary"]).expect(0);
        expect_keys(&summary);
        summary
    };
    for (case, code, passes) in [("./made", 0, true), ("./failing", 1, false)] {
        let name = request(&world, case);
        let open = told();
        assert_eq!(posture(&open), [false; 4], "{case}");
        assert_eq!(
            (&open["approval_packet"]["request"], &open["approval_packet"]["status"]),
            (&json!(name), &json!("proof_ready"))
        );
        assert_eq!(open["next_operator_action"], json!(format!("cto packet {name}")));
        let packet = world.cto(["packet", &name, "--json"]).expect(0).json();
        let sentence = packet["approval_command_text"].as_str().unwrap();
        assert_eq!(open["approval_packet"]["approval_command_text"], json!(sentence));
        assert_eq!(open["approval_packet"]["allowed_paths"], json!(["a.txt"]), "those of the contract");
        let blocked = open["approval_packet"]["blocked_actions"].as_array().unwrap();
        assert!(blocked.contains(&json!("push")), "{blocked:?}");
        let _ = world.cto(["approve", &name, "--sentence", sentence]).expect(0);
        let approved = told();
        assert_eq!(posture(&approved), [true, true, false, false], "{case}");
        let _ = world.cto(["run", case, "--stage", "4", "--json"]).expect(code);
        let used = told();
        assert_eq!(posture(&used), [true, false, true, passes], "{case}: granted, and nothing may run by it again");
        for key in ["consumed_pass_report_path", "consumed_proof_path"] {
            let path = &used["governed_execution"][key];
            assert_eq!(path.is_string(), passes, "{case} {key}: {path}");
            assert!(path.as_str().is_none_or(|path| world.home().join(path).is_file()), "{path}");
        }
    }
    let name = request(&world, "./made");
    let _ = world.cto(["deny", &name, "--reason", "too wide"]).expect(0);
    let denied = told();
    assert_eq!((posture(&denied), &denied["approval_reason"]), ([false; 4], &json!(format!("{name} was denied"))));
}

/// Texts of people that hold an address or a secret's shape are in the request and in the switch, and not in the summary.
#[test]
fn an_address_in_a_title_or_a_reason_does_not_reach_the_summary() {
    const ADDRESS: &str = "https://models.example/v1";
    let world = world();
    world.case("made", &[("mutation_mode", "candidate-default"), ("title", &format!("'see {ADDRESS}'"))]);
    lay_operator(&world);
    let name = request(&world, "./made");
    let packet = world.cto(["packet", &name, "--json"]).expect(0).text();
    assert!(packet.contains("://models.example"), "the control: the packet says it");
    let _ = world.cto(["halt", "--reason", &format!("ask {ADDRESS}")]).expect(0);
    let told = world.cto(["summary", "--json"]).expect(0);
    assert!(!told.text().contains("://") && !told.text().contains("models.example"), "{}", told.text());
    let summary = told.json();
    for text in [&summary["approval_packet"]["approval_command_text"], &summary["health"]["reason"]] {
        assert!(text.as_str().unwrap().starts_with("(left out: "), "{text}");
    }
    let _ = world.cto(["validate", "summary"]).expect(0);
    let _ = world.cto(["summary", "--write"]).expect(0);
}

/// The value of a figure of `/metrics`.
fn figure(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

/// A run that goes on and one whose process is gone; then the kill switch; then a request that is approved. Summary, pages, interface
/// and figures say the same numbers each time.
#[test]
fn the_summary_says_the_numbers_of_the_console_and_of_the_figures() {
    let world = world();
    lay_operator(&world);
    world.case("made", &[("mutation_mode", "candidate-default")]);
    let fake = json!({"steps": [{"run": {"argv": ["sh", "-c", "while :; do echo on; sleep 1; done"]}}]});
    world.case("long", &[("fake", &fake.to_string())]);
    let mut killed = world.start(["run", "./long", "--json"]);
    let dead = super::live::live_run(&world);
    let running = world.start(["run", "./long", "--json"]);
    let live = testkit::wait_for("a second run that goes on", || {
        let status = world.cto(["status", "--json"]).json();
        let runs = status["running"].as_array()?.iter().filter_map(|run| run["run_id"].as_str());
        runs.map(str::to_owned).find(|run| *run != dead)
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let compare = |what: &str, expected: [u64; 5]| {
        let summary = world.cto(["summary", "--json"]).expect(0).json();
        let overview = served.get("/api/cto/overview", &cookie).json();
        let metrics = served.get("/metrics", &cookie).text();
        let open = served.get("/api/cto/runs?q=status:running", &cookie).json();
        let open = open["runs"].as_array().unwrap();
        let dead = open.iter().filter(|run| run["interrupted"] == true).count() as u64;
        let requests = served.get("/api/cto/approvals", &cookie).json();
        let newest = &requests["requests"][0];
        let granted = u64::from(newest["state"] == "approved");
        let console = [
            overview["total_runs"].as_u64().unwrap(),
            overview["running"].as_array().unwrap().len() as u64,
            dead,
            u64::from(overview["halted"].is_string()),
            granted,
        ];
        let names = ["cto_runs", "cto_runs_running", "cto_runs_interrupted", "cto_halted", "cto_approval_granted"];
        let health = &summary["health"];
        let told = [
            health["total_runs"].as_u64().unwrap(),
            health["running_runs"].as_u64().unwrap(),
            health["interrupted_runs"].as_u64().unwrap(),
            u64::from(health["halted"] == true),
            u64::from(summary["approval_granted"] == true),
        ];
        assert_eq!(told, expected, "{what}: the summary");
        assert_eq!(console, expected, "{what}: the console");
        assert_eq!(names.map(|name| figure(&metrics, name)), expected, "{what}: the figures");
        assert_eq!(open.len() as u64, expected[1] + expected[2], "{what}");
        assert_eq!(summary["approval_packet"]["request"], newest["request"], "{what}");
        assert_eq!(overview["spend"], served.get("/api/cto/spend", &cookie).json()["rows"], "{what}");
    };
    compare("a run goes on, another died", [2, 1, 1, 0, 0]);
    let _ = world.cto(["stop", &live, "--json"]).expect(0);
    let _ = testkit::World::finish(running).expect(130);
    let _ = world.cto(["halt", "--reason", "the machine is moving"]).expect(0);
    compare("the switch is set", [2, 0, 1, 1, 0]);
    let _ = world.cto(["resume"]).expect(0);
    let name = request(&world, "./made");
    // The request sealed the run that had died.
    compare("a request is open", [2, 0, 0, 0, 0]);
    let packet = world.cto(["packet", &name, "--json"]).expect(0).json();
    let _ = world.cto(["approve", &name, "--sentence", packet["approval_command_text"].as_str().unwrap()]).expect(0);
    compare("it is approved", [2, 0, 0, 0, 1]);
}
