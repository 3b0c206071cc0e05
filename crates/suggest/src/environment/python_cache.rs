//! Places on this machine that a Python environment is filled from: folders of wheels, and
//! the caches that pip, Poetry and uv filled before.

use super::draft::EnvironmentDraft;
use crate::machine::{FoundProgram, Machine, has_ending, path_text};
use crate::repository::ProjectFolder;

/// Collects the wheels that pip and Poetry downloaded, and starts pip with them. pip keeps
/// answers of its index without their names, so that each wheel is named by its content.
/// Older versions of pip keep a head before it.
const GATHER_WHEELS: &str = r"import os, sys, zipfile
end = sys.argv.index('--')
out = os.path.expanduser('~/wheels')
os.makedirs(out, exist_ok=True)
def name_of(path):
    if path.endswith('.whl'):
        return os.path.basename(path)
    with zipfile.ZipFile(path) as wheel:
        about = [n for n in wheel.namelist() if n.count('/') == 1 and n.endswith('.dist-info/WHEEL')][0]
        tags = [l[4:].strip().split('-') for l in wheel.read(about).decode().splitlines() if l.startswith('Tag:')]
    return '-'.join([about.split('.dist-info')[0]] + ['.'.join(dict.fromkeys(part)) for part in zip(*tags)]) + '.whl'
for root in sys.argv[1:end]:
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            try:
                place = os.path.join(out, name_of(path))
                with open(path, 'rb') as file:
                    head = file.read(2)
                    data = b'' if head == b'PK' else head + file.read()
                if data:
                    with open(place, 'wb') as copy:
                        copy.write(data[data.index(b'PK\3\4'):data.rindex(b'PK\5\6') + 22])
                elif not os.path.lexists(place):
                    os.symlink(path, place)
            except Exception:
                continue
os.environ['PIP_FIND_LINKS'] = out
os.execvp(sys.argv[end + 1], sys.argv[end + 1:])
";

/// A cache of its own for uv, which locks what it reads: links to every file, and none to
/// a lock.
const WRITABLE_UV: &str = "own=\"$HOME/uv-cache\" && mkdir -p \"$own\" \
                           && for b in /opt/uv/cache/*-v*; do case \"$b\" in */archive-v*) ln -s \"$b\" \"$own\" ;; *) cp -Rs \"$b\" \"$own\" ;; esac; done \
                           && find \"$own\" -name '*.lock' -delete && exec env UV_CACHE_DIR=\"$own\" \"$@\"";

const DOWNLOADED: &str = "what was downloaded before, so that setup needs no network";

/// Caches of downloaded wheels below the home, each with a folder that says that it is used,
/// and its place in a sandbox.
const DOWNLOADS: [(&str, &[&str], &str); 2] = [
    (".cache/pip", &["http-v2", "http", "wheels"], "/opt/pip"),
    (".cache/pypoetry/artifacts", &["."], "/opt/pypoetry"),
];

/// Source of packages.
#[derive(Debug)]
pub(super) enum PackageSource {
    /// Folder of wheels on this machine.
    Wheels(String),
    /// uv and the cache that it filled.
    Uv(UvCache),
    /// Caches of pip and Poetry: source and place in a sandbox.
    Downloads(Vec<(String, &'static str)>),
    Registry,
}

/// A uv that sandboxes can be shown, and its cache.
#[derive(Debug)]
pub(super) struct UvCache {
    program: FoundProgram,
    cache: String,
}

impl PackageSource {
    /// Finds the best: wheels that somebody laid ready, the cache of the repository's own
    /// manager, any other.
    pub(super) fn find(place: &ProjectFolder<'_>, machine: &Machine<'_>) -> Self {
        let wheels = find_wheels(place, machine).map(Self::Wheels);
        let downloads = Some(find_downloads(machine)).filter(|found| !found.is_empty()).map(Self::Downloads);
        let uv = UvCache::find(machine).map(Self::Uv);
        let (first, second) = if is_of_uv(place) { (uv, downloads) } else { (downloads, uv) };
        let mut found = [wheels, first, second].into_iter().flatten();
        let best = found.next();
        let other = found.next().filter(|_| machine.choice.takes_other_cache);
        other.or(best).unwrap_or(Self::Registry)
    }

    /// Shows a sandbox where the packages are.
    pub(super) fn show(&self, draft: &mut EnvironmentDraft) {
        match self {
            Self::Wheels(wheels) => {
                draft.mount(wheels, "/opt/wheels", "wheels of this machine, so that setup needs no network");
            }
            Self::Uv(uv) => {
                draft.show_program("uv", &uv.program);
                draft.mount(&uv.cache, "/opt/uv/cache", DOWNLOADED);
            }
            Self::Downloads(caches) => caches.iter().for_each(|(cache, target)| draft.mount(cache, target, DOWNLOADED)),
            Self::Registry => {}
        }
    }

    /// The words of an installation by pip from here, up to the packages.
    pub(super) fn install_words(&self, python: &str, pip: &[&str]) -> Vec<String> {
        let install = [pip, &["install", "--no-compile"]].concat();
        let words: Vec<&str> = match self {
            Self::Wheels(_) => [&install[..], &["--no-index", "--find-links", "/opt/wheels"]].concat(),
            Self::Downloads(caches) => {
                let roots = caches.iter().map(|(_, target)| *target);
                let gather = [python, "-c", GATHER_WHEELS].into_iter().chain(roots).chain(["--"]);
                gather.chain(install).chain(["--no-index"]).collect()
            }
            Self::Uv(uv) => uv.words(&["pip", "install", "--offline", "--link-mode", "copy", "--python", ".venv"]),
            Self::Registry => install,
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Changes beside the network that an installation from the registry needs.
    pub(super) fn online_change(&self) -> &'static str {
        match self {
            Self::Wheels(_) => "take --no-index and --find-links out of pip install",
            Self::Downloads(_) => "take --no-index out of pip install",
            Self::Uv(_) => "take --offline out of the words of uv",
            Self::Registry => "",
        }
    }
}

impl UvCache {
    fn find(machine: &Machine<'_>) -> Option<Self> {
        let cache = machine.of_home(".cache/uv").as_deref().and_then(path_text)?;
        Some(Self { program: machine.find_single("uv")?, cache })
    }

    /// A command of uv, with a cache that it can write to.
    pub(super) fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        [&["sh", "-c", WRITABLE_UV, "sh", &self.program.inside], words].concat()
    }
}

/// True if uv manages the project.
fn is_of_uv(place: &ProjectFolder<'_>) -> bool {
    let says = |text: String| text.contains("[tool.uv]") || text.contains("uv_build");
    place.has_file("uv.lock") || place.read_text("pyproject.toml").is_some_and(says)
}

/// Folders of wheels, the repository's first.
fn find_wheels(place: &ProjectFolder<'_>, machine: &Machine<'_>) -> Option<String> {
    let mut own = ["wheels", "wheelhouse"].into_iter().filter(|name| place.has_folder(name));
    let own = own.find(|name| place.has_ending_in(name, "whl")).map(|name| place.host_path(name));
    let of_machine = || machine.of_home(".cache/wheels").filter(|dir| has_ending(dir, "whl"));
    own.or_else(of_machine).as_deref().and_then(path_text)
}

fn find_downloads(machine: &Machine<'_>) -> Vec<(String, &'static str)> {
    let found = |(below, parts, target): &(&str, &[&str], &'static str)| {
        parts.iter().any(|part| machine.of_home(&format!("{below}/{part}")).is_some()).then_some(())?;
        Some((path_text(&machine.of_home(below)?)?, *target))
    };
    DOWNLOADS.iter().filter_map(found).collect()
}
