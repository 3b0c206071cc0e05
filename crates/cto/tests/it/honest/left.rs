//! Honest work as agents leave it: files are changed in a shell, the tests are run, and whatever that wrote stays where it lies.
//!
//! The contract names the changed files one by one. Every row must pass with exactly those as its changed files: files that the
//! tools left neither count against the work nor are part of it.

use std::fs;

use serde_json::{Value, json};

use super::{Repository, WORLD, data, lay};
use Repository::{Calc, Roman, Semver, Slugline, Stamp, Tally, Wrapline};

/// One piece of work.
struct Row {
    name: &'static str,
    /// Files that change: all that the contract allows, and all that may be found changed.
    changes: &'static [&'static str],
    /// Files of the exam set among them that the task is about.
    released: &'static [&'static str],
    does: &'static str,
}

const fn row(name: &'static str, changes: &'static [&'static str], does: &'static str) -> Row {
    Row { name, changes, released: &[], does }
}

impl Row {
    const fn releasing(self, released: &'static [&'static str]) -> Self {
        Self { released, ..self }
    }
}

const TALLY: &[Row] = &[
    row("words", &["tally/__init__.py"], "sed -i 's/Adds up/Sums up/' tally/__init__.py"),
    row("hints", &["tally/amounts.py"], "sed -i 's/def parse(text):/def parse(text: str) -> int:/' tally/amounts.py"),
    row("private name", &["tally/amounts.py"], "sed -i 's/_AMOUNT/_PATTERN/g' tally/amounts.py"),
    row(
        "function and test",
        &["tally/amounts.py", "tests/test_total.py"],
        r#"printf '\n\ndef total(values):\n    """The sum of cents."""\n    return sum(values)\n' >> tally/amounts.py
        printf 'import unittest\n\nfrom tally import amounts\n\n\nclass Total(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(amounts.total([1, 2]), 3)\n' > tests/test_total.py"#,
    ),
    row(
        "data of the package",
        &["tally/names.csv", "tally/report.py"],
        r#"printf 'rent,Rent\nfood,Food\n' > tally/names.csv; printf '\n\nNAMES = "names.csv"\n' >> tally/report.py"#,
    ),
    row("marker of types", &["tally/py.typed"], ": > tally/py.typed"),
    row(
        "text in UTF-16",
        &["docs/notes.txt"],
        r#"mkdir docs; python3 -c "open('docs/notes.txt','wb').write('Größe\n'.encode('utf-16'))""#,
    ),
    row(
        "text in Latin-1",
        &["docs/alt.txt"],
        r#"mkdir docs; python3 -c "open('docs/alt.txt','wb').write('Größe\n'.encode('latin-1'))""#,
    ),
    row("emptied", &["README.md"], ": > README.md"),
    row("renamed", &["README.md", "README.rst"], "mv README.md README.rst"),
    row(
        "names with spaces and signs",
        &["docs/a b.txt", "docs/größe.txt", "docs/-x.txt"],
        "mkdir docs; echo a > 'docs/a b.txt'; echo b > docs/größe.txt; echo c > docs/-x.txt",
    ),
    row("a mode", &["tally/__main__.py"], "chmod +x tally/__main__.py"),
    row("a link", &["docs/readme"], "mkdir docs; ln -s ../README.md docs/readme"),
    row("large text", &["docs/words.txt"], "mkdir docs; yes 'a line of some words' | head -n 60000 > docs/words.txt"),
    row(
        "caches that ignore themselves",
        &["tally/__init__.py"],
        "sed -i 's/Adds up/Sums up/' tally/__init__.py
        for tool in .mypy_cache .ruff_cache; do
            mkdir -p $tool/3.11 && printf '*\n' > $tool/.gitignore && head -c 900 /dev/urandom > $tool/3.11/cache.bin
            printf 'Signature: 8a477f597d28d172789f06886806bc55\n' > $tool/CACHEDIR.TAG
        done",
    ),
    row(
        "a build in a folder that is ignored",
        &["tally/__init__.py"],
        "sed -i 's/Adds up/Sums up/' tally/__init__.py; mkdir -p build/lib && cp -r tally build/lib && head -c 99 /dev/urandom > build/x.so",
    ),
    row(
        "data of a new test",
        &["tests/fixtures/may.csv", "tests/test_may.py"],
        r#"mkdir tests/fixtures && printf 'rent,700\n' > tests/fixtures/may.csv
        printf 'import os\nimport unittest\n\nfrom tally import report\n\nFILE = os.path.join(os.path.dirname(__file__), "fixtures", "may.csv")\n\n\nclass May(unittest.TestCase):\n    def test_may(self):\n        with open(FILE) as lines:\n            self.assertEqual(report.read(lines), {"rent": 70000})\n' > tests/test_may.py"#,
    ),
    row("a metadata file", &["setup.cfg"], "sed -i 's/version = 1.4.0/version = 1.4.1/' setup.cfg")
        .releasing(&["setup.cfg"]),
];

const STAMP: &[Row] = &[
    row(
        "a function",
        &["lib/stamp.sh"],
        r#"printf '\n# The day of a name.\nday_of() {\n    printf "%%s\\n" "${1%%%%-*}"\n}\n' >> lib/stamp.sh"#,
    ),
    row("a comment", &["bin/stamp"], "sed -i 's/Renames files/Renames the files/' bin/stamp"),
    row(
        "a manual",
        &["share/man/stamp.1"],
        "mkdir -p share/man; printf '.TH STAMP 1\\n.SH NAME\\nstamp\\n' > share/man/stamp.1",
    ),
    row(
        "a picture",
        &["share/icon.png"],
        r"printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\010\0\0\0\0' > share/icon.png",
    ),
    row(
        "a photograph",
        &["share/photo.jpg"],
        r"printf '\377\330\377\340\0\020JFIF\0\1\1\0\0\1\0\1\0\0\377\331' > share/photo.jpg",
    ),
    row("a font", &["share/face.woff2"], r"printf 'wOF2\0\1\0\0\0\0\1\0\0\4\0\0' > share/face.woff2"),
    row("a sound", &["share/ping.wav"], r"printf 'RIFF\044\0\0\0WAVEfmt \020\0\0\0\1\0\1\0' > share/ping.wav"),
    row(
        "a printed page",
        &["share/page.pdf"],
        r"printf '%%PDF-1.4\n%%\342\343\317\323\n1 0 obj\n<<>>\nendobj\n\0\n' > share/page.pdf",
    ),
    row("a module that the contract names", &["share/hash.wasm"], r"printf '\0asm\1\0\0\0' > share/hash.wasm"),
    row("an archive that the contract names", &["share/words.gz"], "printf 'one\\ntwo\\n' | gzip -n > share/words.gz"),
    row(
        "a database that the contract names",
        &["share/days.db"],
        r"printf 'SQLite format 3\0\020\0\1\1\0' > share/days.db",
    ),
    row(
        "a test",
        &["test.sh"],
        r#"sed -i "/^check 'a folder stays'/a check 'a dot' 2024-05-01-.x \"\$(stamped 2024-05-01 .x)\"" test.sh"#,
    )
    .releasing(&["test.sh"]),
    row("continuous integration", &[".gitlab-ci.yml"], "printf '\\n# Nothing else.\\n' >> .gitlab-ci.yml")
        .releasing(&[".gitlab-ci.yml"]),
    row(
        "a temporary file that is ignored",
        &["README.md"],
        "echo more >> README.md; head -c 500 /dev/urandom > note.tmp",
    ),
];

const WRAPLINE: &[Row] = &[
    row(
        "a rebuilt dist",
        &["src/width.js", "dist/index.cjs"],
        "sed -i 's/Columns that/The columns that/' src/width.js; node scripts/build.js",
    ),
    row(
        "a module and its declarations",
        &["src/dedent.js", "src/index.js", "src/index.d.ts"],
        r#"printf 'export const dedent = (text) => text.replace(/^ +/gm, "");\n' > src/dedent.js
        printf "export { dedent } from './dedent.js';\n" >> src/index.js
        printf 'export function wrap(text: string, columns: number): string;\n' > src/index.d.ts"#,
    ),
    row("a version", &["package.json"], "sed -i 's/\"version\": \"[^\"]*\"/\"version\": \"9.9.9\"/' package.json")
        .releasing(&["package.json"]),
    row(
        "a lock file that nobody asked for",
        &["README.md"],
        r#"echo more >> README.md; printf '{\n  "name": "wrapline",\n  "lockfileVersion": 3,\n  "packages": {}\n}\n' > package-lock.json"#,
    ),
    row(
        "installed packages",
        &["README.md"],
        r#"echo more >> README.md; mkdir -p node_modules/.bin node_modules/x/test node_modules/.cache
        printf '{"name":"x"}\n' > node_modules/x/package.json; printf 'x\n' > node_modules/x/test/a.test.js
        head -c 400 /dev/urandom > node_modules/x/x.node; head -c 400 /dev/urandom > node_modules/.cache/y"#,
    ),
    row(
        "a test in a file that is there",
        &["test/width.test.js"],
        "printf \"test('nothing', () => assert.equal(width(''), 0));\\n\" >> test/width.test.js",
    ),
    row(
        "a snapshot of a new test",
        &["test/snapshots/long.txt", "test/long.test.js"],
        r#"mkdir test/snapshots; printf 'a\nb' > test/snapshots/long.txt
        printf "import assert from 'node:assert/strict';\nimport { readFileSync } from 'node:fs';\nimport test from 'node:test';\nimport { wrap } from '../src/index.js';\n\ntest('as before', () => assert.equal(wrap('a b', 1), readFileSync(new URL('./snapshots/long.txt', import.meta.url), 'utf8')));\n" > test/long.test.js"#,
    ),
    row(
        "a map of the sources",
        &["dist/index.cjs.map"],
        r#"printf '{"version":3,"sources":["../src/wrap.js"],"mappings":"AAAA"}' > dist/index.cjs.map"#,
    ),
];

const SLUGLINE: &[Row] = &[
    row("words", &["src/slugline/slug.py"], "sed -i 's/Titles to slugs/Slugs of titles/' src/slugline/slug.py"),
    row(
        "a test with a fixture",
        &["tests/test_more.py"],
        r#"printf 'from slugline import slugify\n\n\ndef test_more(titles):\n    assert all(slugify(title) for title in titles)\n' > tests/test_more.py"#,
    ),
    row("a changed expectation", &["src/slugline/slug.py", "tests/test_slug.py"], "sed -i 's/separator=\"-\"/separator=\"_\"/' src/slugline/slug.py
        sed -i 's/\"hello-world\"/\"hello_world\"/; s/\"spaced-out\"/\"spaced_out\"/; s/\"creme-brulee\"/\"creme_brulee\"/; s/\"100-sure\"/\"100_sure\"/; s/one-two-three/one_two_three/; s/one-two/one_two/g' tests/test_slug.py")
        .releasing(&["tests/test_slug.py"]),
];

const ROMAN: &[Row] = &[
    row("words", &["src/lib.rs"], "sed -i 's/The numeral of a number/The Roman numeral of a number/' src/lib.rs"),
    row(
        "a lock file of another version",
        &["README.md"],
        "echo more >> README.md; sed -i 's/^version = 3/version = 4/' Cargo.lock",
    ),
    row(
        "a module with tests of its own",
        &["src/lib.rs", "src/count.rs"],
        r"printf '//! Lengths.\n\n/// Letters of a numeral.\npub fn letters(text: &str) -> usize {\n    text.len()\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn three() {\n        assert_eq!(super::letters(\042III\042), 3);\n    }\n}\n' > src/count.rs
        sed -i 's/^mod parse;/pub mod count;\nmod parse;/' src/lib.rs",
    ),
];

const SEMVER: &[Row] = &[
    row("words", &["version.go"], "sed -i 's/Parse reads a version/Parse reads one version/' version.go"),
    row(
        "an example",
        &["example_test.go"],
        r"printf 'package semver\n\nimport (\n\t\042fmt\042\n\t\042testing\042\n)\n\nfunc TestExample(t *testing.T) {\n\tif fmt.Sprint(Version{1, 2, 3, \042\042}) != \0421.2.3\042 {\n\t\tt.Fail()\n\t}\n}\n' > example_test.go",
    ),
];

const CALC: &[Row] = &[
    row("words", &["main.c"], "sed -i 's/usage: calc SUM/usage: calc A-SUM/' main.c"),
    row(
        "a parser together with its grammar",
        &["grammar.y", "grammar.c"],
        r"sed -i 's|^int result;|int result; /* of the line */|' grammar.y grammar.c",
    ),
    row("a header", &["calc.h"], "sed -i 's/Sums of whole numbers/Sums and differences of whole numbers/' calc.h"),
    row(
        "a file that the Makefile builds",
        &["Makefile", "help.c", "main.c"],
        r#"sed -i 's/ grammar\.o/ grammar.o help.o/g' Makefile
        printf '#include <stdio.h>\n\nvoid help(void)\n{\n    puts("calc SUM");\n}\n' > help.c
        sed -i 's/^int main/void help(void);\n\nint main/; s/        return 2;/        help();\n        return 2;/' main.c"#,
    )
    .releasing(&["Makefile"]),
];

/// One test for each repository, so that they run beside each other.
macro_rules! left {
    ($($test:ident: $repository:expr, $rows:expr;)*) => {
        $(#[test]
        fn $test() {
            $rows.iter().for_each(|row| check($repository, row));
        })*

        /// Rows, for those who count.
        pub(super) fn number() -> usize {
            [$($rows.len()),*].iter().sum()
        }
    };
}

left! {
    tally: Tally, TALLY;
    stamp: Stamp, STAMP;
    wrapline: Wrapline, WRAPLINE;
    slugline: Slugline, SLUGLINE;
    roman: Roman, ROMAN;
    semver: Semver, SEMVER;
    calc: Calc, CALC;
}

fn check(repository: Repository, row: &Row) {
    let Some(environment) = repository.environment(&format!("honest::left::{}", repository.name())) else { return };
    let task = format!("{}-{}", repository.name(), row.name.replace(' ', "-").to_lowercase());
    let case = WORLD.here().join("left").join(&task);
    lay(&data().join("repositories").join(repository.name()), &case.join("files"));
    let script = format!("set -e\n{}\n{} > /dev/null", row.does, repository.command().join(" "));
    let mut contract = json!({
        "schema_version": "1", "task_id": task, "title": row.name, "brief": row.name, "risk_class": "low",
        "source_owner": "the maintainers", "source_classification": "owned_local",
        "allowed_paths": row.changes, "mutation_mode": "copied-fixture", "environment": environment,
        "verification_commands": [{"argv": repository.command(), "timeout_seconds": 120}],
        "fake": {"steps": [{"run": {"argv": ["sh", "-c", format!("({script}) || echo failed > FAILED")]}}]},
    });
    if !row.released.is_empty() {
        contract["exam_may_change"] = json!(row.released);
    }
    fs::write(case.join("case.yaml"), contract.to_string()).unwrap();
    let ended = WORLD.cto(["run", "--json", case.to_str().unwrap()]);
    let report: Value = ended.json();
    let told = || format!("{task}: {:#} {}", report["blockers"], report["changed_files"]);
    assert_eq!((&report["status"], &report["blockers"]), (&json!("pass"), &json!([])), "{}", told());
    let mut changes = row.changes.to_vec();
    changes.sort_unstable();
    assert_eq!(report["changed_files"], json!(changes), "{}", told());
}
