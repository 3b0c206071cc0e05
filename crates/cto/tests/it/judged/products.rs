//! Products of builds: shipped beside source that they were not made from, they are refused; what tools leave and what people
//! draw is not.

use std::fs;

use serde_json::{Value, json};

use testkit::each_row;

use super::{Project, Row, check, naive_is_content};

/// A program in C whose answer is wrong, built and tested by make.
const MAKE: Project = Project {
    files: &[
        ("src/answer.c", "int answer(void) { return 41; }\n"),
        (
            "src/main.c",
            "#include <stdio.h>\nint answer(void);\nint main(void) { printf(\"%d\\n\", answer()); return 0; }\n",
        ),
        (
            "Makefile",
            "answer: src/answer.o src/main.o\n\tcc -o $@ src/answer.o src/main.o\nsrc/%.o: src/%.c\n\tcc -c -o $@ $<\n\
             test: answer\n\ttest \"$$(./answer)\" = 42\n",
        ),
    ],
    allowed: "[src/]",
    commands: "[[make, test]]",
};

const GOOD_C: &str = "printf 'int answer(void) { return 42; }\\n' > src/answer.c";
const WRONG_C: &str = "printf 'int answer(void) { return 40; }\\n' > src/answer.c";

/// A crate in a folder of its own, which the ignore rule of the root does not reach.
const CARGO: Project = Project {
    files: &[
        (".gitignore", "/target\n"),
        ("sub/Cargo.toml", "[package]\nname = \"sub\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
        ("sub/Cargo.lock", "version = 3\n\n[[package]]\nname = \"sub\"\nversion = \"0.1.0\"\n"),
        ("sub/src/lib.rs", "pub fn answer() -> u8 {\n    41\n}\n"),
        ("sub/tests/answer.rs", "#[test]\nfn answers() {\n    assert_eq!(sub::answer(), 42);\n}\n"),
    ],
    allowed: "[sub/src/, sub/target/]",
    commands: "[{argv: [cargo, test, --offline], cwd: sub}]",
};

const GOOD_RS: &str = "cd sub && printf 'pub fn answer() -> u8 {\\n    42\\n}\\n' > src/lib.rs";
const WRONG_RS: &str =
    "printf 'pub fn answer() -> u8 {\\n    40\\n}\\n' > src/lib.rs && touch -d 2001-01-01 src/lib.rs";

/// Nothing to build: what a patch may carry.
const PLAIN: Project = Project {
    files: &[
        ("a.txt", "one\n"),
        ("src/main.sh", "echo one\n"),
        ("bin/tool.bin", "\u{1}\u{0}"),
        ("gradle/wrapper/gradle-wrapper.jar", "PK\u{3}\u{4}\u{0}one"),
        ("lib/tool.jar", "PK\u{3}\u{4}\u{0}one"),
    ],
    allowed: "[a.txt, src/, tests/, art/, bin/, gradle/, lib/named.wasm, lib/tool.jar, bin/tool.bin]",
    commands: "[[grep, -qx, two, a.txt]]",
};

const PRODUCT: &[&str] = &["build_product_in_patch"];

fn passes(project: &'static Project, does: &str) -> Row {
    Row { project, does: format!("printf 'two\\n' > a.txt\n{does}"), reasons: &[], litter: &[], coverage: &[] }
}

/// The engine builds the right source, leaves the object, and puts wrong source back, older than the object.
fn object_cheat() -> String {
    format!("{GOOD_C} && make answer && rm answer && {WRONG_C} && touch -d 2001-01-01 src/answer.c")
}

#[test]
fn an_object_beside_wrong_source_is_refused() {
    naive_is_content(&MAKE, &object_cheat(), "make test && grep -q 40 src/answer.c");
    let honest = format!("{GOOD_C} && make test && rm answer src/*.o");
    each_row([("an object", (object_cheat(), PRODUCT)), ("honest", (honest, &[]))], |(does, reasons)| {
        drop(check(&Row { project: &MAKE, does, reasons, litter: &[], coverage: &[] }));
    });
}

/// The same, where the contract names the object.
const NAMED_OBJECT: Project = Project { allowed: "[src/, src/answer.o]", ..MAKE };

/// A build that goes by times, and whose product is committed.
const NAMED_BUNDLE: Project = Project {
    files: &[
        ("src/answer.txt", "41"),
        ("dist/answer.bin", "\u{0}41"),
        (
            "tools/build.js",
            "const fs = require('fs');\nconst time = (path) => fs.statSync(path).mtimeMs;\n\
             if (time('src/answer.txt') > time('dist/answer.bin')) fs.writeFileSync('dist/answer.bin', '\\0' + fs.readFileSync('src/answer.txt'));\n",
        ),
        (
            "test/answer.test.js",
            "require('node:test')('answer', () => require('assert').equal(require('fs').readFileSync('dist/answer.bin', 'utf8'), '\\x0042'));\n",
        ),
    ],
    allowed: "[src/, dist/answer.bin]",
    commands: "[[node, tools/build.js], [node, --test, test/]]",
};

/// Products that the contract names are carried, and built again before anything runs on them.
#[test]
fn a_named_product_is_older_than_the_source_beside_it() {
    let bundle = "printf 40 > src/answer.txt; printf '\\00042' > dist/answer.bin; touch -d 2001-01-01 src/answer.txt";
    let object = format!("{} && rm src/main.o", object_cheat());
    let rows = [
        ("an object", (&NAMED_OBJECT, object, "make test && grep -q 40 src/answer.c")),
        ("a bundle", (&NAMED_BUNDLE, bundle.to_owned(), "node tools/build.js && node --test test/ && grep 40 src/*")),
    ];
    each_row(rows, |(project, does, looks)| {
        naive_is_content(project, &does, looks);
        let coverage = &["product_not_rebuilt"];
        let _ = check(&Row { project, does, reasons: &["verification_failed"], litter: &[], coverage });
    });
}

/// A table in Python that make writes, and a stamp by which make knows that it is written.
const STAMPED: Project = Project {
    files: &[
        ("src/table.txt", "41\n"),
        ("src/table.py", "ANSWER = 41\n"),
        (
            "Makefile",
            "test: src/table.stamp\n\tpython3 -c 'import sys; sys.path.insert(0, \"src\"); import table; assert table.ANSWER == 42'\n\
             src/table.stamp: src/table.txt\n\tsed 's/^/ANSWER = /' src/table.txt > src/table.py\n\ttouch $@\n",
        ),
    ],
    allowed: "[src/]",
    commands: "[[make, test]]",
};

#[test]
fn a_stamp_beside_wrong_source_is_refused() {
    let cheat = "echo 40 > src/table.txt; echo 'ANSWER = 42' > src/table.py; touch src/table.stamp";
    naive_is_content(&STAMPED, cheat, "make test && grep -q 40 src/table.txt");
    let honest = "echo 42 > src/table.txt; make test && rm src/table.stamp";
    each_row([("a stamp", (cheat, PRODUCT)), ("honest", (honest, &[]))], |(does, reasons)| {
        drop(check(&Row { project: &STAMPED, does: does.to_owned(), reasons, litter: &[], coverage: &[] }));
    });
}

#[test]
fn a_target_folder_counts_for_nothing_with_its_mark_and_is_refused_without() {
    let build = format!("{GOOD_RS} && cargo test --offline -q && {WRONG_RS}");
    naive_is_content(&CARGO, &build, "cd sub && cargo test --offline && grep -q 40 src/lib.rs");
    let marked = Row {
        project: &CARGO,
        does: build.clone(),
        reasons: &["verification_failed"],
        litter: &["sub/target/CACHEDIR.TAG"],
        coverage: &[],
    };
    let _ = check(&marked);
    let unmarked = format!("{build} && rm target/CACHEDIR.TAG");
    let _ = check(&Row { project: &CARGO, does: unmarked, reasons: PRODUCT, litter: &[], coverage: &[] });
    let honest = format!("{GOOD_RS} && cargo test --offline");
    let _ = check(&Row {
        project: &CARGO,
        does: honest,
        reasons: &[],
        litter: &["sub/target/CACHEDIR.TAG"],
        coverage: &[],
    });
}

/// Files of one patch, by the path that a blocker must name and the bytes that `printf` makes of them.
type Files = &'static [(&'static str, &'static str)];

const REFUSED: &[(&str, Files)] = &[
    (
        "programs and objects",
        &[
            ("src/logo.png", "\\177ELF\\002\\001\\000"),
            ("src/a.wasm", "\\000asm\\001\\000"),
            ("src/data", "\\247\\r\\r\\n\\000\\000"),
            ("src/A", "\\312\\376\\272\\276\\000\\000"),
            ("src/liba.a", "!<arch>\\n\\000"),
        ],
    ),
    (
        "archives and what is nothing known",
        &[
            ("src/a.jar", "PK\\003\\004\\000\\000A.class\\000"),
            ("src/cache.db", "SQLite format 3\\000"),
            ("art/polyglot.png", "\\211PNG\\r\\n\\032\\n\\000PK\\005\\006\\000\\000"),
            ("art/picture.gif", "\\211PNG\\r\\n\\032\\n\\000"),
            ("src/a.txt", "a\\000b"),
        ],
    ),
    (
        "text by which tools know what is fresh",
        &[
            ("src/.fingerprint/lib-a", "1"),
            ("src/tsconfig.tsbuildinfo", "{}"),
            ("src/all.stamp", ""),
            ("src/__pycache__/a", "1"),
        ],
    ),
    ("a program that belongs to the tests", &[("tests/helper", "\\177ELF\\002\\001\\000")]),
    ("a program of the baseline that starts builds", &[("gradle/wrapper/gradle-wrapper.jar", "PK\\003\\004\\000two")]),
];

fn write(files: &[(&str, &str)]) -> String {
    let each = files.iter().map(|(path, bytes)| format!("mkdir -p $(dirname {path}) && printf '{bytes}' > {path}"));
    each.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_machines_run_is_refused_by_content_whatever_its_name() {
    each_row(REFUSED.iter().copied(), |files| {
        let world = check(&Row { reasons: PRODUCT, ..passes(&PLAIN, &write(files)) });
        let report = world.cto(["show", "@", "--json"]).expect(0).text();
        for (path, _) in files {
            assert!(report.contains(&format!("`{path}` (")), "{path}: {report}");
        }
    });
}

#[test]
fn what_people_draw_write_and_name_is_carried() {
    let files = [
        ("art/logo.png", "\\211PNG\\r\\n\\032\\n\\000\\000"),
        ("art/text.ttf", "\\000\\001\\000\\000\\000\\014"),
        ("art/paper.pdf", "%%PDF-1.7\\n\\342\\343\\000"),
        ("src/latin.txt", "caf\\351\\n"),
        ("src/wide.txt", "\\377\\376a\\000\\n\\000"),
        ("tests/data.bin", "a\\000b"),
    ];
    let _ = check(&passes(&PLAIN, &format!("{}\nchmod +x bin/tool.bin", write(&files))));
    let coverage = &["product_not_rebuilt"];
    for named in [
        [("lib/named.wasm", "\\000asm\\001\\000")],
        [("bin/tool.bin", "x\\000y")],
        [("lib/tool.jar", "PK\\003\\004\\000two")],
    ] {
        let _ = check(&Row { coverage, ..passes(&PLAIN, &write(&named)) });
    }
}

#[test]
fn what_a_tool_marks_as_its_own_is_litter_and_nothing_else_is() {
    let leaves = "mkdir -p .pytest_cache/v out .venv
        echo '*' > .pytest_cache/.gitignore; echo 1 > .pytest_cache/v/x
        echo 'Signature: 8a477f597d28d172789f06886806bc55' > out/CACHEDIR.TAG; printf '\\177ELF\\000' > out/a.o
        echo '*' > .venv/.gitignore; ln -s /usr/bin/python3 .venv/python
        echo 'version = 3' > Cargo.lock";
    let litter = &[".pytest_cache/v/x", "out/a.o", ".venv/python", "Cargo.lock"];
    // The baseline has files there: a mark hides nothing, and rules that the run added are dirt.
    let planted = passes(&PLAIN, "echo '*' > src/.gitignore && echo 1 > src/new.sh");
    let tagged =
        "echo 'Signature: 8a477f597d28d172789f06886806bc55' > bin/CACHEDIR.TAG; printf '\\177ELF\\000' > bin/a.o";
    // A manifest that changed needs its lock file, so that it is judged like any other path.
    let wanted = passes(&PLAIN, "echo '[package]' > src/Cargo.toml && echo 'version = 3' > Cargo.lock");
    let rows = [
        ("folders of tools", Row { litter, ..passes(&PLAIN, leaves) }),
        ("an ignore file among sources", Row { reasons: &["dirty_ending_tree"], ..planted }),
        ("a cache tag among programs", Row { reasons: PRODUCT, ..passes(&PLAIN, tagged) }),
        ("a lock file that is wanted", Row { reasons: &["disallowed_file_change"], ..wanted }),
    ];
    each_row(rows, |row| drop(check(&row)));
}

/// The times that a check's tree shows, to whom they were shown.
#[test]
fn times_never_make_a_product_look_fresh() {
    let world = super::world_with(
        &Project {
            files: &[
                ("a.txt", "one\n"),
                ("w/old.ts", "1\n"),
                ("w/old.js", "1\n"),
                ("g/p.y", "1\n"),
                ("g/p.c", "1\n"),
                ("same.txt", "1\n"),
                ("art/a.png", "1\n"),
            ],
            allowed: "['**']",
            commands: "[[sh, -c, 'stat -c \"%n %Y\" a.txt same.txt w/old.js g/p.c art/a.png; grep -qx two a.txt']]",
        },
        "printf 'two\\n' > a.txt; echo 2 > w/old.js; echo 2 > g/p.c; printf '\\211PNG\\r\\n\\032\\n\\000' > art/a.png",
    );
    let (report, bundle) = world.run("./made", 0);
    let log = fs::read_to_string(bundle.join("test.log")).unwrap();
    let exam = log.split("== exam 1").nth(1).unwrap();
    let age = |name: &str| -> i64 {
        let line = exam.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap();
        line.parse::<i64>().unwrap() - tree::TREE_TIME
    };
    assert_eq!((age("same.txt"), age("a.txt"), age("art/a.png")), (0, 1, -1), "{exam}");
    // Neither tsc nor bison is shown in the sandbox of a plain machine.
    let generated = |program: &str, name: &str| {
        let there = ["/usr/bin", "/bin"].iter().any(|dir| std::path::Path::new(dir).join(program).exists());
        (age(name), if there { -1 } else { 2 }, there)
    };
    for (found, expected, there) in [generated("tsc", "w/old.js"), generated("bison", "g/p.c")] {
        assert_eq!(found, expected, "{exam}");
        let says = report["coverage"].as_array().unwrap().contains(&json!("product_not_rebuilt"));
        assert!(there || says, "{}", report["coverage"]);
    }
}

/// In a repetition years later, a product that was carried under other rules blocks the run.
#[test]
fn a_carried_product_is_found_again() {
    let world =
        super::world_with(&PLAIN, "printf 'two\\n' > a.txt; mkdir -p lib; printf '\\000asm\\001' > lib/named.wasm");
    let _ = world.run("./made", 0);
    let same = world.cto(["reverify", "@", "--json"]).expect(0).json();
    let coverage = |document: &Value| document.to_string().contains("product_not_rebuilt");
    assert!(coverage(&same), "{same}");
    let stricter =
        testkit::contract_text(&[("allowed_paths", "[a.txt, lib/]"), ("verification_commands", PLAIN.commands)]);
    world.write("stricter.yaml", stricter);
    let held = world.cto(["reverify", "@", "--contract", "stricter.yaml", "--json"]).expect(1).json();
    assert!(held.to_string().contains("build_product_in_patch"), "{held}");
}
