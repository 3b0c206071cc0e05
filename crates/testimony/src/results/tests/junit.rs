use super::{Left, check, out};

fn report(document: &str) -> String {
    format!("<testsuites>{document}</testsuites>")
}

#[test]
fn identities_of_several_producers() {
    let checked = |document: &str, expected: &[&str]| {
        let document = report(document);
        check(&Left { files: &[("r.xml", &document)], ..Left::default() }, expected);
        check(&out(&format!("words\n  {document}\nmore <words\n")), expected);
    };
    checked(
        "<testsuite name='s'><testcase classname='a.B' name='one'/><testcase classname='a.B' name='one'>\
         <failure>x</failure></testcase><testcase classname='a.B' name='two'><skipped/></testcase></testsuite>",
        &["junit 2/1/1", "+ a.B::one", "- a.B::one ⟨2⟩", ". a.B::two"],
    );
    // Node names suites and gives no class worth the name; the place of the tree is no part of an identity.
    checked(
        "<testcase name='top' classname='test' file='/tmp/x/a.test.js'/><testsuite name='outer'><testsuite name='inner'>\
         <testcase name='t' classname='test'><error/></testcase></testsuite><testcase name='u'/></testsuite>",
        &["junit 3/1/0", "+ a.test.js::top", "- outer > inner::t", "+ outer::u"],
    );
    checked(
        "<testsuite name='g'><testcase name='off' status='notrun' result='suppressed' classname='G'/>\
         <testcase name='on' status='run' result='completed' classname='G' file='src/g.cc'/></testsuite>",
        &["junit 1/0/1", ". G::off", "+ src/g.cc::G::on"],
    );
    checked("", &["junit 0/0/0"]);
}

#[test]
fn a_report_of_what_is_printed_too() {
    let document =
        report("<testcase classname='test' name='a'/><testcase classname='test' name='b'><failure/></testcase>");
    let printed = "✔ a (0.1ms)\n✖ b (0.1ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\nℹ duration_ms 1\n";
    let files = &[("out.xml", document.as_str())];
    let named = "node --test --test-reporter-destination=out.xml";
    check(&Left { argv: named, stdout: printed, files, ..Left::default() }, &["node 2/1/0", "+ a", "- b"]);
    let fewer = "✔ a (0.1ms)\n✔ b (0.1ms)\n✔ c (0.1ms)\nℹ tests 3\nℹ pass 3\nℹ duration_ms 1\n";
    check(&Left { argv: named, stdout: fewer, files, ..Left::default() }, &["node 2/1/0", "+ a", "+ b", "+ c"]);
    // Nothing says that the two are of one command.
    let both = ["node 4/2/0", "+ a", "+ a ⟨2⟩", "- b", "- b ⟨2⟩"];
    check(&Left { argv: "make test", stdout: printed, files, ..Left::default() }, &both);
}

#[test]
fn entities_are_not_expanded() {
    let bomb = "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY lol 'lol'><!ENTITY lol2 '&lol;&lol;&lol;'>\
        <!ENTITY xxe SYSTEM 'file:///etc/passwd'> <!-- <testcase name='c'/> -->]>\
        <testsuite name='s'><testcase classname='&lol2;' name='&xxe;&amp;lt;&#65;&#x42;&#xd800;&#;&'/></testsuite>";
    let expected = ["junit 1/0/0", "+ &lol2;::&xxe;&lt;AB&#xd800;&#;&"];
    check(&Left { files: &[("r.xml", bomb)], ..Left::default() }, &expected);
}

#[test]
fn what_is_not_a_tag_is_no_test() {
    let document = report(
        "<!-- <testcase name='a'/> --><testsuite name='s > t'><system-out><![CDATA[it's <testcase name='b'/>]]></system-out>\
         <?pi <testcase name='c'/> ?><testcase name='d > e' classname=\"it's\"><failure message='</testcase>'/></testcase>\
         </testsuite>",
    );
    check(&Left { files: &[("r.xml", &document)], ..Left::default() }, &["junit 1/1/0", "- it's::d > e"]);
}

#[test]
fn documents_that_are_cut_off() {
    let whole =
        report("<testsuite name='s'><testcase classname='a' name='one'/><testcase classname='a' name='two'><failure>");
    check(&Left { files: &[("r.xml", &whole)], ..Left::default() }, &["junit 2/1/0", "+ a::one", "- a::two"]);
    for (cut, expected) in
        [("<testsuites", &[][..]), ("<testsuites>", &["junit 0/0/0"]), ("<html><testcase name='a'/>", &[])]
    {
        check(&Left { files: &[("r.xml", cut)], ..Left::default() }, expected);
    }
}
