//! From a contract as written to one with every default and every file it names.

use base64::Engine as _;

use super::file::{BlindFile, CommandFile, EnvironmentFile, ExamFile, FullCommand, LimitsFile, TaskFile};
use super::{
    BlindCheck, Command, Environment, FileContent, ForbiddenAction, Limits, PatchContent, RetryRule, RiskClass,
    TaskContract, default_timeout,
};
use crate::digest::Digest;
use crate::id::TaskId;
use crate::paths::PathSet;
use crate::source::{Problem, SourceRule, Spans};
use crate::stage::MutationMode;

/// Reads a file that a contract names, relative to the contract.
pub type ReadBeside<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

const NETWORK_NEEDS_INPUTS: &str = "`setup_network` needs `setup_inputs`, the only files that such a setup sees; name lock files, such as \
                                    `setup_inputs: [package-lock.json]`";

/// Collects what is wrong with a contract whose shape is right.
struct Resolver<'a> {
    spans: &'a Spans,
    read: ReadBeside<'a>,
    problems: Vec<Problem>,
}

impl Resolver<'_> {
    fn problem(&mut self, path: &[&str], message: impl Into<String>) {
        self.problems.push(self.spans.problem(path, SourceRule::Invalid, message.into()));
    }

    fn globs(&mut self, key: &str, globs: &[String], rooted: bool) {
        for (index, glob) in globs.iter().enumerate() {
            let one = std::slice::from_ref(glob);
            let compiled = if rooted { PathSet::rooted(one) } else { PathSet::any_depth(one) };
            if let Err(error) = compiled {
                self.problem(&[key, &index.to_string()], error.to_string());
            }
        }
    }

    fn command(&mut self, path: &[&str], file: CommandFile) -> Option<Command> {
        let full = match file {
            CommandFile::Words(words) => {
                FullCommand { argv: None, command: Some(words), shell: false, timeout_seconds: None, cwd: None }
            }
            CommandFile::Argv(argv) => {
                FullCommand { argv: Some(argv), command: None, shell: false, timeout_seconds: None, cwd: None }
            }
            CommandFile::Full(full) => full,
        };
        let argv = match (full.argv, full.command) {
            (Some(argv), None) if full.shell => {
                self.problem(path, format!("`shell: true` goes with `command`, not with `argv` {argv:?}"));
                return None;
            }
            (Some(argv), None) => argv,
            (None, Some(command)) if full.shell => vec!["/bin/sh".to_owned(), "-c".to_owned(), command],
            (None, Some(command)) => match shell_words::split(&command) {
                Ok(argv) => argv,
                Err(error) => {
                    self.problem(
                        path,
                        format!("`{}` cannot be split into words: {error}", crate::text::show_controls(&command)),
                    );
                    return None;
                }
            },
            _ => {
                self.problem(path, "a command has either `argv` or `command`");
                return None;
            }
        };
        if argv.first().is_none_or(String::is_empty) || argv.iter().any(|word| word.contains('\0')) {
            self.problem(path, "a command needs a program, and no NUL");
            return None;
        }
        if let Some(cwd) = &full.cwd {
            self.relative(path, cwd);
        }
        Some(Command {
            argv,
            shell: full.shell,
            timeout_seconds: full.timeout_seconds.unwrap_or_else(default_timeout),
            cwd: full.cwd,
        })
    }

    /// A path inside the repository, given by a person.
    fn relative(&mut self, path: &[&str], text: &str) -> bool {
        let good = !text.is_empty()
            && !text.contains('\0')
            && text.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !good {
            self.problem(path, format!("`{}` is not a plain relative path", crate::text::show_controls(text)));
        }
        good
    }

    fn beside(&mut self, path: &[&str], file: &str) -> Option<Vec<u8>> {
        if !self.relative(path, file) {
            return None;
        }
        match (self.read)(file) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.problem(path, format!("`{}` cannot be read: {error}", crate::text::show_controls(file)));
                None
            }
        }
    }

    fn control_patch(&mut self, file: Option<String>) -> Option<PatchContent> {
        let file = file?;
        let bytes = self.beside(&["control_patch"], &file)?;
        let sha256 = Digest::of_bytes(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Some(PatchContent { file, sha256, text }),
            Err(_) => {
                self.problem(&["control_patch"], "a control patch is UTF-8 text");
                None
            }
        }
    }

    fn exam_file(&mut self, index: usize, file: ExamFile) -> Option<FileContent> {
        let at = index.to_string();
        let at = ["verification_files", at.as_str()];
        let (file, path) = match file {
            ExamFile::Same(file) => (file.clone(), file),
            ExamFile::Placed(placed) => (placed.file, placed.path),
        };
        if !self.relative(&at, &path) {
            return None;
        }
        let bytes = self.beside(&at, &file)?;
        Some(FileContent {
            path,
            sha256: Digest::of_bytes(&bytes),
            base64: base64::engine::general_purpose::STANDARD.encode(&bytes),
        })
    }

    fn blind(&mut self, index: usize, file: BlindFile) -> BlindCheck {
        if file.expect_stdout.is_some() && file.expect_stdout_sha256.is_some() {
            self.problem(
                &["blind_checks", &index.to_string()],
                "a blind check has `expect_stdout` or `expect_stdout_sha256`, not both",
            );
        }
        BlindCheck {
            argv: file.argv,
            stdin: file.stdin,
            expect_exit: file.expect_exit,
            expect_stdout_sha256: file
                .expect_stdout
                .map(|text| Digest::of_bytes(text.as_bytes()))
                .or(file.expect_stdout_sha256),
            timeout_seconds: file.timeout_seconds.unwrap_or_else(default_timeout),
        }
    }

    fn environment(&mut self, file: EnvironmentFile) -> Environment {
        for (index, glob) in file.setup_inputs.iter().enumerate() {
            if let Err(error) = PathSet::rooted(std::slice::from_ref(glob)) {
                self.problem(&["environment", "setup_inputs", &index.to_string()], error.to_string());
            }
        }
        if !file.setup_network.is_empty() && file.setup_inputs.is_empty() {
            self.problem(&["environment", "setup_network"], NETWORK_NEEDS_INPUTS);
        }
        if file.setup_network_for_patch && file.setup_network.is_empty() {
            let text = "`setup_network_for_patch` needs `setup_network`: name the hosts, or leave the key out";
            self.problem(&["environment", "setup_network_for_patch"], text);
        }
        Environment {
            setup: self.commands("setup", file.setup),
            build: self.commands("build", file.build),
            mounts: file.mounts,
            path: file.path,
            variables: file.variables,
            setup_inputs: file.setup_inputs,
            setup_network: file.setup_network,
            setup_network_for_patch: file.setup_network_for_patch,
        }
    }

    /// The commands of one key of the environment.
    fn commands(&mut self, key: &str, files: Vec<CommandFile>) -> Vec<Command> {
        let each = files.into_iter().enumerate();
        each.filter_map(|(index, file)| self.command(&["environment", key, &index.to_string()], file)).collect()
    }

    fn mode(&mut self, mode: MutationMode, approval_required: Option<bool>, risk: RiskClass) {
        if mode.needs_approval() && approval_required == Some(false) {
            self.problem(
                &["approval_required"],
                format!("`{mode}` always needs an approval; leave the key out or say true"),
            );
        }
        if risk == RiskClass::High && mode > MutationMode::CopiedFixture {
            self.problem(&["mutation_mode"], "a task of risk class `high` never goes beyond `copied-fixture`");
        }
        if risk != RiskClass::Low && mode >= MutationMode::OwnedNoncriticalRepo {
            self.problem(&["mutation_mode"], format!("`{mode}` takes only tasks of risk class `low`"));
        }
    }
}

impl TaskFile {
    /// Writes out defaults and reads the files it names; every problem at once.
    pub fn resolve_task(self, spans: &Spans, read: ReadBeside<'_>) -> Result<TaskContract, Vec<Problem>> {
        let mut resolver = Resolver { spans, read, problems: Vec::new() };
        let contract = self.resolve_with(&mut resolver);
        match contract {
            Some(contract) if resolver.problems.is_empty() => Ok(contract),
            _ => Err(resolver.problems),
        }
    }

    fn resolve_with(self, resolver: &mut Resolver<'_>) -> Option<TaskContract> {
        resolver.globs("allowed_paths", &self.allowed_paths, true);
        resolver.globs("forbidden_paths", &self.forbidden_paths, false);
        resolver.globs("protected_paths", &self.protected_paths, false);
        resolver.globs("exam_may_change", &self.exam_may_change, false);
        let task_id =
            TaskId::try_from(self.task_id).map_err(|error| resolver.problem(&["task_id"], error.to_string())).ok();
        let (mode, risk) = (self.mutation_mode.unwrap_or(MutationMode::CopiedFixture), self.risk_class);
        resolver.mode(mode, self.approval_required, risk);
        let commands = self.verification_commands.into_iter().enumerate();
        let verification_commands = commands
            .filter_map(|(index, file)| resolver.command(&["verification_commands", &index.to_string()], file))
            .collect();
        let blind_checks =
            self.blind_checks.into_iter().enumerate().map(|(index, file)| resolver.blind(index, file)).collect();
        let exam_files = self.verification_files.into_iter().enumerate();
        let verification_files = exam_files.filter_map(|(index, file)| resolver.exam_file(index, file)).collect();
        let control_patch = resolver.control_patch(self.control_patch);
        for (index, allowance) in self.secret_allowances.iter().enumerate() {
            resolver.relative(&["secret_allowances", &index.to_string(), "path"], &allowance.path);
        }
        if let Some((key, problem)) = self.retry.as_ref().and_then(RetryRule::find_problem) {
            resolver.problem(&["retry", key], problem);
        }
        let environment = resolver.environment(self.environment);
        let task_id = task_id?;
        Some(TaskContract {
            schema_version: self.schema_version,
            branch_policy: self.branch_policy.unwrap_or_else(|| format!("cto/{task_id}/<request>")),
            task_id,
            title: self.title.unwrap_or_else(|| title_of(&self.brief)),
            brief: self.brief,
            target_repository: self.target_repository,
            source_repository: self.source_repository,
            source_owner: self.source_owner,
            source_classification: self.source_classification,
            authority_basis: self.authority_basis,
            risk_class: risk,
            allowed_paths: self.allowed_paths,
            forbidden_paths: self.forbidden_paths,
            protected_paths: self.protected_paths,
            exam_may_change: self.exam_may_change,
            tests_may_go: self.tests_may_go,
            forbidden_actions: self.forbidden_actions.unwrap_or_else(|| ForbiddenAction::ALL.to_vec()),
            mutation_mode: mode,
            approval_required: self.approval_required.unwrap_or(mode.needs_approval()),
            diff_required: self.diff_required.unwrap_or(true),
            verification_commands,
            no_test_rationale: self.no_test_rationale,
            blind_checks,
            control_patch,
            verification_files,
            environment,
            success_criteria: self.success_criteria,
            rollback_expectation: self.rollback_expectation,
            limits: self.limits.resolve(),
            evidence_expectations: self.evidence_expectations,
            must_pass: self.must_pass,
            may_stay_red: self.may_stay_red,
            flaky_retries: self.flaky_retries,
            retry: self.retry,
            secret_allowances: self.secret_allowances,
            work_id: self.work_id,
        })
    }
}

/// Characters of a title that is made of a brief; longer ones do not fit on a line.
const TITLE_LENGTH: usize = 72;

/// Title of a contract that has none: the first line of its brief that says something.
pub fn title_of(brief: &str) -> String {
    let line = brief.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("untitled");
    let mut title: String = line.chars().take(TITLE_LENGTH).collect();
    if title.len() < line.len() {
        title.truncate(title.trim_end().len());
        title.push('…');
    }
    title
}

impl LimitsFile {
    fn resolve(self) -> Limits {
        const GIB: u64 = 1 << 30;
        Limits {
            wall_seconds: self.wall_seconds.unwrap_or(1800),
            memory_bytes: self.memory_bytes.unwrap_or(4 * GIB),
            processes: self.processes.unwrap_or(512),
            disk_bytes: self.disk_bytes.unwrap_or(4 * GIB),
            output_bytes: self.output_bytes.unwrap_or(32 << 20),
            model_requests: self.model_requests,
            model_tokens: self.model_tokens,
            money_micros: self.money_micros,
        }
    }
}
