//! What starting `true` costs, and what working inside costs, in time and in CPU: directly, supervised, confined, confined by a
//! stage that was started ahead (as a harness does), and in bubblewrap with the same namespaces.
//!
//! `start [--rounds N] [--product EXE] [ROW...]`, where the product is an executable that has the stage in it as this one has,
//! for rows of its own. Rows take turns, so that a busy machine slows all of them alike. Prints one JSON object for each:
//! `cargo xtask bench sandbox` makes a table of them. Build with `--release` for figures that mean something.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use sandbox::{Confinement, How, STAGE_ARG, Spec, Supervisor, Watch, find_program, stage_main};
use serde_json::json;

/// Starts in one turn: enough CPU time to be read off a clock of 10 ms.
const BATCH: u32 = 10;
const ROUNDS: usize = 20;
/// Enough for a stage to have started.
const AHEAD: Duration = Duration::from_millis(20);
const TRUE: [&str; 1] = ["/bin/true"];
/// Many in one sandbox, so that its start hardly counts.
const STATUS: [&str; 3] =
    ["/bin/sh", "-c", "i=0; while [ $i -lt 30 ]; do git status --porcelain || exit 1; i=$((i+1)); done"];
const UNITTEST: [&str; 5] = ["/usr/bin/python3", "-m", "unittest", "-q", "test_work"];
const TEST: &str = "\
import json, os, subprocess, tempfile, unittest
class Work(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for n in range(300):
                with open(os.path.join(folder, str(n)), 'w') as file: json.dump(list(range(n)), file)
            self.assertEqual(len(os.listdir(folder)), 300)
    def test_words(self):
        self.assertEqual(len({json.dumps([n, str(n)]) for n in range(60000)}), 60000)
    def test_programs(self):
        for n in range(10): subprocess.run(['true'], check=True)
";
const BWRAP: &str = "--unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
                     --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --tmpfs /home --dir /etc --bind";

type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == STAGE_ARG) {
        return stage_main();
    }
    match measure(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// How something is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    None,
    Strict,
    Ahead,
    Product,
    ProductAhead,
    Bwrap,
}

struct Row {
    name: &'static str,
    way: Way,
    argv: &'static [&'static str],
    batch: u32,
    times: Vec<Duration>,
    cpu: Duration,
}

fn rows(wanted: &[String], product: bool) -> Vec<Row> {
    let row = |name, way, argv: &'static [&'static str], batch| Row {
        name,
        way,
        argv,
        batch,
        times: Vec::new(),
        cpu: Duration::ZERO,
    };
    let all = [
        row("direct", Way::Direct, &TRUE, BATCH),
        row("bwrap", Way::Bwrap, &TRUE, BATCH),
        row("none", Way::None, &TRUE, BATCH),
        row("strict", Way::Strict, &TRUE, BATCH),
        row("ahead", Way::Ahead, &TRUE, BATCH),
        row("product", Way::Product, &TRUE, BATCH),
        row("product ahead", Way::ProductAhead, &TRUE, BATCH),
        row("status outside", Way::Direct, &STATUS, 1),
        row("status inside", Way::Strict, &STATUS, 1),
        row("unittest outside", Way::Direct, &UNITTEST, 1),
        row("unittest inside", Way::Strict, &UNITTEST, 1),
    ];
    let of_product = |row: &Row| matches!(row.way, Way::Product | Way::ProductAhead);
    let is_wanted = |row: &Row| wanted.is_empty() || wanted.iter().any(|name| name == row.name);
    all.into_iter().filter(|row| is_wanted(row) && (product || !of_product(row))).collect()
}

fn measure(args: &[String]) -> Outcome {
    let (mut rounds, mut product, mut wanted) = (ROUNDS, None, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rounds" => rounds = args.next().and_then(|text| text.parse().ok()).ok_or("--rounds needs a number")?,
            "--product" => product = args.next().map(|exe| Supervisor::new(PathBuf::from(exe))),
            row => wanted.push(row.to_owned()),
        }
    }
    set_child_subreaper(Some(getpid())).map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut rows = rows(&wanted, product.is_some());
    let world = World::new(Supervisor::new(own), product)?;
    let count = rows.len();
    // The first round warms up.
    for round in 0..=rounds {
        for turn in 0..count {
            let row = &mut rows[(round + turn) % count];
            let (cpu, times) = world.batch(row).map_err(|text| format!("{}: {text}", row.name))?;
            if round > 0 {
                row.times.extend(times);
                row.cpu += cpu;
            }
        }
    }
    rows.iter_mut().for_each(report);
    Ok(())
}

fn report(row: &mut Row) {
    row.times.sort_unstable();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let count = row.times.len();
    let at = |part: usize| row.times.get(count * part / 100).copied().map_or(0, micros);
    let cpu = micros(row.cpu) / u64::try_from(count.max(1)).unwrap_or(1);
    println!("{}", json!({"row": row.name, "min_us": at(0), "p50_us": at(50), "p90_us": at(90), "cpu_us": cpu}));
}

struct World {
    supervisor: Supervisor,
    product: Option<Supervisor>,
    workspace: tempfile::TempDir,
    bwrap: Option<PathBuf>,
}

impl World {
    /// A repository of a thousand files, and a test.
    fn new(supervisor: Supervisor, product: Option<Supervisor>) -> Outcome<Self> {
        let workspace = tempfile::tempdir().map_err(|error| error.to_string())?;
        for folder in 0..20 {
            let folder = workspace.path().join(format!("folder-{folder}"));
            let made = fs::create_dir(&folder)
                .and_then(|()| (0..50).try_for_each(|file| fs::write(folder.join(file.to_string()), "text\n")));
            made.map_err(|error| error.to_string())?;
        }
        fs::write(workspace.path().join("test_work.py"), TEST).map_err(|error| error.to_string())?;
        let git = "git init -q . && git add . && git -c user.name=n -c user.email=e commit -qm one && git status";
        let bwrap = find_program("bwrap", &["/usr/bin".into(), "/usr/local/bin".into()], Path::new("/"));
        let world = Self { supervisor, product, workspace, bwrap };
        world.command("/bin/sh", &["-c", git]).map(|()| world)
    }

    /// Runs it as often as a turn has it: all CPU time that took, and how long each took.
    fn batch(&self, row: &Row) -> Outcome<(Duration, Vec<Duration>)> {
        let before = cpu()?;
        let mut times = Vec::new();
        for _ in 0..row.batch {
            times.push(self.once(row)?);
        }
        reap_orphans();
        Ok((cpu()?.saturating_sub(before), times))
    }

    fn once(&self, row: &Row) -> Outcome<Duration> {
        let started = Instant::now();
        match row.way {
            Way::Direct => self.command(row.argv[0], &row.argv[1..])?,
            Way::Bwrap => self.in_bwrap(row.argv)?,
            Way::None | Way::Strict | Way::Ahead => return self.supervised(&self.supervisor, row),
            Way::Product | Way::ProductAhead => {
                return self.supervised(self.product.as_ref().ok_or("no product was given")?, row);
            }
        }
        Ok(started.elapsed())
    }

    fn supervised(&self, supervisor: &Supervisor, row: &Row) -> Outcome<Duration> {
        let spec = self.spec(row);
        let mut started = Instant::now();
        let ahead = matches!(row.way, Way::Ahead | Way::ProductAhead);
        let stage = if ahead { supervisor.prepare_confined() } else { supervisor.prepare() };
        let stage = stage.map_err(|error| error.to_string())?;
        if ahead {
            std::thread::sleep(AHEAD);
            started = Instant::now();
        }
        let ended = stage.run(&spec, &mut Watch::default()).map_err(|error| format!("{error}: {error:?}"))?;
        if ended.how == (How::Exited { code: 0 }) { Ok(started.elapsed()) } else { Err(format!("{ended:?}")) }
    }

    fn spec(&self, row: &Row) -> Spec {
        let marker = ("SANDBOX_EXAMPLE".to_owned(), std::process::id().to_string());
        let argv = row.argv.iter().map(|arg| (*arg).to_owned()).collect();
        let mut spec = Spec::new(argv, self.workspace.path().to_owned(), Duration::from_secs(60), marker);
        spec.env = self.environment();
        if row.way != Way::None {
            spec.confinement = Some(Confinement::new(self.workspace.path().to_owned()));
        }
        spec
    }

    fn in_bwrap(&self, argv: &[&str]) -> Outcome {
        let bwrap = self.bwrap.as_ref().ok_or("bubblewrap is not installed")?;
        let workspace = self.workspace.path().display().to_string();
        let mut args: Vec<&str> = BWRAP.split_whitespace().collect();
        args.extend([workspace.as_str(), workspace.as_str()]);
        args.extend(argv);
        self.command(&bwrap.display().to_string(), &args)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let workspace = self.workspace.path().display().to_string();
        let variables = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", sandbox::HOME_DEFAULT),
            // The same file system inside and outside.
            ("TMPDIR", &workspace),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    #[expect(clippy::disallowed_methods, reason = "what is compared with the door")]
    fn command(&self, program: &str, args: &[&str]) -> Outcome {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(self.environment()).current_dir(self.workspace.path());
        let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(format!("{program}: {output:?}")) }
    }
}

/// Waits for what others have left behind: what nobody waits for is in nobody's account.
fn reap_orphans() {
    while wait(WaitOptions::empty()).is_ok() {}
}

/// CPU time of this process and of all it has waited for, in steps of 10 ms.
fn cpu() -> Outcome<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    if ticks.len() == 4 { Ok(Duration::from_millis(10 * ticks.iter().sum::<u64>())) } else { Err(stat) }
}
