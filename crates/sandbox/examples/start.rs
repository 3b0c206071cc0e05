//! Cost of starting `true`, and of work inside, in time and in CPU: directly, supervised, confined, confined by a stage that was started
//! ahead (as a harness does), and in bubblewrap with the same namespaces.
//!
//! `start [--rounds N] [--python EXE] [--product EXE --case DIR] [ROW...]`. The product is an executable that has the stage in it
//! as this one has, and runs cases; the python is one of a virtual environment with pytest in it. Each has rows of its own. Rows
//! take turns, so that a busy machine slows all of them alike. Prints one JSON object for each:
//! `cargo xtask bench sandbox` makes a table of them. Build with `--release` for figures that mean something.

#![expect(clippy::disallowed_methods, reason = "an example reads files of its own")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use sandbox::{
    Access, Confinement, ExecutionRules, HostMount, How, STAGE_ARG, Spec, Supervisor, SupervisorWatch, find_program,
    stage_main,
};
use serde_json::json;

/// Starts in one turn: enough CPU time to be read off a clock of 10 ms.
const BATCH: u32 = 10;
const ROUNDS: usize = 20;
/// Enough for a stage to have started.
const AHEAD: Duration = Duration::from_millis(20);
const TRUE: [&str; 1] = ["/bin/true"];
/// Many in one sandbox, so that its start hardly counts.
const STATUS: [&str; 3] =
    ["/bin/sh", "-c", "i=0; while [ $i -lt 100 ]; do git status --porcelain || exit 1; i=$((i+1)); done"];
const PYTEST: [&str; 6] = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_work.py"];
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
        return stage_main(ExecutionRules::NONE);
    }
    match measure(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// Ways to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    None,
    Strict,
    Ahead,
    Product,
    ProductAhead,
    Bwrap,
    /// A whole run of the product's, under this profile.
    Run(&'static str),
}

struct Row {
    name: &'static str,
    way: Way,
    argv: Vec<String>,
    batch: u32,
    /// Work is done on one core: what its threads cost depends on the cores they happen to share, by more than a sandbox does.
    one_core: bool,
    times: Vec<Duration>,
    cpu: Duration,
}

/// Options of the measurement, from the command line.
#[derive(Default)]
struct Asked {
    rounds: Option<usize>,
    python: Option<String>,
    product: Option<PathBuf>,
    case: Option<PathBuf>,
    rows: Vec<String>,
}

impl Asked {
    fn read(args: &[String]) -> Outcome<Self> {
        let mut asked = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--rounds" => asked.rounds = Some(value()?.parse().map_err(|_| "--rounds needs a number")?),
                "--python" => asked.python = Some(value()?.clone()),
                "--product" => asked.product = Some(value()?.into()),
                "--case" => asked.case = Some(value()?.into()),
                row => asked.rows.push(row.to_owned()),
            }
        }
        Ok(asked)
    }

    fn rows(&self) -> Vec<Row> {
        let words = |argv: &[&str]| argv.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let row = |name, way, argv, batch| Row {
            name,
            way,
            argv,
            batch,
            one_core: false,
            times: Vec::new(),
            cpu: Duration::ZERO,
        };
        let start = |name, way| row(name, way, words(&TRUE), BATCH);
        let work = |name, way, argv| Row { one_core: true, ..row(name, way, argv, 1) };
        let mut all = vec![
            start("direct", Way::Direct),
            start("bwrap", Way::Bwrap),
            start("none", Way::None),
            start("strict", Way::Strict),
            start("ahead", Way::Ahead),
            work("status outside", Way::Direct, words(&STATUS)),
            work("status inside", Way::Strict, words(&STATUS)),
            work("status bwrap", Way::Bwrap, words(&STATUS)),
        ];
        if let Some(python) = &self.python {
            let argv = || [vec![python.clone()], words(&PYTEST)].concat();
            all.extend([work("pytest outside", Way::Direct, argv()), work("pytest inside", Way::Strict, argv())]);
        }
        if self.product.is_some() {
            all.extend([start("product", Way::Product), start("product ahead", Way::ProductAhead)]);
        }
        if self.case.is_some() {
            let run = |name, profile| row(name, Way::Run(profile), Vec::new(), 1);
            all.extend([run("run none", "none"), run("run strict", "strict")]);
        }
        all.retain(|row| self.rows.is_empty() || self.rows.iter().any(|name| name == row.name));
        all
    }
}

fn measure(args: &[String]) -> Outcome {
    let asked = Asked::read(args)?;
    let rounds = asked.rounds.unwrap_or(ROUNDS);
    set_child_subreaper(Some(getpid())).map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut rows = asked.rows();
    let world = World::new(Supervisor::new(own), asked)?;
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
    asked: Asked,
    /// The home of the product, for its runs.
    home: tempfile::TempDir,
    workspace: tempfile::TempDir,
    bwrap: Option<PathBuf>,
}

impl World {
    /// A repository of a thousand files, and a test.
    fn new(supervisor: Supervisor, asked: Asked) -> Outcome<Self> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
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
        let world = Self { supervisor, asked, home, workspace, bwrap };
        world.command("/bin/sh", &["-c", git]).map(|()| world)
    }

    /// Runs it as often as a turn has it: all CPU time that took, and how long each took.
    fn batch(&self, row: &Row) -> Outcome<(Duration, Vec<Duration>)> {
        let everywhere = sched_getaffinity(None).map_err(|error| error.to_string())?;
        if row.one_core {
            stay_on(&first_of(&everywhere))?;
        }
        let before = cpu()?;
        let mut times = Vec::new();
        for _ in 0..row.batch {
            times.push(self.once(row)?);
        }
        reap_orphans();
        let took = cpu()?.saturating_sub(before);
        stay_on(&everywhere)?;
        Ok((took, times))
    }

    fn once(&self, row: &Row) -> Outcome<Duration> {
        let started = Instant::now();
        match row.way {
            Way::Direct => self.command(&row.argv[0], &words(&row.argv[1..]))?,
            Way::Bwrap => self.in_bwrap(&words(&row.argv))?,
            Way::Run(profile) => self.whole_run(profile)?,
            Way::None | Way::Strict | Way::Ahead => return self.supervised(&self.supervisor, row),
            Way::Product | Way::ProductAhead => {
                return self.supervised(&Supervisor::new(self.product()?.to_owned()), row);
            }
        }
        Ok(started.elapsed())
    }

    fn product(&self) -> Outcome<&Path> {
        self.asked.product.as_deref().ok_or_else(|| "no product was given".to_owned())
    }

    fn whole_run(&self, profile: &str) -> Outcome {
        let case = self.asked.case.as_ref().ok_or("no case was given")?.display().to_string();
        let home = self.home.path().display().to_string();
        let words = ["--home", &home, "run", &case, "--sandbox", profile, "--json"];
        self.command(&self.product()?.display().to_string(), &words)
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
        let ended =
            stage.run_program(&spec, &mut SupervisorWatch::default()).map_err(|error| format!("{error}: {error:?}"))?;
        if ended.how == (How::Exited { code: 0 }) { Ok(started.elapsed()) } else { Err(format!("{ended:?}")) }
    }

    fn spec(&self, row: &Row) -> Spec {
        let marker = ("SANDBOX_EXAMPLE".to_owned(), std::process::id().to_string());
        let mut spec = Spec::new(row.argv.clone(), self.workspace.path().to_owned(), Duration::from_secs(60), marker);
        spec.env = self.environment();
        if row.way != Way::None {
            let mut confinement = Confinement::new(self.workspace.path().to_owned());
            // The virtual environment of a python that is to be started.
            let python = self.asked.python.iter().filter(|python| row.argv.first() == Some(python));
            let environment = python.filter_map(|python| Path::new(python).ancestors().nth(2));
            confinement.mounts.extend(environment.map(|folder| HostMount {
                source: folder.to_owned(),
                target: folder.to_owned(),
                access: Access::ReadOnly,
            }));
            spec.confinement = Some(confinement);
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

fn words(argv: &[String]) -> Vec<&str> {
    argv.iter().map(String::as_str).collect()
}

/// For this thread and all that it starts.
fn stay_on(cores: &CpuSet) -> Outcome {
    sched_setaffinity(None, cores).map_err(|error| error.to_string())
}

fn first_of(cores: &CpuSet) -> CpuSet {
    let mut first = CpuSet::new();
    if let Some(core) = (0..CpuSet::MAX_CPU).find(|core| cores.is_set(*core)) {
        first.set(core);
    }
    first
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
