//! Tests that count: known failures that the contract declares, tests that must pass, and tests that fail now and then.

use serde_json::{Value, json};
use testkit::each_row;

use super::baseline::{FILES, GOOD, made};

/// A third test, which fails whatever the engine does.
const RED: (&str, &str) = (
    "test_net.py",
    "import unittest\n\n\nclass Net(unittest.TestCase):\n    def test_net(self):\n        self.fail('no network here')\n",
);
/// A fourth one of that kind.
const RED_TOO: (&str, &str) = (
    "test_disk.py",
    "import unittest\n\n\nclass Disk(unittest.TestCase):\n    def test_disk(self):\n        self.fail('no disk here')\n",
);
const BREAKS: &str = "def add(a, b):\n    return a + b\n\n\ndef zero():\n    return 1\n";
/// Good work that ends the process with a code of its own when all is printed.
const ENDS_OTHERWISE: &str = "import atexit\nimport os\n\natexit.register(os._exit, 2)\n\n\ndef add(a, b):\n    return a + b\n\n\ndef zero():\n    return 0\n";
const CODE: &str = "[{command: 'python3 -m unittest -v || exit $(cat code)', shell: true}]";

struct Row {
    writes: &'static [(&'static str, &'static str)],
    changes: &'static [(&'static str, &'static str)],
    /// The worst reason, or none for a pass.
    reason: Option<&'static str>,
    says: &'static str,
    coverage: &'static [&'static str],
}

fn check(files: &[(&str, &str)], row: &Row) -> Value {
    let world = made(files, row.writes, row.changes);
    let (report, _) = world.run("./made", i32::from(row.reason.is_some()));
    let worst = report["blocker_reasons"][0].as_str();
    assert_eq!(worst, row.reason, "{:?}: {:#}", row.changes, report["blockers"]);
    assert!(report["blockers"].to_string().contains(row.says), "{:?}: {}", row.changes, report["blockers"]);
    for code in row.coverage {
        assert!(
            report["coverage"].as_array().unwrap().contains(&json!(code)),
            "{:?}: {}",
            row.changes,
            report["coverage"]
        );
    }
    let _ = world.cto(["verify", "@"]).expect(0);
    let shown = world.cto(["show", "@"]).expect(0).text();
    for test in report["verification"]["passes"][0]["tests"]["failed"].as_array().into_iter().flatten() {
        let (name, message) = (test["name"].as_str().unwrap(), test["message"].as_str().unwrap());
        assert!(!message.is_empty() && shown.contains(name) && shown.contains(message), "{test}: {shown}");
    }
    report
}

const FAILED: Option<&str> = Some("verification_failed");

#[test]
fn known_failures_are_declared_never_inferred() {
    let files = [FILES, &[RED, ("code", "1\n")]].concat();
    let good = &[("calc.py", GOOD)][..];
    let red = &[("may_stay_red", "[test_net]")][..];
    let red_at_once = &[("may_stay_red", "[test_net]"), ("flaky_retries", "0")];
    let coded = &[("may_stay_red", "[test_net]"), ("verification_commands", CODE)];
    let both = &[("may_stay_red", "[test_net, test_disk]")];
    let rows = [
        ("declared", (good, red, None, "")),
        ("not declared", (good, &[], FAILED, "test_net.Net.test_net (AssertionError: no network here)")),
        ("one of two declared", (good, red, FAILED, "test_disk.Disk.test_disk (AssertionError: no disk here)")),
        ("two of two declared", (good, both, None, "")),
        ("another fails, not held again", (&[("calc.py", BREAKS)], red_at_once, FAILED, "test_zero")),
        ("another fails", (&[("calc.py", BREAKS)], red, FAILED, "test_zero")),
        // Another exit code than the baseline's is another failure.
        ("another code of the command", (&[("calc.py", GOOD), ("code", "2\n")], coded, FAILED, "exam 1")),
        ("another code of the process", (&[("calc.py", ENDS_OTHERWISE)], red, FAILED, "exam 1")),
        ("the same code", (good, coded, None, "")),
    ];
    let two_red = [&files[..], &[RED_TOO]].concat();
    let rows = rows.map(|(name, row)| (name, (if name.contains("two") { &two_red } else { &files }, row)));
    each_row(rows, |(files, (writes, changes, reason, says))| {
        let coverage: &[&str] = if reason.is_none() { &["known_failures"] } else { &[] };
        let report = check(files, &Row { writes, changes, reason, says, coverage });
        assert_eq!(report["coverage"].to_string().contains("known_failures"), reason.is_none());
    });
}

/// Tests of the patch prove nothing, also where the contract releases their file.
#[test]
fn must_pass_rests_on_tests_that_the_patch_did_not_bring() {
    let before = (
        "test_calc.py",
        "import unittest\n\nfrom calc import double\n\n\nclass Double(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(2), 4)\n",
    );
    let files = [&FILES[..1], &[before]].concat();
    let own =
        ("test_own.py", "import unittest\n\n\nclass Own(unittest.TestCase):\n    def test_own(self):\n        pass\n");
    let skips = ("calc.py", "import unittest\n\n\ndef double(a):\n    raise unittest.SkipTest('later')\n");
    let released = vec![("must_pass", "[test_own]"), ("exam_may_change", "[test_own.py]")];
    let packed = vec![("calc.py", GOOD), ("more/__init__.py", "\n"), ("more/test_own.py", own.1)];
    let packed_released = vec![("must_pass", "[test_own]"), ("exam_may_change", "[more/]")];
    let grown = format!("{}\n    def test_own(self):\n        pass\n", before.1);
    let grown_released = vec![("must_pass", "[test_own]"), ("exam_may_change", "[test_calc.py]")];
    let rows = [
        ("a test of the baseline", (vec![("calc.py", GOOD)], vec![("must_pass", "[test_double]")], None)),
        ("a test of the patch", (vec![("calc.py", GOOD), own], vec![("must_pass", "[test_own]")], FAILED)),
        ("a test of the patch, released", (vec![("calc.py", GOOD), own], released, FAILED)),
        ("a test of the patch in a package, released", (packed, packed_released, FAILED)),
        (
            "a test of the patch in a released file of the baseline",
            (vec![("calc.py", GOOD), ("test_calc.py", &grown)], grown_released, FAILED),
        ),
        ("a skipped test", (vec![skips], vec![("must_pass", "[test_double]")], Some("verification_weakened"))),
    ];
    each_row(rows, |(writes, changes, reason)| {
        let world = made(&files, &writes, &changes);
        let (report, _) = world.run("./made", i32::from(reason.is_some()));
        assert_eq!(report["blocker_reasons"][0].as_str(), reason, "{changes:?}: {:#}", report["blockers"]);
        let told = report["blockers"].to_string().contains("must_pass `");
        assert_eq!(told, reason.is_some(), "{changes:?}: {:#}", report["blockers"]);
        let _ = world.cto(["verify", "@"]).expect(0);
    });
}

/// A function that tells the truth now and then, and a test of it.
const NOW_AND_THEN: &str = "import random\n\n\ndef add(a, b):\n    return a - b\n\n\ndef zero():\n    return 0\n\n\ndef luck():\n    return random.random() < 0.5\n";
const LUCK: (&str, &str) = (
    "test_luck.py",
    "import unittest\n\nimport calc\n\n\nclass Luck(unittest.TestCase):\n    def test_luck(self):\n        self.assertTrue(calc.luck())\n",
);

/// A coin falls as it likes, so that it is thrown until it has fallen each way where it must.
#[test]
fn a_flaky_test_is_excused_and_said() {
    let good = NOW_AND_THEN.replace("a - b", "a + b");
    let files = [&FILES[1..], &[("calc.py", NOW_AND_THEN), LUCK]].concat();
    let excused = (0..40).any(|_| {
        let world = made(&files, &[("calc.py", &good)], &[("flaky_retries", "6")]);
        let ran = world.cto(["run", "./made", "--json"]);
        let report = ran.json();
        let says = report["coverage"].to_string().contains("flaky_tests");
        assert!(!says || report["status"] == "pass", "{:#}", report["blockers"]);
        if says {
            let _ = world.cto(["verify", "@"]).expect(0);
            let exam = &report["verification"]["passes"][0];
            assert_ne!(exam["exit"], 0, "{exam}");
            assert_eq!(exam["tests"]["failed"][0]["excused"], "flaky", "{exam}");
        }
        says
    });
    assert!(excused);
}

/// Runs the work until the luck test falls well on the baseline, where only `test_add` fails, and badly with the patch, where
/// `failing` tests fail, as often as it takes for one of them to fall each way when repeated. No run of it excuses a test.
fn no_luck_is_excused(files: &[(&str, &str)], work: &str, failing: usize) {
    let refused = (0..60).filter(|_| {
        let world = made(files, &[("calc.py", work)], &[("flaky_retries", "6")]);
        let report = world.cto(["run", "./made", "--json"]).json();
        let exam = &report["verification"]["passes"][0]["tests"];
        assert!(!report["coverage"].to_string().contains("flaky_tests"), "{:#}", report["blockers"]);
        assert_eq!(report["status"] == "pass", exam["result"]["failed"] == 0, "{:#}", report["blockers"]);
        exam["baseline"]["failed"] == 1 && exam["result"]["failed"] == failing
    });
    assert_eq!(refused.take(3).count(), 3);
}

/// A test that never passes with the patch, and one that never fails without it.
#[test]
fn a_test_that_the_patch_breaks_is_not_flaky() {
    let good = NOW_AND_THEN.replace("a - b", "a + b");
    let (lucky, firm) = ("random.random() < 0.5", "bool(random)");
    let rows = [
        ("broken on purpose", (NOW_AND_THEN.to_owned(), good.replace(lucky, "False"))),
        ("made flaky", (NOW_AND_THEN.replace(lucky, firm), good)),
    ];
    each_row(rows, |(before, after)| no_luck_is_excused(&[FILES[1], ("calc.py", &before), LUCK], &after, 1));
}

/// One coin for two tests: both fail or both pass.
const TWO_LUCKY: (&str, &str) = (
    "test_luck.py",
    "import unittest\n\nimport calc\n\nLUCK = calc.luck()\n\n\nclass Luck(unittest.TestCase):\n    def test_one(self):\n        self.assertTrue(LUCK)\n\n    \
     def test_two(self):\n        self.assertTrue(LUCK)\n",
);
/// One coin for six tests among four hundred.
const SIX_LUCKY: (&str, &str) = (
    "test_luck.py",
    "import unittest\n\nimport calc\n\nLUCK = calc.luck()\n\n\nclass Luck(unittest.TestCase):\n    pass\n\n\nfor number in range(400):\n    \
     needs = LUCK or number >= 6\n    setattr(Luck, f'test_{number}', lambda self, needs=needs: self.assertTrue(needs))\n",
);

/// Two of four tests are more than one and more than two in a hundred, and six are more than five; one alone is excused.
#[test]
fn more_flaky_tests_than_are_allowed_are_not_excused() {
    let good = NOW_AND_THEN.replace("a - b", "a + b");
    each_row([("two of four", (TWO_LUCKY, 2)), ("six of many", (SIX_LUCKY, 6))], |(tests, failing)| {
        no_luck_is_excused(&[FILES[1], ("calc.py", NOW_AND_THEN), tests], &good, failing);
    });
}

/// A name in the kernel that one process at a time can have, and a test that needs it.
const NEEDS_A_NAME: (&str, &str) = (
    "test_name.py",
    "import socket\nimport unittest\n\nimport calc\n\n\nclass Name(unittest.TestCase):\n    def test_name(self):\n        with socket.socket(socket.AF_UNIX) as mine:\n            \
     mine.bind(calc.NAME)\n",
);

/// Work that leaves a process behind which takes the name, for as long as a baseline may be held beside it.
fn loaded(name: &str) -> String {
    format!(
        "{GOOD}\n\nimport os, socket, sys, time\n\nNAME = \"\\0{name}\"\nif os.fork() == 0:\n    os.setsid()\n    for stream in range(3):\n        \
         os.dup2(os.open(os.devnull, os.O_RDWR), stream)\n    if os.fork() == 0:\n        held = socket.socket(socket.AF_UNIX)\n        held.bind(NAME)\n        time.sleep(10)\n    os._exit(0)\n\
         os.wait()\ntime.sleep(0.5)\n"
    )
}

/// Repetitions of the baseline run alone: what code of the patch does to make them fail reaches none of them.
#[test]
fn load_that_the_patch_makes_excuses_nothing() {
    let name = format!("cto-{}", std::process::id());
    let calc = format!("{}\n\nNAME = \"\\0{name}\"\n", GOOD.replace("a + b", "a - b"));
    let (work, test) = (loaded(&name), NEEDS_A_NAME);
    // Control: beside what the patch leaves, the baseline's own test fails.
    let beside = crate::world();
    for (folder, text) in [("work", &work), ("baseline", &calc)] {
        std::fs::create_dir(beside.here().join(folder)).unwrap();
        beside.write(&format!("{folder}/calc.py"), text);
        beside.write(&format!("{folder}/test_name.py"), test.1);
    }
    let in_folder = |folder: &str, words: &[&str]| {
        testkit::program("python3", &beside.here().join(folder)).args(words).output().unwrap().status.success()
    };
    assert!(in_folder("baseline", &["-m", "unittest"]));
    assert!(in_folder("work", &["-c", "import calc"]));
    assert!(!in_folder("baseline", &["-m", "unittest"]));

    let files = [&FILES[1..], &[("calc.py", calc.as_str()), test]].concat();
    let world = made(&files, &[("calc.py", &work)], &[("flaky_retries", "2")]);
    let (report, bundle) = world.run("./made", 1);
    assert_eq!(report["blocker_reasons"], json!(["verification_failed"]), "{:#}", report["blockers"]);
    let log = std::fs::read_to_string(bundle.join("test.log")).unwrap();
    assert!(log.contains("== baseline 1 again 2") && !log.contains("== exam 1 again 1"), "{log}");
}
