//! Listing and finding runs.

use crate::fixtures::{at, id, sealed, started};
use crate::world::World;
use contract::{Purpose, Reason, Stage, Status};
use ledger::{
    Collection, EngineIdentity, FoundRuns, Ledger, ListOrder, LongPlace, RunCollected, RunFilter, RunIntent, RunRow,
    RunSeal, RunSealed, RunStarted, RunStatus, RungPart, RungRuns, SealedReason, TaskRuns,
};

const IDS: [&str; 5] = [
    "20260301T100000Z-slug-k3f9a1",
    "20260301T100001Z-slug-k3f9b2",
    "20260301T100002Z-two-words-zz11aa",
    "20260302T100003Z-slug-20260301",
    "20260303T100004Z-slug-zz11aa22",
];

fn filled(world: &World) -> Ledger {
    let ledger = world.open();
    for (second, text) in (0..).zip(IDS) {
        let engine = if second % 2 == 0 { "fake" } else { "case" };
        let task_id = text.split('-').nth(1).unwrap().to_owned().try_into().unwrap();
        let plain = started(&id(text), second);
        let intent = RunIntent { engine: engine.to_owned(), task_id, ..plain.intent.clone() };
        ledger.run_started(&RunStarted { intent, ..plain }).unwrap();
    }
    ledger.run_sealed(&sealed(&id(IDS[0]))).unwrap();
    ledger
}

#[test]
fn references() {
    let world = World::new();
    let ledger = filled(&world);
    for (reference, expected) in [
        (IDS[1], vec![1]),
        ("20260302", vec![3]),
        ("20260301T100002Z-two", vec![2]),
        ("20260303T", vec![4]),
        ("k3f9a1", vec![0]),
        ("k3f9b", vec![1]),
        ("k3f9", vec![1, 0]),
        ("20260301T", vec![2, 1, 0]),
        ("zz11aa", vec![2]),
        ("zz11", vec![4, 2]),
        ("zz11aa2", vec![4]),
        ("20260301", vec![3]),
        ("2026030", vec![4, 3, 2, 1, 0]),
        ("@", vec![4]),
        ("@-0", vec![4]),
        ("@-1", vec![3]),
        ("@-4", vec![0]),
        ("@-5", vec![]),
        ("@-", vec![]),
        ("@1", vec![]),
        ("@-+1", vec![]),
        ("@-99999999999", vec![]),
        ("slug", vec![]),
        ("%", vec![]),
        ("", vec![]),
    ] {
        let found = match ledger.run_find(reference).unwrap() {
            FoundRuns::One(run) => vec![run.run_id],
            FoundRuns::None => vec![],
            FoundRuns::Many(ids) => ids,
        };
        let expected: Vec<_> = expected.into_iter().map(|index| id(IDS[index])).collect();
        assert_eq!(found, expected, "{reference:?}");
    }
}

#[test]
fn filters() {
    let world = World::new();
    let ledger = filled(&world);
    let check = |filter: RunFilter, limit: usize, expected: &[usize]| {
        let runs = ledger.runs_recent(&filter, limit).unwrap();
        let ids: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
        let expected: Vec<&str> = expected.iter().map(|index| IDS[*index]).collect();
        assert_eq!(ids, expected, "{filter:?}");
    };
    let all = RunFilter::default;
    let since = |time: &str| RunFilter { since: Some(at(time)), ..RunFilter::default() };
    check(all(), 50, &[4, 3, 2, 1, 0]);
    check(all(), 2, &[4, 3]);
    check(all(), usize::MAX, &[4, 3, 2, 1, 0]);
    check(RunFilter { status: Some(RunStatus::Fail), ..all() }, 50, &[0]);
    check(RunFilter { status: Some(RunStatus::Running), engine: Some("case".to_owned()), ..all() }, 50, &[3, 1]);
    check(RunFilter { task_id: "two".to_owned().try_into().ok(), ..all() }, 50, &[2]);
    check(since("2026-03-01T10:00:03.000000Z"), 50, &[4, 3]);
    check(since("2026-03-01T10:00:03Z"), 50, &[4, 3]);
    check(since("2026-03-01T10:00:03.5Z"), 50, &[4]);
    check(RunFilter { engine: Some("fake".to_owned()), ..since("2026-03-01T10:00:02Z") }, 50, &[4, 2]);
    check(RunFilter { order: ListOrder::Oldest, ..all() }, 2, &[0, 1]);
    check(RunFilter { stage: Some(Stage::ARTIFICIAL_FIXTURE), ..all() }, 50, &[4, 3, 2, 1, 0]);
    check(RunFilter { stage: Some(Stage::OWNED_REPOSITORY), ..all() }, 50, &[]);
    check(RunFilter { order: ListOrder::Longest, ..all() }, 50, &[0]);
    assert_eq!(ledger.runs_total().unwrap(), 5);
}

/// Starts runs one after the other while the clock goes back; each is sealed as its row says.
fn run_backwards(ledger: &Ledger) {
    let rows = [
        (Status::Pass, None, false),
        (Status::Fail, Some(Reason::NoDiff), true),
        (Status::Blocked, Some(Reason::Timeout), true),
        (Status::Blocked, Some(Reason::ProviderUnavailable), false),
        (Status::Blocked, Some(Reason::ProviderUnavailable), true),
        (Status::Pass, None, true),
    ];
    for (number, (status, reason, is_collected)) in (0..).zip(rows) {
        let plain = started(&id(&format!("20260301T1000{number:02}Z-r1-back{number}")), 59 - number);
        let run_id = plain.run_id.clone();
        ledger.run_started(&plain).unwrap();
        let seal = sealed(&run_id);
        let identity = Some(EngineIdentity { source_id: "fake@1".to_owned(), model: None });
        let seal = RunSealed {
            seal: RunSeal {
                status,
                reasons: reason.into_iter().map(Into::into).collect(),
                identity,
                ..seal.seal.clone()
            },
            ..seal
        };
        ledger.run_sealed(&seal).unwrap();
        let collection =
            Collection { attestation_sha256: seal.seal.attestation_sha256, reason: "old".to_owned(), bytes: 1 };
        let collected = RunCollected { run_id, time: plain.time, collection };
        ledger.runs_collected(&is_collected.then_some(collected).into_iter().collect::<Vec<_>>()).unwrap();
    }
}

/// Sealed runs by the time that they took, page by page: the longest first, and of two alike the later one.
#[test]
fn the_longest_runs_come_first() {
    let world = World::new();
    let ledger = world.open();
    let times = [30, 10, 50, 30, 20];
    for (number, duration_ms) in (0..).zip(times) {
        let plain = started(&id(&format!("20260301T1000{number:02}Z-r1-took{number}")), number);
        ledger.run_started(&plain).unwrap();
        let seal = sealed(&plain.run_id);
        ledger.run_sealed(&RunSealed { seal: RunSeal { duration_ms, ..seal.seal.clone() }, ..seal }).unwrap();
    }
    ledger.run_started(&started(&id("20260301T100009Z-r1-open"), 9)).unwrap();
    for size in 1..=6 {
        let (mut found, mut after_longer) = (Vec::new(), None);
        loop {
            let filter = RunFilter { order: ListOrder::Longest, after_longer, ..RunFilter::default() };
            let page = ledger.runs_recent(&filter, size).unwrap();
            let Some(last) = page.last() else { break };
            after_longer = Some(LongPlace { duration_ms: last.duration_ms.unwrap(), seq: last.seq });
            found.extend(page.iter().map(|run| (run.duration_ms.unwrap(), run.seq)));
        }
        let took: Vec<u64> = found.iter().map(|(took, _)| *took).collect();
        assert_eq!(took, [50, 30, 30, 20, 10], "pages of {size}");
        assert!(found[1].1 > found[2].1, "{found:?}");
    }
}

/// The runs of a rung and of a task are in the order of the ledger, page by page, whatever their clocks showed.
#[test]
fn rungs_are_in_the_order_of_their_entries() {
    let world = World::new();
    let ledger = world.open();
    run_backwards(&ledger);
    let identity = EngineIdentity { source_id: "fake@1".to_owned(), model: None };
    let number = |run: RunRow| run.run_id.as_str().chars().last().unwrap();
    let (engine, purpose, stage) = ("fake", Purpose::Governed, Stage::ARTIFICIAL_FIXTURE);
    for (of, expected) in
        [(RungPart::All, "543210"), (RungPart::Weighty, "3210"), (RungPart::Deciding, "210"), (RungPart::Passes, "0")]
    {
        let runs = RungRuns { engine, purpose, stage, identity: Some(&identity), of };
        let page = |before| ledger.rung_runs(&runs, before, 2).unwrap();
        assert_eq!(read_pages(page).into_iter().map(number).collect::<String>(), expected, "{of:?}");
    }
    let task_id = "r1".to_owned().try_into().unwrap();
    for (engine, expected) in [(None, "543210"), (Some("fake"), "543210"), (Some("case"), "")] {
        let page = |before| ledger.task_runs(TaskRuns { task_id: &task_id, engine }, before, 2).unwrap();
        assert_eq!(read_pages(page).into_iter().map(number).collect::<String>(), expected, "{engine:?}");
    }
    let newest = ledger.engine_models(engine, purpose).unwrap();
    let last =
        ledger.rung_runs(&RungRuns { engine, purpose, stage, identity: Some(&identity), of: RungPart::All }, None, 1);
    assert_eq!(newest[0].seq, last.unwrap()[0].seq);
    let listed = ledger.runs_recent(&RunFilter::default(), 9).unwrap();
    assert_eq!(listed.into_iter().map(number).collect::<String>(), "012345", "control: a list for people goes by time");
}

fn read_pages(page: impl Fn(Option<u64>) -> Vec<RunRow>) -> Vec<RunRow> {
    let mut all: Vec<RunRow> = Vec::new();
    loop {
        let more = page(all.last().map(|run| run.seq));
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// During an upgrade the newer program seals for a reason that the older one does not know.
#[test]
fn a_reason_of_a_newer_program_breaks_no_list() {
    let world = World::new();
    let ledger = filled(&world);
    let newer = SealedReason::try_from("reason_of_2031".to_owned()).unwrap();
    let plain = sealed(&id(IDS[1]));
    let seal = RunSeal { reasons: vec![newer.clone(), Reason::NoDiff.into()], ..plain.seal.clone() };
    ledger.run_sealed(&RunSealed { seal, ..plain }).unwrap();
    let listed = ledger.runs_recent(&RunFilter::default(), 50).unwrap();
    assert_eq!(listed.len(), IDS.len());
    assert_eq!(listed[3].reasons, [newer, Reason::NoDiff.into()], "in their order");
    assert_eq!(ledger.verify().unwrap().problems, vec![], "the rows are those of the entries");
    ledger.rebuild_rows().unwrap();
    assert_eq!(ledger.runs_recent(&RunFilter::default(), 50).unwrap(), listed);
    world.disarm();
    world.edit("UPDATE runs SET reasons = '[\"not a code\"]' WHERE sealed_seq IS NOT NULL");
    let damaged = world.open().runs_recent(&RunFilter::default(), 50);
    assert!(!damaged.is_ok_and(|shown| shown.len() == IDS.len()), "control: other texts are damage");
}
