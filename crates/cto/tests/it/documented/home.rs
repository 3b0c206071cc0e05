//! The state that the documentation assumes: a workspace, three runs, two repositories, contracts, keys and an archive.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use testkit::{World, git};

use crate::world;

const KNOWN_RUNS: [&str; 3] = ["b9tc", "k7q2", "m4xd"];
const KNOWN_REQUESTS: [&str; 2] = ["req-143", "req-1"];

/// A case that the fake engine solves by writing one file.
const CASE: &str = "r1-string-slugify";

pub(super) struct DocumentedHome {
    world: World,
    runs: Vec<String>,
    request: String,
    kept: PathBuf,
    summary: Vec<u8>,
}

impl DocumentedHome {
    pub(super) fn new() -> Self {
        let world = world();
        fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
        let _ = world.cto(["init", "."]).expect(0);
        let runs = ["shell-script-rotate-logs", CASE, CASE].map(|case| world.run(case, 0).0["run_id"].clone());
        let runs = runs.iter().map(|run| run.as_str().unwrap().to_owned()).rev().collect();
        let asked = world.cto(["request", CASE, "--stage", "4"]).expect(0).text();
        let request = asked.lines().find_map(|line| line.strip_prefix("requested ")).unwrap().trim().to_owned();
        let kept = world.path().join("kept-workspace");
        copy_folder(&world.here(), &kept);
        let summary = world.cto(["summary", "--json"]).stdout;
        let home = Self { world, runs, request, kept, summary };
        let _ = home.world.cto(["export", &home.runs[0], "-o", home.archive().to_str().unwrap()]).expect(0);
        home.make_places();
        home
    }

    /// Repositories, keys and programs that stay from page to page.
    fn make_places(&self) {
        let user = self.world.user();
        for folder in ["src", "work/shop", ".ssh", ".local/bin", ".local/share/bash-completion/completions"] {
            fs::create_dir_all(user.join(folder)).unwrap();
        }
        for name in ["site", "site-tools", "core"] {
            lay_repository(&user.join("src").join(name));
        }
        fs::create_dir_all(user.join("webui-extensions")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cto"), user.join(".local/bin/cto")).unwrap();
        let mail = user.join(".local/bin/mail");
        fs::write(&mail, "#!/bin/sh\nexec cat >/dev/null\n").unwrap();
        fs::set_permissions(&mail, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["id_ed25519", "id_other"] {
            let file = user.join(".ssh").join(name);
            let status = testkit::program("ssh-keygen", &user)
                .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
                .arg(&file)
                .status();
            assert!(status.unwrap().success());
        }
        let _ = self.world.cto(["init", user.join("work/shop").to_str().unwrap()]);
    }

    /// Lays the working folder out anew. What the page makes itself is not there yet.
    pub(super) fn lay_out(&self, page: &str) {
        let here = self.world.here();
        for entry in fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path()) {
            let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
            removed.unwrap_or_else(|error| panic!("{}: {error}", entry.display()));
        }
        copy_folder(&self.kept, &here);
        for name in ["my-case", "fix-slug", "cases/my-case", "cases/greet", "usage-line"] {
            // A page shows the name of this one.
            let own_name = [("task_id", name)];
            let case = self.world.case("new", if name == "usage-line" { &own_name } else { &[] });
            fs::create_dir_all(here.join(name).parent().unwrap()).unwrap();
            fs::rename(case, here.join(name)).unwrap();
        }
        if page.contains("$ mkdir -p usage-line/files") {
            fs::remove_dir_all(here.join("usage-line")).unwrap();
            lay_written_case(&here.join("usage-line"), page);
        }
        if !page.contains("$ mkdir site") {
            lay_repository(&here.join("site"));
        }
        self.lay_files(&here);
        let needs = |word: &str, maker: &str| page.contains(word) && !page.contains(maker);
        if needs("unpack team.cto-pack", "cto pack") {
            let _ = self.world.cto(["pack", "-o", "team.cto-pack.tar.zst"]).expect(0);
        }
        if needs("cto record", "cto admit") {
            let site = self.world.user().join("src/site");
            let _ = self.world.cto(["admit", "target", site.to_str().unwrap()]).expect(0);
        }
    }

    fn lay_files(&self, here: &Path) {
        let bundle = self.world.bundles().join(&self.runs[0]);
        copy_folder(&bundle, &here.join("bundle"));
        let key = fs::read(self.world.home().join("keys/harness.pub")).unwrap();
        for name in ["harness.pub", "alice.pub", "alice-harness.pub"] {
            fs::write(here.join(name), &key).unwrap();
        }
        let task = "schema_version: \"1\"\ntask_id: greet\nrisk_class: low\nbrief: The greeting names nobody. Make it name the world.\nallowed_paths: [greet.txt]\nverification_commands: [[grep, -q, world, greet.txt]]\n";
        for name in ["task.yaml", "stricter.yaml"] {
            fs::write(here.join(name), task).unwrap();
        }
        fs::create_dir_all(here.join("src/parse")).unwrap();
        fs::write(here.join("src/parse/empty.py"), "").unwrap();
        fs::write(here.join("webui-summary.json"), &self.summary).unwrap();
        fs::write(here.join("issue-42.md"), "# It crashes\n\nparse() crashes on an empty file.\n").unwrap();
        for name in ["run", "b9tc"] {
            fs::copy(self.archive(), here.join(format!("{name}.cto.tar.zst"))).unwrap();
        }
        let verifier = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
        fs::copy(verifier, here.join("verify.py")).unwrap();
    }

    /// An archive of the newest run.
    fn archive(&self) -> PathBuf {
        self.world.path().join("kept.cto.tar.zst")
    }

    /// Types one line, with the names of this home in the place of those on the page.
    pub(super) fn type_line(&self, line: &str) -> Output {
        let line = self.fill(line);
        let mut command = self.world.command([""; 0]);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.world.user().join(".local/bin").display());
        let mut shell = testkit::program("bash", &self.world.here());
        shell.args(["-c", &line]).env_clear().stdin(std::process::Stdio::null());
        shell.envs(command.env("PATH", path).get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.output().unwrap()
    }

    /// Output of one line on a terminal of usual width.
    pub(super) fn type_on_terminal(&self, line: &str) -> String {
        let file = self.world.path().join("typed.sh");
        fs::write(&file, self.fill(line)).unwrap();
        let wrapped = format!("stty cols 100 2>/dev/null; COLUMNS=100 script -qec 'bash {}' /dev/null", file.display());
        String::from_utf8_lossy(&self.type_line(&wrapped).stdout).replace('\r', "")
    }

    /// The last parts of the names of all runs.
    pub(super) fn own_names(&self) -> Vec<String> {
        let bundles = fs::read_dir(self.world.bundles()).into_iter().flatten().flatten();
        let names = bundles.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.rsplit('-').next().map(str::to_owned)).filter(|name| name.len() == 4).collect()
    }

    fn fill(&self, line: &str) -> String {
        let mut line = line.replace("20261115T003955Z-r1-string-slugify-b9tc", &self.runs[0]);
        // A stick that no test has, and a number of runs that takes long.
        line = line.replace("/media/stick/", "stick-").replace("-n 10", "-n 2").replace("-n 8", "-n 2");
        // The branch has the name of a run that the page itself made.
        line = line.replace("cto/usage-line/b9tc", "$(git -C site branch --list 'cto/*' --format='%(refname:short)')");
        for (known, run) in KNOWN_RUNS.iter().zip(&self.runs) {
            line = line.replace(&format!("{known}.cto"), "@ARCHIVE@").replace(known, run.rsplit('-').next().unwrap());
            line = line.replace("@ARCHIVE@", &format!("{known}.cto"));
        }
        for known in KNOWN_REQUESTS {
            line = line.replace(known, "@REQUEST@");
        }
        let line = line.replace("@REQUEST@", &self.request).replace("SHA256:Xk3", &self.fingerprint());
        let key = fs::read_to_string(self.world.user().join(".ssh/id_other.pub")).unwrap();
        let cut = ["ssh-ed25519 AAAAC3...", "sk-ssh-ed25519@openssh.com AAAA..."];
        cut.iter().fold(line, |line, cut| line.replace(&format!("'{cut}'"), &format!("'{}'", key.trim())))
    }

    /// Fingerprint of the key that the examples before it have trusted.
    fn fingerprint(&self) -> String {
        let user = self.world.user();
        let said = testkit::program("ssh-keygen", &user).args(["-lf", ".ssh/id_ed25519.pub"]).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        said.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    /// Every example, with the command whose help has it.
    pub(super) fn examples(&self) -> Vec<(String, String)> {
        let mut examples: Vec<(String, String)> = Vec::new();
        for command in self.commands() {
            let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).chain(["--help"]).collect();
            let help = self.world.cto(words).expect(0).text();
            let lines = help.lines().skip_while(|line| line.trim() != "Examples:").skip(1);
            for line in lines.map(str::trim).take_while(|line| !line.is_empty()) {
                match (line.starts_with("cto "), examples.last_mut()) {
                    (true, _) => examples.push((command.clone(), without_explanation(line))),
                    // A long one goes on in the next line.
                    (false, Some((_, example))) => example.push_str(&format!(" {}", without_explanation(line))),
                    (false, None) => {}
                }
            }
        }
        examples
    }

    /// Commands and their subcommands, as their help lists them; the empty one is the binary itself.
    fn commands(&self) -> Vec<String> {
        let (mut found, mut at) = (vec![String::new()], 0);
        while at < found.len() {
            let words: Vec<String> = found[at].split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            let help = self.world.cto(words.iter().map(String::as_str).chain(["--help"])).expect(0).text();
            for name in crate::cli::commands_in(&help) {
                let command = [found[at].as_str(), name.as_str()].join(" ").trim().to_owned();
                if name != "help" && !found.contains(&command) {
                    found.push(command);
                }
            }
            at += 1;
        }
        found
    }
}

/// The files of a case that a page shows beside its commands: the first block of YAML and the first of a patch.
fn lay_written_case(folder: &Path, page: &str) {
    fs::create_dir_all(folder).unwrap();
    for (kind, name) in [("yaml", "case.yaml"), ("diff", "good.patch")] {
        let block = page.split(&format!("```{kind}\n")).nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        fs::write(folder.join(name), block).unwrap();
    }
}

fn without_explanation(line: &str) -> String {
    line.split("    ").next().unwrap_or(line).trim_end_matches('\\').trim().to_owned()
}

fn lay_repository(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in [("greet.txt", "hello\n"), ("Makefile", "test:\n\tgrep -q hello greet.txt\n")] {
        fs::write(folder.join(name), text).unwrap();
    }
    git(folder, ["init", "-q", "-b", "main"]);
    git(folder, ["add", "."]);
    git(folder, ["-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "commit", "-qm", "first"]);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy_folder(&from, &to) } else { testkit::copy_to_change(&from, &to) }
    }
}
