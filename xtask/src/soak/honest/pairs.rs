//! Pairs of published versions, and how their tests are run.

/// The language a package is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Python,
    JavaScript,
    TypeScript,
    Rust,
    Go,
    C,
}

impl Language {
    /// Name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::C => "c",
        }
    }
}

/// The kind of registry that has the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegistryKind {
    PyPi,
    Npm,
    Crates,
    /// Go's own library, in the wheel of its toolchain.
    GoWheel,
}

impl RegistryKind {
    /// Name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::PyPi => "pypi",
            Self::Npm => "npm",
            Self::Crates => "crates",
            Self::GoWheel => "go",
        }
    }
}

type Argv = &'static [&'static str];

/// Two versions of a package. The change between them is the patch.
pub(super) struct Pair {
    pub(super) language: Language,
    pub(super) package: &'static str,
    pub(super) old: &'static str,
    pub(super) new: &'static str,
    pub(super) origin: Option<RegistryKind>,
    /// The part of the archive that is the repository; a last `*` stands for a version.
    pub(super) folder: &'static str,
    pub(super) build: &'static [Argv],
    pub(super) test: Argv,
}

impl Pair {
    const fn of(language: Language, package: &'static str, old: &'static str, new: &'static str, test: Argv) -> Self {
        Self { language, package, old, new, origin: None, folder: "", build: &[], test }
    }

    const fn test(self, test: Argv) -> Self {
        Self { test, ..self }
    }

    const fn folder(self, folder: &'static str) -> Self {
        Self { folder, ..self }
    }
}

const fn python(package: &'static str, old: &'static str, new: &'static str) -> Pair {
    Pair::of(Language::Python, package, old, new, &["python3", "-m", "pytest"])
}

/// With the runner of most npm packages that publish their tests.
const fn tape(package: &'static str, old: &'static str, new: &'static str) -> Pair {
    Pair::of(Language::JavaScript, package, old, new, &["tape", "test/**/*.js"])
}

/// Compiles tests and what they import into a folder that is ignored.
macro_rules! tsc {
    ($($file:literal),+) => {
        &["tsc", "--outDir", "out", "--target", "es2019", "--module", "commonjs", "--esModuleInterop", "--skipLibCheck", $($file),+]
    };
}

const fn typescript(package: &'static str, old: &'static str, new: &'static str, build: &'static [Argv]) -> Pair {
    let test = &["jest", "--config", "{}", "--rootDir", "out"];
    Pair { build, ..Pair::of(Language::TypeScript, package, old, new, test) }
}

const fn rust(package: &'static str, old: &'static str, new: &'static str) -> Pair {
    Pair::of(Language::Rust, package, old, new, &["cargo", "test"])
}

/// A package of Go's library as a module of its own.
const fn go(package: &'static str, folder: &'static str) -> Pair {
    Pair::of(Language::Go, package, "1.21.13", "1.27.3", &["go", "test", "./..."]).folder(folder)
}

const fn c(package: &'static str, old: &'static str, new: &'static str, test: Argv) -> Pair {
    Pair::of(Language::C, package, old, new, test)
}

/// Pairs of published versions.
pub(super) const PAIRS: &[Pair] = &[
    python("six", "1.16.0", "1.17.0"),
    python("toolz", "0.12.0", "0.12.1"),
    python("more-itertools", "10.1.0", "10.2.0"),
    python("inflection", "0.5.0", "0.5.1"),
    python("cachetools", "5.3.2", "5.3.3"),
    python("idna", "3.4", "3.6"),
    python("mistune", "3.0.1", "3.0.2"),
    python("pathspec", "0.11.2", "0.12.1"),
    python("pyflakes", "3.0.1", "3.1.0"),
    python("uritemplate", "4.1.0", "4.1.1"),
    python("xmltodict", "0.12.0", "0.13.0"),
    python("termcolor", "2.3.0", "2.4.0"),
    python("jinja2", "3.1.2", "3.1.3"),
    python("wcwidth", "0.2.12", "0.2.13").test(&["python3", "-m", "pytest", "-o", "addopts="]),
    python("lark", "1.1.7", "1.1.8").test(&["python3", "-m", "unittest", "tests.__main__"]),
    python("pyparsing", "3.1.0", "3.1.1").test(&[
        "python3",
        "-m",
        "unittest",
        "tests.test_unit",
        "tests.test_simple_unit",
    ]),
    tape("minimist", "1.2.7", "1.2.8"),
    tape("is-callable", "1.2.6", "1.2.7"),
    tape("has-symbols", "1.0.3", "1.1.0"),
    tape("function-bind", "1.1.1", "1.1.2"),
    tape("for-each", "0.3.4", "0.3.5"),
    tape("json-stable-stringify", "1.2.0", "1.2.1"),
    tape("through", "2.3.7", "2.3.8"),
    tape("jsonparse", "1.3.0", "1.3.1"),
    tape("path-browserify", "1.0.0", "1.0.1"),
    tape("safe-regex-test", "1.0.3", "1.1.0"),
    tape("es-errors", "1.2.1", "1.3.0"),
    typescript("ts-dedent", "2.1.1", "2.2.0", &[tsc!("src/__tests__/index.spec.ts")]),
    typescript("unionize", "3.0.2", "3.1.0", &[tsc!("src/index.spec.ts")]),
    typescript("ts-dot-prop", "2.1.3", "2.1.4", &[tsc!("src/index.spec.ts")]),
    typescript("ts-tiny-invariant", "2.0.4", "2.0.5", &[tsc!("test/index.spec.ts")]),
    rust("strsim", "0.10.0", "0.11.0"),
    rust("fnv", "1.0.6", "1.0.7"),
    rust("scopeguard", "1.1.0", "1.2.0"),
    rust("shlex", "1.2.0", "1.3.0"),
    rust("version_check", "0.9.4", "0.9.5"),
    rust("matches", "0.1.8", "0.1.9"),
    rust("fallible-iterator", "0.2.0", "0.3.0"),
    rust("pico-args", "0.4.2", "0.5.0").test(&["cargo", "test", "--all-features"]),
    rust("lexopt", "0.2.1", "0.3.0"),
    rust("maplit", "1.0.1", "1.0.2"),
    rust("quick-error", "1.2.3", "2.0.1"),
    go("csv", "encoding/csv"),
    go("scanner", "text/scanner"),
    go("hex", "encoding/hex"),
    go("base32", "encoding/base32"),
    go("ascii85", "encoding/ascii85"),
    go("heap", "container/heap"),
    go("pem", "encoding/pem"),
    go("parse", "text/template/parse"),
    go("quotedprintable", "mime/quotedprintable"),
    c("libz-sys", "1.1.8", "1.1.15", &["sh", "-c", "./configure --static && make test"]).folder("src/zlib"),
    c("bzip2-sys", "0.1.7", "0.1.10+1.0.8", &["make", "test"]).folder("bzip2-*"),
    c("lz4-sys", "1.9.4", "1.10.0", &["make", "-C", "tests", "test-decompress-partial"]).folder("liblz4"),
];
