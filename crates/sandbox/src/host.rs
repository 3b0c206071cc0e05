//! Abilities of this host: profile `strict` is tried by building one; if it does not work,
//! the missing feature and a remedy are named.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox_facts::Ownership;
use serde::Serialize;
use untrusted_fs::own_files;

use crate::confinement::{ConfinedWorkspace, Confinement, Space, Upper, WorkspaceFrom};
use crate::kernel::landlock;
use crate::strict::cgroup;
use crate::{ConfineFailure, ConfineStep, Spec, SuperviseError, Supervisor};

pub use crate::strict::cgroup::{CgroupVersion, GroupPlace};

/// Mounts can be made read-only as a tree, and translate ids, from this version on.
const KERNEL_MIN: (u32, u32) = (5, 12);

/// Abilities of this host, measured once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Availability {
    /// Obstacle to profile `strict`; `None` if it can be applied.
    pub shortfall: Option<HostShortfall>,
    /// Release of the running kernel.
    pub kernel: String,
    /// Version of Landlock; `None` if the kernel has none.
    pub landlock_abi: Option<u32>,
    /// Places for control groups; the first is used. Empty means that only rlimits are
    /// available.
    pub cgroups: Vec<GroupPlace>,
    /// True if a workspace can be made of layers; `None` if that could not be tried.
    pub overlay: Option<bool>,
    /// Mechanism by which the program owns the workspace; `None` if that could not be
    /// tried.
    pub ownership: Option<Ownership>,
    /// True if refused calls are recorded; `None` if that could not be tried.
    pub recorded: Option<bool>,
}

/// Missing feature, with the error and a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostShortfall {
    /// Feature whose lack is the likeliest cause.
    pub missing: MissingFeature,
    /// Error in the kernel's words.
    pub text: String,
    /// Action for a person.
    pub remedy: &'static str,
}

/// Feature of the host that profile `strict` needs and that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingFeature {
    /// The kernel lacks a system call or feature.
    KernelTooOld,
    /// The limit on user namespaces is too low.
    UserNamespacesLimited,
    /// A sysctl switches user namespaces of ordinary users off.
    UserNamespacesOff,
    /// AppArmor keeps ordinary programs from user namespaces.
    AppArmorRestriction,
    /// A container hides parts of `/proc`, so that a new one cannot be mounted.
    ProcMasked,
    /// A container's filter forbids a system call.
    ForbiddenByContainer,
    /// The harness is root without the capabilities that it needs.
    RootWithoutCapabilities,
    /// Everything was built, and the probe got through somewhere.
    NotTight,
    /// No known cause fits.
    Other,
}

impl MissingFeature {
    /// Action that would help, with its command if there is one.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::KernelTooOld => "use Linux 5.12 or newer, with user namespaces and seccomp built in",
            Self::UserNamespacesLimited => "raise the limit: sysctl user.max_user_namespaces=10000",
            Self::UserNamespacesOff => "switch them on: sysctl kernel.unprivileged_userns_clone=1",
            Self::AppArmorRestriction => {
                "allow this program user namespaces with an AppArmor profile (userns,), or lift the restriction: sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0"
            }
            Self::ProcMasked => {
                "start the container with an unmasked /proc (docker: --security-opt systempaths=unconfined, podman: \
                 --security-opt unmask=ALL), or run on the host"
            }
            Self::ForbiddenByContainer => {
                "allow unshare and mount in the container's seccomp profile (docker: --security-opt seccomp=unconfined), or \
                 run on the host"
            }
            Self::RootWithoutCapabilities => {
                "run as an ordinary user, or give root CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID"
            }
            Self::NotTight => "report this: the sandbox was built, and something inside was not refused",
            Self::Other => "see the text; `none` can be chosen explicitly for what it is accepted for",
        }
    }
}

/// Builds a confinement, probes it, and removes it. `scratch` is an empty directory of the caller's
/// own.
pub fn probe_host(supervisor: &Supervisor, scratch: &Path) -> Availability {
    let plain = try_build(supervisor, scratch, WorkspaceFrom::Directory(scratch.to_owned()));
    let built = plain.as_ref().ok();
    let layers = || WorkspaceFrom::Layers {
        lower: vec![scratch.to_owned()],
        upper: Upper::Memory(Space { bytes: 1 << 20, inodes: 64 }),
    };
    Availability {
        overlay: built.map(|_| try_build(supervisor, scratch, layers()).is_ok()),
        ownership: built.map(|applied| applied.ids.ownership),
        recorded: built.map(|applied| applied.posture.seccomp.recorded),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        landlock_abi: landlock::abi().ok(),
        cgroups: cgroup::places(),
        shortfall: plain.err().map(|error| shortfall(&error)),
    }
}

/// True if the running kernel has at least this version.
pub(crate) fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    version(&rustix::system::uname().release().to_string_lossy()) >= (major, minor)
}

fn try_build(supervisor: &Supervisor, scratch: &Path, from: WorkspaceFrom) -> Result<crate::Applied, SuperviseError> {
    let marker = ("SANDBOX_PROBE".to_owned(), std::process::id().to_string());
    let mut spec = Spec::new(vec!["/bin/true".to_owned()], PathBuf::from("/"), Duration::from_secs(10), marker);
    let workspace = ConfinedWorkspace { target: PathBuf::from("/workspace"), from };
    let private = Space { bytes: 1 << 20, inodes: 64 };
    spec.confinement = Some(Confinement { workspace, private, ..Confinement::new(scratch.to_owned()) });
    Ok(supervisor.prepare()?.confine_spec(spec)?.applied().clone())
}

fn shortfall(error: &SuperviseError) -> HostShortfall {
    let missing = match error {
        SuperviseError::ConfineProgram { failure, .. } => diagnose(failure, &Sysctls::read()),
        _ => MissingFeature::Other,
    };
    HostShortfall { missing, text: error.to_string(), remedy: missing.remedy() }
}

/// Settings that tell causes apart which the kernel answers with the same error.
#[derive(Debug, Clone, Copy)]
struct Sysctls {
    kernel: (u32, u32),
    userns_clone_off: bool,
    apparmor_restricts: bool,
}

impl Sysctls {
    fn read() -> Self {
        let is = |name: &str, value: &str| {
            own_files::read_to_string(Path::new("/proc/sys").join(name)).is_ok_and(|text| text.trim() == value)
        };
        Self {
            kernel: version(&rustix::system::uname().release().to_string_lossy()),
            userns_clone_off: is("kernel/unprivileged_userns_clone", "0"),
            apparmor_restricts: is("kernel/apparmor_restrict_unprivileged_userns", "1"),
        }
    }
}

fn diagnose(failure: &ConfineFailure, sysctls: &Sysctls) -> MissingFeature {
    let denied = matches!(failure.errno, Some(libc::EPERM | libc::EACCES));
    match (failure.step, failure.errno) {
        (ConfineStep::Identity, None) => MissingFeature::RootWithoutCapabilities,
        (ConfineStep::Probe, _) => MissingFeature::NotTight,
        (_, Some(libc::ENOSYS)) | (ConfineStep::Namespaces, Some(libc::EINVAL)) if sysctls.kernel >= KERNEL_MIN => {
            MissingFeature::ForbiddenByContainer
        }
        (_, Some(libc::ENOSYS | libc::EINVAL)) if sysctls.kernel < KERNEL_MIN => MissingFeature::KernelTooOld,
        (ConfineStep::Namespaces, Some(libc::ENOSPC)) => MissingFeature::UserNamespacesLimited,
        (ConfineStep::Namespaces, _) if denied && sysctls.userns_clone_off => MissingFeature::UserNamespacesOff,
        (ConfineStep::Proc, _) if denied => MissingFeature::ProcMasked,
        _ if denied && sysctls.apparmor_restricts => MissingFeature::AppArmorRestriction,
        _ if denied => MissingFeature::ForbiddenByContainer,
        _ => MissingFeature::Other,
    }
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_name() {
        let new = Sysctls { kernel: (6, 1), userns_clone_off: false, apparmor_restricts: false };
        let failed = |step, errno| ConfineFailure { step, errno, text: String::new() };
        let cases = [
            (ConfineStep::Namespaces, Some(libc::ENOSPC), new, MissingFeature::UserNamespacesLimited),
            (ConfineStep::Namespaces, Some(libc::EPERM), new, MissingFeature::ForbiddenByContainer),
            (
                ConfineStep::Namespaces,
                Some(libc::EPERM),
                Sysctls { userns_clone_off: true, ..new },
                MissingFeature::UserNamespacesOff,
            ),
            (
                ConfineStep::Root,
                Some(libc::EACCES),
                Sysctls { apparmor_restricts: true, ..new },
                MissingFeature::AppArmorRestriction,
            ),
            (ConfineStep::Root, Some(libc::EPERM), new, MissingFeature::ForbiddenByContainer),
            (ConfineStep::Proc, Some(libc::EPERM), new, MissingFeature::ProcMasked),
            (ConfineStep::System, Some(libc::ENOSYS), new, MissingFeature::ForbiddenByContainer),
            (ConfineStep::System, Some(libc::ENOSYS), Sysctls { kernel: (5, 10), ..new }, MissingFeature::KernelTooOld),
            (ConfineStep::Identity, None, new, MissingFeature::RootWithoutCapabilities),
            (ConfineStep::Probe, None, new, MissingFeature::NotTight),
            (ConfineStep::Lost, None, new, MissingFeature::Other),
        ];
        for (step, errno, sysctls, expected) in cases {
            assert_eq!(diagnose(&failed(step, errno), &sysctls), expected, "{step:?} {errno:?} {sysctls:?}");
        }
    }

    #[test]
    fn releases_are_read_as_numbers() {
        for (release, expected) in
            [("6.18.44-x", (6, 18)), ("5.10", (5, 10)), ("5", (5, 0)), ("", (0, 0)), ("x", (0, 0))]
        {
            assert_eq!(version(release), expected, "{release}");
        }
    }
}
