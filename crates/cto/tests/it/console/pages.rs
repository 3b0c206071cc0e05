//! Pages say what the command line says, show foreign text as text, and change nothing.

use serde_json::{Value, json};
use testkit::{World, contents, left_running, wait_for};

use super::Served;
use crate::workspace_records::sized;
use crate::world;

/// Text that must stay text wherever it stands.
const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}",
    "{% raw %}",
    "</title><h1>x",
    "'onmouseover='alert(1)",
    "&lt;b&gt;",
    "\u{202e}gnp.exe",
    "a\u{200b}b",
];

#[test]
fn a_pass_a_failure_and_a_refusal_are_shown() {
    let world = world();
    let (passed, _) = world.run("r1-string-slugify", 0);
    let (failed, _) = world.run("fail-no-diff", 1);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let list = served.get("/runs", &cookie).text();
    assert!(list.contains("2 in the ledger") && list.contains("no_diff"), "{list}");
    let page =
        |run: &serde_json::Value| served.get(&format!("/runs/{}", run["run_id"].as_str().unwrap()), &cookie).text();
    let text = page(&passed);
    for word in ["verdict-pass", "Verified: ", "strings.py", "g-allowed", "Verify bundle", "report.json", "timeline"] {
        assert!(text.contains(word), "{word}");
    }
    let text = page(&failed);
    for word in ["verdict-fail", "no_diff", "Nothing changed."] {
        assert!(text.contains(word), "{word}");
    }
    let checked = served.get("/runs/@-1/verify", &cookie).text();
    assert!(checked.contains("Every one holds"), "{checked}");
    let facts = served.get("/api/cto/runs/@-1", &cookie).json();
    assert_eq!((&facts["state"], &facts["report"]["status"]), (&json!("sealed"), &json!("pass")));
    assert_eq!(facts["report"]["run_id"], passed["run_id"]);
    assert_eq!(served.get("/runs?q=status:fail", &cookie).text().matches("class=\"task\"").count(), 1);
    assert_eq!(served.get("/runs?q=reason:no_diff", &cookie).text().matches("class=\"task\"").count(), 1);
    assert_eq!(served.get("/runs?q=colour:red", &cookie).status, 400);
    for (digest, found) in [(passed["run_id"].as_str().unwrap(), 400), ("00000000", 200)] {
        assert_eq!(served.get(&format!("/runs?q=digest:{digest}"), &cookie).status, found, "{digest}");
    }
    assert_eq!(served.get("/runs/nothing", &cookie).status, 404);
}

/// Runs, workers and late steps of the queue, as page, as JSON and as figures.
#[test]
fn the_queue_is_shown_with_its_figures() {
    let world = world();
    let submit = |priority: &str| {
        let words = ["submit", "r1-string-slugify", "--priority", priority, "--labels", "gpu", "--json"];
        world.cto(words).expect(0).json()["run_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (submit("5"), submit("1"));
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let look = || (served.get("/queue", &cookie).text(), served.get("/api/cto/queue", &cookie).json());
    let (page, facts) = look();
    assert!(page.contains("labels gpu") && page.contains("No worker has a run now"), "{page}");
    assert_eq!((&facts["waiting"], &facts["runs"][0]["run_id"]), (&json!(2), &json!(first)));
    assert!(!page.contains(&format!("/runs/{first}")), "a run that waits has no page");

    let ledger = ledger::Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    let now = harness::RunClock::start_clock().unwrap().started();
    let ask = ledger::ClaimAsk {
        owner: contract::Digest::of_bytes(b"home"),
        engines: None,
        labels: vec!["gpu".to_owned()],
        limits: ledger::QueueLimits::default(),
        lease: std::time::Duration::from_secs(600),
        now,
    };
    let claimed = ledger.queue_claimed(&ask).unwrap().unwrap();
    ledger.late_refused(&claimed.run_id, 1, now, &json!({"step": "start"})).unwrap();
    let (page, facts) = look();
    let home = contract::Digest::of_bytes(b"home").to_string();
    assert_eq!((&facts["claimed"], &facts["workers"][0]["home"]), (&json!(1), &json!(home)));
    assert_eq!((&facts["late"][0]["step"], &facts["lapsed"]), (&json!("start"), &json!(0)));
    assert!(page.contains(&home[..12]) && page.contains("lease until"), "{page}");
    let figures = served.get("/metrics", &cookie).text();
    for line in [
        "cto_queue_runs{state=\"queued\"} 1",
        "cto_queue_runs{state=\"claimed\"} 1",
        "cto_queue_leases_lapsed 0",
        "cto_queue_late_steps 1",
        &format!("cto_worker_runs{{home=\"{home}\"}} 1"),
    ] {
        assert!(figures.lines().any(|told| told == line), "{line}: {figures}");
    }
    let _ = world.cto(["cancel", &first]).expect(0);
    let _ = world.cto(["worker", "--until-empty", "--labels", "gpu"]).expect(0);
    let (page, facts) = look();
    assert_eq!((&facts["waiting"], &facts["workers"]), (&json!(0), &json!([])));
    assert!(page.contains(&format!("/runs/{second}")), "{page}");
}

/// A log of more lines than a window has: pages lead on, a search counts all of it, and the address of a line shows it.
#[test]
fn a_long_log_is_shown_in_windows_with_true_counts() {
    let world = world();
    let talk = json!({"steps": [{"run": {"argv": ["seq", "-f", "line %g", "1300"]}}]});
    world.case("made", &[("fake", &talk.to_string()), ("verification_commands", "[[\"true\"]]")]);
    let ran = world.cto(["run", "./made", "--json"]).json();
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let place = format!("/runs/{}/log?name=backend/stdout.log", ran["run_id"].as_str().unwrap());
    let ask = |more: &str| served.get(&format!("/api/cto{place}{more}"), &cookie).json();
    let (mut numbers, mut texts, mut from) = (Vec::new(), Vec::new(), String::new());
    let total = loop {
        let window = ask(&from);
        assert_eq!(window["total_lines"], window["matching_lines"]);
        for line in window["lines"].as_array().unwrap() {
            numbers.push(line[0].as_u64().unwrap());
            texts.push(line[1].as_str().unwrap().to_owned());
        }
        match window["next_line"].as_u64() {
            Some(next) => from = format!("&line={next}"),
            None => break window["total_lines"].as_u64().unwrap(),
        }
    };
    assert_eq!(numbers, (1..=total).collect::<Vec<_>>(), "every line once");
    // The engine says a few things itself.
    texts.retain(|text| text.starts_with("line "));
    assert_eq!(texts, (1..=1300).map(|number| format!("line {number}")).collect::<Vec<_>>());
    let found = ask("&q=line%20129");
    assert_eq!((&found["matching_lines"], &found["lines"][0][1]), (&json!(11), &json!("line 129")), "and 1290 to 1299");
    let page = served.get(&format!("{place}&line=700"), &cookie).text();
    assert!(page.contains("id=\"L700\"") && page.contains("&amp;line=700#L700\"") && !page.contains("id=\"L699\""));
}

#[test]
fn a_changed_bundle_has_no_verdict() {
    let world = world();
    let (_, bundle) = world.run("r1-string-slugify", 0);
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    assert!(served.get("/runs/@", &cookie).text().contains("verdict-pass"), "the control");
    let file = bundle.join("test.log");
    let mut text = std::fs::read(&file).unwrap();
    text.extend_from_slice(b"x");
    let mut mode = std::fs::metadata(&file).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    std::fs::write(&file, text).unwrap();
    let page = served.get("/runs/@", &cookie).text();
    assert!(page.contains("verdict-broken") && !page.contains("verdict-pass"), "{page}");
    let checked = served.get("/runs/@/verify", &cookie).text();
    assert!(checked.contains("does not verify") && checked.contains("test.log"), "{checked}");
}

#[test]
fn hostile_text_stays_text() {
    let world = world();
    let script: String = HOSTILE.iter().map(|text| format!("{text}\n")).collect();
    let echo = json!({"steps": [
        {"run": {"argv": ["sh", "-c", "printf '%s' \"$0\"; printf '%s' \"$0\" > '<img src=x onerror=alert(2)>.txt'", script]}},
    ]});
    world.case("made", &[("fake", &echo.to_string()), ("title", &json!(HOSTILE[0]).to_string())]);
    world.cto(["run", "./made", "--json"]);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let query = "/runs?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    for page in [
        "/",
        "/runs",
        "/runs/@",
        query,
        "/runs/@/log?name=report.json",
        "/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/compare?runs=@",
        "/compare?runs=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    ] {
        let text = served.get(page, &cookie).text();
        for bad in
            ["<script>alert", "<img src=x", "<svg/onload", "</title><h1>", "'onmouseover='", "\u{202e}", "\u{200b}"]
        {
            assert!(!text.contains(bad), "{page} holds {bad:?}");
        }
        assert!(!text.contains(" style=") && !text.contains("onclick="), "{page}: no inline style or handler");
    }
    let text = served.get("/runs/@", &cookie).text();
    assert!(
        text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") || text.contains("&#60;script&#62;"),
        "shown as text"
    );
}

#[test]
fn looking_changes_nothing() {
    let world = world();
    let (sealed, _) = world.run("r1-string-slugify", 0);
    let sealed = sealed["run_id"].as_str().unwrap();
    let dead = leave_dead_run(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    // SQLite's memory of locks and of where the log's pages are. It holds no entry, and readers write into it.
    let before = contents(&world.home(), &["ledger.db-shm"]);
    assert!(before.keys().any(|path| path.starts_with("active/") && path.contains(&dead)), "control: {before:?}");
    let of_run = ["", "/verify", "/log?name=report.json"].map(|part| format!("/runs/{sealed}{part}"));
    let pages = ["/", "/runs", "/queue", "/approvals", "/records", "/spend", "/metrics"].map(str::to_owned);
    for page in pages.into_iter().chain(of_run).chain([format!("/compare?runs={sealed}")]) {
        assert_eq!(served.get(&page, &cookie).status, 200, "{page}");
        assert_eq!(contents(&world.home(), &["ledger.db-shm"]), before, "{page}");
    }
    // No page, list or answer changes a run that died.
    for part in ["", "/verify", "/log?name=report.json"] {
        let _ = served.get(&format!("/runs/{dead}{part}"), &cookie);
        assert_eq!(contents(&world.home(), &["ledger.db-shm"]), before, "{part}");
    }
    // The control: a recovery seals the dead run, and the same comparison shows that.
    let _ = world.cto(["recover"]).expect(0);
    assert_ne!(contents(&world.home(), &["ledger.db-shm"]), before);
    assert!(world.bundles().join(&dead).is_dir());
}

/// Leaves a run whose program was killed while its engine worked; gives its id.
fn leave_dead_run(world: &World) -> String {
    world.case("dies", &[("fake", r#"{"steps": [{"run": {"argv": ["sleep", "86398"]}}]}"#)]);
    let status = || world.cto(["status", "--json"]).expect(0).json();
    let mut child = world.start(["run", "./dies", "--json"]);
    let working = |status: &Value| {
        let run = &status["running"][0];
        (run["phase"] == "working").then(|| run["run_id"].as_str().unwrap().to_owned())
    };
    let run = wait_for("its engine", || working(&status()));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("its end", || (status()["running"] == json!([])).then_some(()));
    wait_for("the end of what it started", || left_running(&run).is_empty().then_some(()));
    run
}

#[test]
fn the_records_page_shows_records_findings_and_the_board_in_parts() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let item = |number: usize| {
        format!("  - id: DEMO-WORK-{number:03}\n    title: item <b>{number}</b>\n    type: AFK\n    status: draft\n")
    };
    let items: String = (0..250).map(item).collect();
    world.write("WORKBOARD.yaml", format!("items:\n{items}"));
    world.write("decisions/provider.yaml", "decision_status: who knows\n");
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    assert!(served.get("/", &cookie).text().contains("href=\"/records\""), "the way there");
    let page = served.get("/records", &cookie).text();
    for word in [
        "decisions/",
        "provider.yaml",
        "record_invalid",
        "1 errors, 0 of advice",
        "250 items, 0 validated",
        "DEMO-WORK-199",
    ] {
        assert!(page.contains(word), "{word}: {page}");
    }
    assert!(!page.contains("DEMO-WORK-200") && page.contains("/records?from=200") && !page.contains("<b>1</b>"));
    let rest = served.get("/records?from=200", &cookie).text();
    assert!(rest.contains("DEMO-WORK-249") && !rest.contains("DEMO-WORK-199") && rest.contains("/records?from=0"));
    world.write("decisions/provider.yaml", "");
    std::fs::remove_file(world.here().join("decisions/provider.yaml")).unwrap();
    assert!(served.get("/records", &cookie).text().contains("No problem was found"), "the control");
}

#[test]
fn the_records_page_of_a_large_workspace_stays_small() {
    let (world, _) = sized::large_workspace();
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    for from in [0, 5_000, 9_900] {
        let page = served.get(&format!("/records?from={from}"), &cookie);
        assert_eq!(page.status, 200);
        let text = page.text();
        assert!(text.contains(&format!("{} items", sized::ITEMS)) && text.contains(&format!("DEMO-WORK-{from:05}")));
        assert!(page.body.len() < 1 << 20, "a part of the board, not all of it");
    }
    let peak = served.peak_kib();
    println!("the server had {peak} KiB");
    assert!(peak < sized::MOST_KIB, "{peak} KiB");
}

/// Ids of the runs of a list, in its order.
fn ids_of(list: &str) -> Vec<String> {
    let links = list.split("class=\"task\" href=\"/runs/").skip(1);
    links.map(|link| link.split('"').next().unwrap().to_owned()).collect()
}

/// The list is ordered by its headings, narrowed by its choices and searched by a digest; the size of a patch is that of a bundle
/// which is whole.
#[test]
fn runs_are_sorted_and_chosen_and_show_what_their_bundles_prove() {
    let world = world();
    let (passed, bundle) = world.run("r1-string-slugify", 0);
    let (failed, _) = world.run("fail-no-diff", 1);
    let (again, _) = world.run("r1-string-slugify", 0);
    let id = |report: &serde_json::Value| report["run_id"].as_str().unwrap().to_owned();
    let (passed, failed, again) = (id(&passed), id(&failed), id(&again));
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let list = |query: &str| {
        let answer = served.get(&format!("/runs{query}"), &cookie);
        assert_eq!(answer.status, 200, "{query}");
        answer.text()
    };
    let newest = vec![again.clone(), failed.clone(), passed.clone()];
    let oldest = vec![passed.clone(), failed.clone(), again.clone()];
    let by_status = vec![again.clone(), passed.clone(), failed.clone()];
    let took = |run: &str| world.cto(["show", run, "--json"]).expect(0).json()["duration_ms"].as_u64().unwrap();
    let mut longest = newest.clone();
    longest.sort_by_key(|run| std::cmp::Reverse(took(run)));
    for (query, expected) in [
        ("", &newest),
        ("?sort=oldest", &oldest),
        ("?sort=status", &by_status),
        ("?sort=engine", &newest),
        ("?sort=stage", &newest),
        ("?sort=took&stage=2&engine=fake", &longest),
        ("?sort=took", &longest),
        ("?q=sort:took%20status:fail", &vec![failed.clone()]),
        ("?q=sort:status", &by_status),
        ("?engine=fake&stage=2", &newest),
        ("?engine=other", &vec![]),
        ("?q=status:fail&sort=oldest", &vec![failed.clone()]),
        ("?stage=3", &vec![]),
    ] {
        assert_eq!(ids_of(&list(query)), *expected, "{query}");
    }
    assert_eq!(served.get("/runs?sort=cost", &cookie).status, 400);
    let sorted = list("?sort=status&q=task:r1-string-slugify");
    assert!(
        sorted.contains("aria-sort=\"ascending\"><a href=\"/runs?q=task%3Ar1-string-slugify&#38;sort=status"),
        "{sorted}"
    );
    assert!(
        list("").contains("<option>fake</option>") && list("?engine=fake").contains("<option selected>fake</option>")
    );
    let words = ["sort:status", "sort:oldest"].map(|word| world.cto(["runs", word, "--json"]).expect(0).text());
    for (text, expected) in words.iter().zip([&by_status, &oldest]) {
        let told: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(told.iter().map(id).collect::<Vec<_>>(), *expected, "the same words of cto runs");
    }

    let facts = served.get("/api/cto/runs", &cookie).json();
    let digest = facts["runs"][2]["attestation_sha256"].as_str().unwrap().to_owned();
    assert_eq!(ids_of(&list(&format!("?q=digest:{}", &digest[..10]))), std::slice::from_ref(&passed));
    assert!(facts["sealed"][&passed]["added"].as_u64().unwrap() > 0, "{facts}");
    assert_eq!(facts["engines"], json!(["fake"]));
    assert!(list("").contains("<span class=\"plus\">+"));
    let patch = bundle.join("patch.diff");
    let mut mode = std::fs::metadata(&patch).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o600);
    std::fs::set_permissions(&patch, mode).unwrap();
    std::fs::write(&patch, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+y\n+z\n").unwrap();
    let served = Served::start(&world, &["--read-only"]);
    let facts = served.get("/api/cto/runs", &served.log_in()).json();
    assert!(facts["sealed"][&passed].is_null(), "nothing is said of a bundle that was changed: {facts}");
    assert!(facts["sealed"][&again]["added"].as_u64().unwrap() > 0, "the control");
}

/// Hostile texts in a real home where people and machines write them: files and fields of records, items of the board, titles of
/// requests, names of models, and bytes that are no text.
#[test]
fn hostile_records_requests_and_models_stay_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let (ran, _) = world.run("r1-string-slugify", 0);
    let all = HOSTILE.join(" ");
    let record = json!({"admission_status": HOSTILE[0], "target_repository_path": all, "repository_owner": all});
    let odd = [b"odd-\xff\xfe\x9b<img src=x onerror=alert(1)>.yaml".as_slice(), b"<script>alert(1)<script>.yaml"];
    for name in odd {
        let folder = world.here().join("admissions/target");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(std::ffi::OsStr::from_bytes(name)), record.to_string()).unwrap();
    }
    let board = json!({"items": [{"id": "DEMO-WORK-001", "title": all, "type": "AFK", "status": "draft"}]});
    world.write("WORKBOARD.yaml", board.to_string());
    let title = json!(HOSTILE[0]).to_string();
    world.case("made", &[("mutation_mode", "candidate-default"), ("title", &title)]);
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let asked = world.cto(["request", "./made", "--stage", "4", "--json"]).expect(0).json();
    let request = format!("/approvals/{}", asked["request"].as_str().unwrap());

    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let now = served.get("/api/cto/overview", &cookie).json()["now"].as_str().unwrap().to_owned();
    let (time, run) = (now.parse().unwrap(), ran["run_id"].as_str().unwrap());
    let pair = format!("local/{all}");
    let account =
        json!({"day": &now[..10], "pair": pair, "run": run, "requests": 1, "tokens": 2, "money_micros": 3_000_000});
    let ledger = ledger::Ledger::open_file(&world.home().join("ledger.db")).unwrap();
    ledger.model_reserved(time, time, |_| account.clone()).unwrap();
    drop(ledger);
    for (page, word) in [
        ("/records", "alert(1)"),
        ("/spend", "alert(1)"),
        ("/approvals", "made"),
        (request.as_str(), "alert(1)"),
        ("/", "made"),
    ] {
        let answer = served.get(page, &cookie);
        let text = String::from_utf8(answer.body.clone()).unwrap();
        assert_eq!(answer.status, 200, "{page}: {text}");
        assert!(text.contains(word), "the control: {page} shows {word}: {text}");
        for bad in
            ["<script>alert", "<img src=x", "<svg/onload", "</title><h1>", "'onmouseover='", "\u{202e}", "\u{200b}"]
        {
            assert!(!text.contains(bad), "{page} holds {bad:?}");
        }
        assert!(!text.contains(" style=") && !text.contains("onclick="), "{page}: no inline style or handler");
    }
}
