//! A project in a temporary folder, a command in it, and the one way each runner is put to the test.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testimony::compare::{Terms, Weakness, compare};
use testimony::control::{ControlInputs, control_tests, unseen};
use testimony::results::{Runner, RunnerOutput, TestOutcome, TestResults, asking, read, report_files};

/// Looks like nothing else in any output.
const NAME: &str = "qvzwkxjqpf";

pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

/// Ways to start commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    /// Folders with programs, before those of the system.
    pub(crate) path: Vec<PathBuf>,
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Setting {
    /// The folder of this program comes first.
    pub(crate) fn with(program: &Path) -> Self {
        Self { path: program.parent().map(Path::to_path_buf).into_iter().collect(), variables: Vec::new() }
    }
}

#[derive(Debug)]
pub(crate) struct Project {
    dir: TempDir,
    setting: Setting,
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    pub(crate) tests: Option<TestResults>,
    pub(crate) output: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn tests(&self) -> &TestResults {
        self.tests.as_ref().unwrap_or_else(|| panic!("nothing was recognised in: {}", self.output))
    }

    /// Each test behind `+` passed, `-` failed or `.` skipped.
    #[track_caller]
    pub(crate) fn named(&self) -> Vec<String> {
        let sign = |outcome: &TestOutcome| match outcome {
            TestOutcome::Passed => '+',
            TestOutcome::Failed => '-',
            TestOutcome::Skipped => '.',
        };
        self.tests().tests.iter().map(|(name, outcome)| format!("{} {name}", sign(outcome))).collect()
    }

    #[track_caller]
    pub(crate) fn numbers(&self) -> [u64; 3] {
        let counts = self.tests().counts;
        [counts.executed, counts.failed, counts.skipped]
    }
}

impl Project {
    pub(crate) fn new(setting: &Setting, files: Files<'_>) -> Self {
        let dir = tempfile::Builder::new().prefix("testimony-").tempdir().expect("a temporary directory");
        let project = Self { dir, setting: setting.clone() };
        fs::create_dir(project.dir.path().join("tree")).expect("a folder");
        files.iter().for_each(|(path, content)| project.write(path, content.as_bytes()));
        project
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    /// Runs a command as the harness does: argv as it is, asked to name its tests by the environment alone.
    pub(crate) fn run(&self, argv: &[&str], cwd: &str) -> Ran {
        let reports = tempfile::tempdir_in(self.dir.path()).expect("a folder for reports");
        let mut command = testkit::program(argv[0], &self.root().join(cwd));
        let path = self.setting.path.iter().map(|folder| folder.to_string_lossy().into_owned());
        let path: Vec<String> = path.chain(["/usr/local/bin:/usr/bin:/bin".to_owned()]).collect();
        command.env("PATH", path.join(":")).env("HOME", self.dir.path()).args(&argv[1..]);
        command.envs(asking(reports.path())).envs(self.setting.variables.iter().cloned());
        let output = command.output().expect("the command starts");
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let mut files = Vec::new();
        for entry in fs::read_dir(reports.path()).expect("the folder for reports").flatten() {
            files.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a report")));
        }
        for name in report_files(&argv) {
            if let Ok(bytes) = fs::read(self.root().join(cwd).join(&name)) {
                files.push((name, bytes));
            }
        }
        let heard = RunnerOutput { argv: &argv, stdout: &output.stdout, stderr: &output.stderr, files: &files };
        let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        Ran { exit: output.status.code(), tests: read(&heard), output: said.chars().take(8000).collect() }
    }

    fn paths(&self) -> Vec<String> {
        fn gather(root: &Path, folder: &Path, paths: &mut Vec<String>) {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                match entry.path() {
                    path if path.ends_with("target") || path.ends_with("__pycache__") => {}
                    path if path.is_dir() => gather(root, &path, paths),
                    path => paths.extend(path.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned)),
                }
            }
        }
        let mut paths = Vec::new();
        gather(&self.root(), &self.root(), &mut paths);
        paths
    }

    /// Adds a failing test where the command ran others: the same command must then fail, name it, and still run the others.
    #[track_caller]
    pub(crate) fn control(&self, argv: &[&str], cwd: &str) {
        let exam = self.run(argv, cwd);
        assert_eq!(exam.exit, Some(0), "{}", exam.output);
        let words: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let paths = self.paths();
        let read = |path: &str| fs::read(self.root().join(path)).ok();
        let inputs = ControlInputs { argv: &words, cwd, paths: &paths, read: &read };
        let controls = control_tests(exam.tests(), &inputs, NAME);
        let control = controls.first().unwrap_or_else(|| panic!("no control: {argv:?} {exam:#?}"));
        let before = fs::read(self.root().join(&control.path)).ok();
        self.write(&control.path, &control.content);
        let ran = self.run(argv, cwd);
        assert_ne!(ran.exit, Some(0), "{argv:?} {}\n{}", control.path, ran.output);
        let first = std::slice::from_ref(control);
        assert!(unseen(first, Some(ran.tests())).is_empty(), "{argv:?} {}\n{}", control.path, ran.output);
        assert!(!unseen(first, Some(exam.tests())).is_empty(), "{argv:?}");
        // Cargo stops at the first binary that fails, unless it is told not to.
        if !argv.join(" ").contains("cargo") || argv.contains(&"--no-fail-fast") {
            assert_eq!(weaker(&exam, &ran, false), "", "{argv:?} {}\n{}", control.path, ran.output);
        }
        match before {
            Some(before) => self.write(&control.path, &before),
            None => fs::remove_file(self.root().join(&control.path)).expect("the control"),
        }
    }
}

/// In which ways the second is less than the first, with or without the parameters of tests.
pub(crate) fn weaker(baseline: &Ran, result: &Ran, relaxed: bool) -> String {
    let terms = Terms { may_go: &[], is_relaxed: &|_| relaxed, known_runner: false };
    let compared = compare(baseline.tests.as_ref(), result.tests.as_ref(), &terms);
    let each = compared.weaknesses.iter().map(|weakness| match weakness {
        Weakness::NoneExecuted => "none".to_owned(),
        Weakness::Missing(tests) => format!("missing {}", tests.join(" ")),
        Weakness::NewlySkipped(tests) => format!("skipped {}", tests.join(" ")),
        Weakness::FewerExecuted { baseline, result } => format!("{baseline} to {result}"),
        Weakness::NothingRan(places) => format!("nothing ran in {}", places.join(" ")),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A change of one file and what is weaker after it, compared exactly and by function.
pub(crate) struct Change<'a> {
    pub(crate) path: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) exact: &'a str,
    pub(crate) by_function: &'a str,
}

/// One runner on one project.
pub(crate) struct Trial<'a> {
    pub(crate) setting: Setting,
    pub(crate) runner: Runner,
    pub(crate) argv: &'a [&'a str],
    pub(crate) files: Files<'a>,
    pub(crate) named: &'a [&'a str],
    pub(crate) numbers: [u64; 3],
    pub(crate) changes: &'a [Change<'a>],
}

impl Trial<'_> {
    /// Names, numbers, each change, and a control.
    #[track_caller]
    pub(crate) fn hold(&self) {
        let project = Project::new(&self.setting, self.files);
        let baseline = project.run(self.argv, "");
        assert_eq!(baseline.tests().runner, self.runner);
        assert_eq!(baseline.named(), self.named, "{}", baseline.output);
        assert_eq!(baseline.numbers(), self.numbers, "{}", baseline.output);
        project.control(self.argv, "");
        for change in self.changes {
            let (_, content) = self.files.iter().find(|(path, _)| *path == change.path).expect("the file to change");
            assert!(content.contains(change.from), "{} is not in {}", change.from, change.path);
            project.write(change.path, content.replace(change.from, change.to).as_bytes());
            let result = project.run(self.argv, "");
            let found = [false, true].map(|relaxed| weaker(&baseline, &result, relaxed));
            assert_eq!(found, [change.exact, change.by_function], "{} {}", change.to, result.output);
            project.write(change.path, content.as_bytes());
        }
    }
}
