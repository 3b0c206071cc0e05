//! The secret scanner beside ripgrep and beside other scanners: how fast, how much of what
//! was planted is found, and how often something is found where nothing is.

pub(super) mod packages;
mod peers;
mod unseen;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Bench;
use super::rounds::{Candidate, CandidateTimes, in_turns};
use super::world::World;
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, run_command, target};

const ROUNDS: usize = 5;

/// detect-secrets is some thousand times slower; it gets the beginning of the log.
const SLICE: usize = 500_000;

/// Test set that the crate's example writes, with the programs to measure.
struct Set {
    world: World,
    /// ripgrep's program.
    rg: PathBuf,
    log_size: u64,
    planted: usize,
    clean_size: u64,
}

/// Findings of a scanner: one file name for each.
type Findings = Vec<String>;

/// Measures speed, recall and false alarms and returns the tables.
pub(super) fn measure_secrets(bench: &Bench) -> ChoreResult<String> {
    build_examples()?;
    let set = Set::new(bench, peers::ripgrep()?)?;
    let peers = peers::installed()?;
    let mut candidates = vec![
        Candidate::new(RIPGREP, "rg", |_| found_once(ripgrep(&set, &set.log()))),
        Candidate::new(OURS, "ours", |_| found_once(ours(&[set.log()]))),
    ];
    if let Some(kingfisher) = &peers.kingfisher {
        // Kingfisher does not take the log's one secret for one; that it works at all shows in what
        // it finds of the planted ones.
        candidates.push(Candidate::new(peers::KINGFISHER, "kingfisher", |_| {
            peers::kingfisher(kingfisher, &set.log()).map(drop)
        }));
    }
    if let Some(detect_secrets) = &peers.detect_secrets {
        let slice = set.slice()?;
        candidates.push(Candidate::new(peers::DETECT_SECRETS, "detect-secrets", move |_| {
            peers::detect_secrets(detect_secrets, &slice).map(drop)
        }));
    }
    let speed = in_turns(candidates, bench.rounds.unwrap_or(ROUNDS))?;
    Ok(format!("{}\n{}", table(&set, &speed, &judged(&set, &peers)?), class_table(&set, &peers)?))
}

/// The programs that make the set and look through files with our rules.
fn build_examples() -> ChoreResult {
    let build =
        ["build", "--quiet", "--release", "--package", "secrets", "--example", "scan", "--example", "evaluation"];
    run_command(&mut cargo(&build))
}

const RIPGREP: &str = "ripgrep, 20 patterns, one thread";
const OURS: &str = "`secrets`, all rules, every encoding, redacting";

impl Set {
    fn new(bench: &Bench, rg: PathBuf) -> ChoreResult<Set> {
        let world = World::new(&bench.place, "secrets")?;
        let folder = world.path_of("set");
        command_output(&mut program(target().join("release/examples/evaluation"), [folder.as_os_str()]))?;
        std::fs::write(world.path_of("patterns"), PATTERNS.join("\n"))
            .map_err(|error| format!("cannot write: {error}"))?;
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        let mut set = Set { world, rg, log_size: 0, planted: 0, clean_size: 0 };
        set.log_size = size(&set.log());
        set.planted = files(&set.folder("planted"))?.len();
        set.clean_size = files(&set.folder("clean"))?.iter().map(|file| size(file)).sum();
        Ok(set)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.world.path_of("set").join(name)
    }

    fn log(&self) -> PathBuf {
        self.folder("log")
    }

    fn slice(&self) -> ChoreResult<PathBuf> {
        let (log, slice) = (self.log(), self.world.path_of("slice.txt"));
        let fail = |error: std::io::Error| format!("cannot cut a slice: {error}");
        let bytes = std::fs::read(log).map_err(fail)?;
        std::fs::write(&slice, &bytes[..SLICE.min(bytes.len())]).map_err(fail)?;
        Ok(slice)
    }
}

fn files(folder: &Path) -> ChoreResult<Vec<PathBuf>> {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    std::fs::read_dir(folder).map_err(fail)?.map(|entry| entry.map(|entry| entry.path()).map_err(fail)).collect()
}

/// Ending with 0 is no proof: the log has one secret, at its very end.
fn found_once(findings: ChoreResult<Findings>) -> ChoreResult {
    match findings?.len() {
        1 => Ok(()),
        other => Err(format!("{other} findings in a log that has one; its time means nothing")),
    }
}

fn ours(files: &[PathBuf]) -> ChoreResult<Findings> {
    let told = command_output(&mut program(target().join("release/examples/scan"), files))?;
    Ok(told.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect())
}

fn ripgrep(set: &Set, path: &Path) -> ChoreResult<Findings> {
    let mut command: Command = program(&set.rg, ["-j1", "--no-heading", "--with-filename", "--null", "-o", "-f"]);
    command.arg(set.world.path_of("patterns")).arg(path);
    // The program ends with 1 if it finds nothing.
    let told = command.output().map_err(|error| format!("cannot start rg: {error}"))?;
    let lines = told.stdout.split(|byte| *byte == b'\n').filter(|line| line.contains(&0));
    let name =
        |line: &[u8]| String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    Ok(lines.map(name).collect())
}

/// A scanner's name, how many of the planted files it finds something in, and how much it
/// finds in the clean ones.
struct Judged {
    name: &'static str,
    found: usize,
    alarms: usize,
}

/// A scanner's name, and its findings in the files below a folder.
type NamedScan<'a> = (&'static str, Box<dyn Fn(&Path) -> ChoreResult<Findings> + 'a>);

fn scanners<'a>(set: &'a Set, peers: &'a peers::Peers) -> Vec<NamedScan<'a>> {
    let mut all: Vec<NamedScan<'a>> =
        vec![(RIPGREP, Box::new(|path| ripgrep(set, path))), (OURS, Box::new(|path| ours(&files(path)?)))];
    if let Some(kingfisher) = &peers.kingfisher {
        all.push((peers::KINGFISHER, Box::new(|path| peers::kingfisher(kingfisher, path))));
    }
    if let Some(detect_secrets) = &peers.detect_secrets {
        all.push((peers::DETECT_SECRETS, Box::new(|path| peers::detect_secrets(detect_secrets, path))));
    }
    all
}

fn judged(set: &Set, peers: &peers::Peers) -> ChoreResult<Vec<Judged>> {
    let (planted, clean) = (set.folder("planted"), set.folder("clean"));
    let judge = |(name, scan): NamedScan<'_>| -> ChoreResult<Judged> {
        Ok(Judged { name, found: distinct(scan(&planted)?), alarms: scan(&clean)?.len() })
    };
    scanners(set, peers).into_iter().map(judge).collect()
}

/// Number of different files among the findings.
fn distinct(mut findings: Findings) -> usize {
    findings.sort_unstable();
    findings.dedup();
    findings.len()
}

/// Table of the samples of each class of the second set in which a scanner finds something.
fn class_table(set: &Set, peers: &peers::Peers) -> ChoreResult<String> {
    let root = set.world.path_of("unseen");
    let counts = unseen::write_classes(&root)?;
    let heads = unseen::CLASSES.iter().zip(counts).map(|(class, count)| match class.holds_secrets {
        true => format!(" {}, of {count} |", class.name),
        false => format!(" {}: false alarms in {count} |", class.name),
    });
    let mut text = format!("| |{}\n| --- |{}\n", heads.collect::<String>(), " --- |".repeat(counts.len()));
    for (name, scan) in scanners(set, peers) {
        text.push_str(&format!("| {name} |"));
        for (class, count) in unseen::CLASSES.iter().zip(counts) {
            let found = distinct(scan(&root.join(class.folder))?);
            match class.holds_secrets {
                true => text.push_str(&format!(" {found} ({:.3}) |", found as f64 / count.max(1) as f64)),
                false => text.push_str(&format!(" {found} |")),
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn table(set: &Set, speed: &[CandidateTimes], judged: &[Judged]) -> String {
    let size =
        |row: &CandidateTimes| if row.name == peers::DETECT_SECRETS { SLICE as f64 } else { set.log_size as f64 };
    let rate = |row: &CandidateTimes| size(row) / 1e6 / row.p50().as_secs_f64();
    let measure = speed.first().map_or(1.0, rate);
    let mut text = format!(
        "| | MB/s | of ripgrep | found, of {} planted | false alarms in {:.0} MB |\n| --- | --- | --- | --- | --- |\n",
        set.planted,
        set.clean_size as f64 / 1e6
    );
    for (row, judged) in speed.iter().zip(judged) {
        debug_assert_eq!(row.name, judged.name);
        let (rate, share) = (rate(row), judged.found as f64 / set.planted.max(1) as f64);
        let (name, found, alarms) = (judged.name, judged.found, judged.alarms);
        text.push_str(&format!("| {name} | {rate:.2} | {:.4} | {found} ({share:.3}) | {alarms} |\n", rate / measure));
    }
    text
}

/// Shapes that people usually search their logs for.
const PATTERNS: [&str; 20] = [
    r"AKIA[0-9A-Z]{16}",
    r"ghp_[A-Za-z0-9]{36}",
    r"github_pat_[A-Za-z0-9_]{82}",
    r"glpat-[A-Za-z0-9_-]{20}",
    r"xox[baprs]-[A-Za-z0-9-]{10,}",
    r"https://hooks\.slack\.com/services/[A-Za-z0-9/]+",
    r"sk_live_[A-Za-z0-9]{24,}",
    r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    r"sk-ant-api03-[A-Za-z0-9_-]{93}AA",
    r"sk-proj-[A-Za-z0-9_-]{40,}",
    r"AIza[0-9A-Za-z_-]{35}",
    r"hf_[A-Za-z]{34}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r"dop_v1_[0-9a-f]{64}",
    r"shpat_[0-9a-f]{32}",
    r#"(?i)(password|secret|token|api_key)\s*[:=]\s*['"][^'"]{8,}['"]"#,
    r"[a-z]+://[^/\s:@]+:[^/\s:@]+@",
];
