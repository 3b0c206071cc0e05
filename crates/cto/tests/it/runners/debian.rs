//! RSpec, PHPUnit and Maven as Debian has them.

use std::path::Path;

use serde_json::json;

use super::{Project, WEAKENED, check};

/// True if everything is there; a skip with its reason if not.
fn are_there(test: &str, files: &[&str]) -> bool {
    match files.iter().find(|file| !Path::new(file).exists()) {
        Some(missing) => {
            testkit::skip(test, &format!("no {missing}"));
            false
        }
        None => true,
    }
}

#[test]
fn rspec() {
    if !are_there("runners::debian::rspec", &["/usr/bin/rspec"]) {
        return;
    }
    check(&Project {
        runner: "rspec",
        files: &[(
            "spec/adder_spec.rb",
            "require_relative '../lib/adder'\n\nRSpec.describe 'add' do\n  it('adds') { expect(add(1, 1)).to eq 2 }\n  it('stays') { expect(add(1, 0)).to eq 1 }\n  it('later')\nend\n",
        )],
        source: "lib/adder.rb",
        broken: "def add(a, b) = a - b\n",
        mended: "def add(a, b) = a + b\n",
        exits: "def add(a, b) = exit!(0)\n",
        wrong: "def add(a, b) = a - b - 0\n",
        command: json!(["rspec", "--format", "documentation"]),
        environment: json!({}),
        failing: "add > adds",
        when_it_exits: WEAKENED,
        skipping: Some(("it('stays')", "xit('stays')")),
    });
}

#[test]
fn phpunit() {
    if !are_there("runners::debian::phpunit", &["/usr/bin/phpunit", "/usr/bin/php"]) {
        return;
    }
    check(&Project {
        runner: "phpunit",
        files: &[(
            "tests/AdderTest.php",
            "<?php\nrequire_once __DIR__ . '/../src/adder.php';\n\nfinal class AdderTest extends PHPUnit\\Framework\\TestCase\n{\n    public function testAdds(): void\n    {\n        $this->assertSame(2, add(1, 1));\n    }\n\n    public function testStays(): void\n    {\n        $this->assertSame(1, add(1, 0));\n    }\n\n    public function testLater(): void\n    {\n        $this->markTestSkipped('later');\n    }\n}\n",
        )],
        source: "src/adder.php",
        broken: "<?php\nfunction add($a, $b)\n{\n    return $a - $b;\n}\n",
        mended: "<?php\nfunction add($a, $b)\n{\n    return $a + $b;\n}\n",
        exits: "<?php\nfunction add($a, $b)\n{\n    exit(0);\n}\n",
        wrong: "<?php\nfunction add($a, $b)\n{\n    return $a - $b - 0;\n}\n",
        command: json!(["phpunit", "--testdox", "tests"]),
        environment: json!({}),
        failing: "Adder > Adds",
        when_it_exits: WEAKENED,
        skipping: None,
    });
}

#[test]
fn surefire() {
    let files = [
        "/usr/bin/mvn",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-compiler-plugin",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-resources-plugin",
        "/usr/share/maven-repo/junit/junit",
    ];
    if !are_there("runners::debian::surefire", &files) {
        return;
    }
    // Settings of Maven may hold passwords: a sandbox shows what it starts with and nothing else.
    let shown = crate::world().cto(["sandbox", "--", "ls", "/etc/maven"]);
    assert!(shown.text().contains("m2.conf") && !shown.text().contains("settings.xml"), "{}", shown.text());
    check(&Project {
        runner: "maven",
        files: &[
            (".gitignore", "target/\n"),
            ("pom.xml", include_str!("adder.pom.xml")),
            (
                "src/test/java/demo/AdderTest.java",
                "package demo;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Ignore;\nimport org.junit.Test;\n\npublic class AdderTest {\n  @Test public void adds() { assertEquals(2, Adder.add(1, 1)); }\n\n  @Test public void stays() { assertEquals(1, Adder.add(1, 0)); }\n\n  @Ignore @Test public void later() {}\n}\n",
            ),
        ],
        source: "src/main/java/demo/Adder.java",
        broken: "package demo;\n\npublic class Adder {\n  public static int add(int a, int b) { return a - b; }\n}\n",
        mended: "package demo;\n\npublic class Adder {\n  public static int add(int a, int b) { return a + b; }\n}\n",
        exits: "package demo;\n\npublic class Adder {\n  public static int add(int a, int b) { Runtime.getRuntime().halt(0); return 0; }\n}\n",
        wrong: "package demo;\n\npublic class Adder {\n  public static int add(int a, int b) { return a - b - 0; }\n}\n",
        command: json!(["mvn", "-o", "-B", "-Dmaven.repo.local=/usr/share/maven-repo", "test"]),
        environment: json!({}),
        failing: "demo.AdderTest::adds",
        when_it_exits: &["verification_weakened", "verification_failed"],
        skipping: None,
    });
}
