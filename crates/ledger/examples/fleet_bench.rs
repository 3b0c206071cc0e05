//! Loads for `cargo xtask bench fleet`, on a PostgreSQL server of its own that writes through to the disk.
//!
//! `fleet_bench rates SECONDS` prints one JSON line for each measured rate or share. `fleet_bench serve FILE...` loads each SQLite
//! ledger into a database, prints its address, and keeps the server until its input ends.

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use contract::{Digest, Purpose, RunId, Stage, Stamp};
use ledger::{ClaimAsk, Ledger, LedgerPlace, QueueLimits, QueueOrder, RunIntent, RunStarted, ServerPlace};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use testkit::{PostgresServer, SUPERUSER};

type Measured<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The role that claims, starts and renews.
const WORKER: &str = "bench_worker";
/// Connections that work at once, as in pgbench.
const CLIENTS: usize = 8;
/// Workers that are simulated, and the pause between two heartbeats of one.
const WORKERS: u32 = 1000;
const BEAT: Duration = Duration::from_secs(10);
/// The pause between two questions of an idle slot: a quarter of the default lease.
const IDLE: Duration = Duration::from_secs(15);
/// Cores that shares are of.
const CORES: f64 = 2.0;
const TICKS_PER_SECOND: f64 = 100.0;

fn main() -> Measured {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let settings = ["fsync=on", "full_page_writes=on", "max_wal_size=4GB"].map(str::to_owned);
    let server = PostgresServer::start_with("fleet_bench", &settings, |_| {}).ok_or("PostgreSQL is not installed")?;
    match words.as_slice() {
        ["rates", seconds] => print_rates(&server, Duration::from_secs(seconds.parse()?)),
        ["serve", files @ ..] => serve_loaded(&server, files),
        _ => Err("usage: fleet_bench rates SECONDS, or fleet_bench serve FILE...".into()),
    }
}

fn print_rates(server: &PostgresServer, lasting: Duration) -> Measured {
    print_row("pgbench", "rate", run_pgbench(server, lasting)?)?;
    let bare = run_bare_loop(server, lasting)?;
    print_row("bare", "rate", bare)?;
    let database = server.make_database();
    let owner = server.url(SUPERUSER, &database);
    let ledger = open_ledger(&owner)?;
    // Every check of a worker's role is part of what is measured.
    server.run_sql(&database, &format!("CREATE ROLE {WORKER} LOGIN IN ROLE cto_worker"))?;
    let url = server.url(WORKER, &database);
    let ours = claim_and_start(&ledger, &url, lasting)?;
    print_row("ours", "rate", ours)?;
    print_row("ours to bare", "ratio", ours / bare)?;
    let beats = f64::from(WORKERS) / BEAT.as_secs_f64();
    let started = start_leased(&ledger, &owner, &url)?;
    let share = share_while_paced(
        server,
        lasting,
        beats,
        &|turn, ledger| {
            let (run, epoch) = &started[turn as usize % started.len()];
            ledger.lease_kept(run, *epoch, BEAT * 6, some_time()?).map(drop).map_err(Into::into)
        },
        &url,
    )?;
    print_row("heartbeats", "share", share)?;
    let looks = f64::from(WORKERS) / IDLE.as_secs_f64();
    let share = share_while_paced(
        server,
        lasting,
        looks,
        &|_, ledger| {
            ledger.queue_claimed(&ask_as(9)?)?;
            ledger.queue_pause(IDLE).map(drop).map_err(Into::into)
        },
        &url,
    )?;
    print_row("idle workers", "share", share)
}

fn print_row(name: &str, kind: &str, value: f64) -> Measured {
    let mut out = io::stdout();
    writeln!(out, "{}", json!({"kind": kind, "name": name, "value": value}))?;
    Ok(out.flush()?)
}

/// PostgreSQL's own simple update, with as many clients.
fn run_pgbench(server: &PostgresServer, lasting: Duration) -> Measured<f64> {
    let database = server.make_database();
    let port = server.port().to_string();
    let run = |words: &[&str]| -> Measured<String> {
        #[expect(clippy::disallowed_methods, reason = "PostgreSQL's own benchmark program")]
        let mut command = Command::new("pgbench");
        command.args(["-h", "127.0.0.1", "-p", &port, "-U", SUPERUSER]).args(words).arg(&database);
        let done =
            command.stdin(Stdio::null()).output().map_err(|error| format!("pgbench cannot be started: {error}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    run(&["-i", "-q", "-s", "10"])?;
    let (clients, seconds) = (CLIENTS.to_string(), lasting.as_secs().max(1).to_string());
    let said = run(&["-N", "-c", &clients, "-j", "2", "-T", &seconds])?;
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| format!("pgbench did not say how fast it was: {said}").into())
}

/// Rounds a second of several threads, each with something of its own.
fn count_rounds<T>(
    lasting: Duration,
    begin: &(dyn Fn(usize) -> Measured<T> + Sync),
    round: &(dyn Fn(&mut T) -> Measured<bool> + Sync),
) -> Measured<f64> {
    let done = AtomicU64::new(0);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let work = |number: usize| {
            let done = &done;
            move || -> Measured {
                let mut own = begin(number)?;
                while begun.elapsed() < lasting {
                    if !round(&mut own)? {
                        return Err("there was nothing left to take".into());
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
        };
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(work(number))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a client ended early")?)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a count of rounds")]
    Ok(done.into_inner() as f64 / begun.elapsed().as_secs_f64())
}

/// A table, `SKIP LOCKED` and two commits: one that takes a row, and one that marks it as begun and notes that.
fn run_bare_loop(server: &PostgresServer, lasting: Duration) -> Measured<f64> {
    let url = server.url(SUPERUSER, &server.make_database());
    let mut client = Client::connect(&url, NoTls)?;
    client.batch_execute(
        "CREATE TABLE jobs (id BIGINT PRIMARY KEY, state TEXT NOT NULL); \
         CREATE INDEX waiting ON jobs (id) WHERE state = 'queued'; CREATE TABLE log (id BIGSERIAL PRIMARY KEY, job BIGINT); \
         INSERT INTO jobs SELECT n, 'queued' FROM generate_series(1, 200000) n; ANALYZE jobs",
    )?;
    let begin = |_| {
        let mut client = Client::connect(&url, NoTls)?;
        let take = client.prepare(
            "UPDATE jobs SET state = 'claimed' WHERE id = (SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1 \
             FOR UPDATE SKIP LOCKED) RETURNING id",
        )?;
        let mark = client.prepare("UPDATE jobs SET state = 'started' WHERE id = $1 AND state = 'claimed'")?;
        let note = client.prepare("INSERT INTO log (job) VALUES ($1)")?;
        Ok((client, take, mark, note))
    };
    count_rounds(lasting, &begin, &|(client, take, mark, note)| {
        let Some(row) = client.query_opt(take, &[])? else { return Ok(false) };
        let id: i64 = row.get(0);
        let mut start = client.transaction()?;
        start.execute(mark, &[&id])?;
        start.execute(note, &[&id])?;
        start.commit()?;
        Ok(true)
    })
}

/// A time that no server goes by.
fn some_time() -> Measured<Stamp> {
    Ok("2020-01-01T00:00:00.000000Z".parse()?)
}

fn open_ledger(url: &str) -> Measured<Ledger> {
    let place = ServerPlace { address: url.parse()?, password: None, authorities: None };
    Ok(Ledger::open_place(&LedgerPlace::Server(Box::new(place)), &|_| {})?)
}

fn run_id(number: u32) -> Measured<RunId> {
    Ok(RunId::try_from(format!("20200101T000000Z-made-up-{number:06x}"))?)
}

/// Puts made-up runs into the queue, with the numbers of a range.
fn submit_runs(ledger: &Ledger, numbers: std::ops::Range<u32>) -> Measured {
    for number in numbers {
        let order = QueueOrder {
            run_id: run_id(number)?,
            task_id: "made-up".to_owned().try_into()?,
            engine: "fake".to_owned(),
            stage: Stage::ARTIFICIAL_FIXTURE,
            contract_sha256: Digest::of_bytes(b""),
            workspace: String::new(),
            target_key: None,
            priority: 0,
            after: None,
            not_before: None,
            labels: Vec::new(),
            retry: None,
            retry_of: None,
            attempt: 0,
            detail: Value::Null,
        };
        ledger.queue_submitted(&order, ledger.store_time(some_time()?)?)?;
    }
    Ok(())
}

fn ask_as(number: usize) -> Measured<ClaimAsk> {
    Ok(ClaimAsk {
        owner: Digest::of_bytes(&number.to_le_bytes()),
        engines: None,
        labels: Vec::new(),
        limits: QueueLimits::default(),
        lease: Duration::from_secs(600),
        now: some_time()?,
    })
}

/// The detail of a start as a run has it: its contract, which the server reads through for a worker.
fn made_up_detail() -> Value {
    let actions = ["push", "merge", "deploy", "close", "pr_open", "issue_close", "public_publication"];
    json!({
        "boot_id": "00000000-0000-4000-8000-000000000000", "pid": 4711, "process_space": "pid:[4026531836]", "sandbox": "strict",
        "contract": {
            "allowed_paths": ["greet.sh", "src/**/*.py"], "brief": "greet.sh greets nobody when it is called without a name. ".repeat(8),
            "forbidden_actions": actions, "forbidden_paths": [".github/", "ci/"], "mutation_mode": "copied-fixture",
            "risk_class": "low", "schema_version": "1", "source_classification": "owned_local", "source_owner": "your name",
            "task_id": "made-up", "title": "add a usage line",
            "verification_commands": [
                {"argv": ["sh", "test.sh"], "timeout_seconds": 30}, {"argv": ["python3", "-m", "pytest", "-q"], "timeout_seconds": 300},
            ],
        },
    })
}

/// Claims a run and starts it; the run and its epoch, or none where none waits.
fn start_next(ledger: &Ledger, ask: &ClaimAsk) -> Measured<Option<(RunId, u64)>> {
    let Some(run) = ledger.queue_claimed(ask)? else { return Ok(None) };
    let time = ledger.store_time(some_time()?)?;
    let intent = RunIntent {
        task_id: run.task_id.clone(),
        engine: run.engine.clone(),
        stage: run.stage,
        purpose: Purpose::Governed,
        owner: Some(ask.owner),
        epoch: Some(run.epoch),
        detail: made_up_detail(),
    };
    let lease_until = Some(time.after(ask.lease));
    ledger.run_started(&RunStarted { run_id: run.run_id.clone(), time, lease_until, intent })?;
    Ok(Some((run.run_id, run.epoch)))
}

/// Claims and starts a second. There are as many runs as the fastest server could take.
fn claim_and_start(ledger: &Ledger, url: &str, lasting: Duration) -> Measured<f64> {
    let most = u32::try_from(lasting.as_secs().max(1))?.saturating_mul(1500);
    submit_runs(ledger, 0..most)?;
    let begin = |number| Ok((open_ledger(url)?, ask_as(number)?));
    count_rounds(lasting, &begin, &|(ledger, ask)| Ok(start_next(ledger, ask)?.is_some()))
}

/// Started runs with a lease, one for each worker.
fn start_leased(ledger: &Ledger, owner: &str, url: &str) -> Measured<Vec<(RunId, u64)>> {
    Client::connect(owner, NoTls)?
        .batch_execute("UPDATE cto.queue SET state = 'cancelled' WHERE state IN ('queued', 'claimed')")?;
    submit_runs(ledger, 10_000_000..10_000_000 + WORKERS)?;
    let (worker, ask) = (open_ledger(url)?, ask_as(0)?);
    let mut started = Vec::new();
    while let Some(run) = start_next(&worker, &ask)? {
        started.push(run);
    }
    Ok(started)
}

/// Share of two cores that the server takes while something happens so many times a second.
fn share_while_paced(
    server: &PostgresServer,
    lasting: Duration,
    per_second: f64,
    act: &(dyn Fn(u64, &Ledger) -> Measured + Sync),
    url: &str,
) -> Measured<f64> {
    let ledgers = (0..CLIENTS).map(|_| open_ledger(url)).collect::<Measured<Vec<_>>>()?;
    let turns = AtomicU64::new(0);
    let (begun, before) = (Instant::now(), server_ticks(server)?);
    std::thread::scope(|scope| {
        let work = |ledger: Ledger| {
            let turns = &turns;
            move || -> Measured {
                while begun.elapsed() < lasting {
                    let turn = turns.fetch_add(1, Ordering::Relaxed);
                    #[expect(clippy::cast_precision_loss, reason = "a count of turns")]
                    let due = Duration::from_secs_f64(turn as f64 / per_second);
                    std::thread::sleep(due.saturating_sub(begun.elapsed()));
                    act(turn, &ledger)?;
                }
                Ok(())
            }
        };
        let threads: Vec<_> = ledgers.into_iter().map(|ledger| scope.spawn(work(ledger))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a client ended early")?)
    })?;
    let (spent, took) = (server_ticks(server)? - before, begun.elapsed().as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a count of turns")]
    let asked = turns.into_inner() as f64 / took;
    if asked < per_second * 0.9 {
        return Err(format!("only {asked:.0} of {per_second:.0} a second were answered").into());
    }
    Ok(spent / TICKS_PER_SECOND / took / CORES)
}

/// Processor time of the server and of all its processes, those that have ended included.
#[expect(clippy::disallowed_methods, reason = "the kernel's account of processes, and no file of a home")]
fn server_ticks(server: &PostgresServer) -> Measured<f64> {
    let first = server.first_process().ok_or("the server has no process")?;
    let mut ticks = 0.0;
    for folder in std::fs::read_dir("/proc")?.flatten() {
        let Ok(text) = std::fs::read_to_string(folder.path().join("stat")) else { continue };
        let Some((_, rest)) = text.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        let pid: u32 = folder.file_name().to_string_lossy().parse().unwrap_or(0);
        if pid == first {
            ticks += number(11) + number(12) + number(13) + number(14);
        } else if fields.get(1).and_then(|parent| parent.parse().ok()) == Some(first) {
            ticks += number(11) + number(12);
        }
    }
    Ok(ticks)
}

fn serve_loaded(server: &PostgresServer, files: &[&str]) -> Measured {
    for file in files {
        let url = server.url(SUPERUSER, &server.make_database());
        drop(open_ledger(&url)?);
        load_entries(Path::new(file), &url)?;
        println!("{url}");
    }
    println!("ready");
    io::stdout().flush()?;
    // The server ends with this process.
    io::stdin().read_to_end(&mut Vec::new()).map(drop)?;
    Ok(())
}

/// Copies the entries of a file, with their chain, and makes their rows.
fn load_entries(file: &Path, url: &str) -> Measured {
    let source = rusqlite::Connection::open(file)?;
    let id: String = source.query_row("SELECT value FROM meta WHERE key = 'ledger_id'", [], |row| row.get(0))?;
    let mut client = Client::connect(url, NoTls)?;
    client.execute("SELECT cto.adopt_ledger($1)", &[&id])?;
    let mut copied = client.copy_in("COPY cto.entries (seq, time, kind, run_id, body, prev, hash) FROM STDIN")?;
    let mut read = source.prepare("SELECT seq, time, kind, run_id, body, prev, hash FROM entries ORDER BY seq")?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let mut line = row.get::<_, i64>(0)?.to_string();
        for column in 1..7 {
            let value: Option<String> = row.get(column)?;
            line.push('\t');
            line.push_str(&value.map_or_else(|| "\\N".to_owned(), |text| escape_copied(&text)));
        }
        line.push('\n');
        copied.write_all(line.as_bytes())?;
    }
    copied.finish()?;
    client.batch_execute("SELECT cto.project_again(); ANALYZE")?;
    Ok(())
}

fn escape_copied(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}
