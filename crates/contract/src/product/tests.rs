use super::*;

#[test]
fn kinds_are_told_by_content_and_where_it_matters_by_name() {
    use ContentKind::{Binary, Inert, Machine, Text};
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
    let zipped = [PNG, b"PK\x05\x06".as_slice(), &[0; 18]].concat();
    let utf16: Vec<u8> =
        [0xfeff_u16].into_iter().chain("caf\u{e9}\r\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let cut = &utf16[..utf16.len() - 1];
    let rows: &[(&str, &[u8], ContentKind)] = &[
        ("a.c", b"int main;\n", Text),
        ("a.o", b"", Text),
        ("a.txt", "caf\u{e9} \u{1f980}\x1b[1m".as_bytes(), Text),
        ("a.txt", b"caf\xe9, \x93quoted\x94\r\n", Text),
        ("a.txt", b"caf\xe9\x01", Binary),
        ("a.txt", b"a\0b", Binary),
        ("a.txt", &utf16, Text),
        ("a.txt", cut, Binary),
        ("a.txt", b"\xff\xfe\0\0a\0\0\0", Binary),
        ("a.png", PNG, Inert),
        ("A.PNG", PNG, Inert),
        ("a.gif", PNG, Binary),
        ("png", PNG, Binary),
        ("a.png", &zipped, Binary),
        ("a.ttf", b"\0\x01\0\0\0\x0c", Inert),
        ("a.pdf", b"%PDF-1.7\n\xe2\xe3\xcf\xd3\0", Inert),
        ("a.png", b"\x7fELF\x02\x01\x01\0", Machine("an ELF file")),
        ("a.dat", b"\0asm\x01\0\0\0", Machine("WebAssembly")),
        ("a", b"\xcb\x0d\r\n\0\0\0\0", Machine("bytecode of Python")),
        ("liba.a", b"!<arch>\n\0", Machine("an archive of objects")),
        ("a.jar", b"PK\x03\x04\0\0A.class\0", Machine("an archive of code")),
        ("a.zip", b"PK\x03\x04\0\0a.csv\0", Binary),
        ("a.db", b"SQLite format 3\0", Binary),
    ];
    for (path, bytes, expected) in rows {
        assert_eq!(content_kind(path.as_bytes(), bytes), *expected, "{path} {}", bytes.escape_ascii());
    }
}

#[test]
fn names_of_tools() {
    for (path, leftover) in [
        ("a/__pycache__/b.py", true),
        ("__pycache__", false),
        ("sub/.fingerprint/a/lib-a", true),
        ("a.pyc", true),
        ("a/tsconfig.tsbuildinfo", true),
        ("out/CACHEDIR.TAG", true),
        ("build/CMakeCache.txt", true),
        ("src/node_modules.rs", false),
        ("src/stamp.c", false),
        ("CMakeLists.txt", false),
    ] {
        assert_eq!(tool_leftover(path.as_bytes()).is_some(), leftover, "{path}");
    }
}

#[test]
fn folders_mark_themselves() {
    for (name, text, marks) in [
        (".gitignore", "# Created by pytest automatically.\n*\n", true),
        (".gitignore", "*\r\n", true),
        (".gitignore", "*\n!keep\n", false),
        (".gitignore", "*.o\n", false),
        (".gitignore", "# *\n", false),
        (".gitignore", "", false),
        ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# cargo", true),
        ("CACHEDIR.TAG", "a cache", false),
        ("gitignore", "*\n", false),
    ] {
        assert_eq!(marks_cache_folder(name.as_bytes(), text.as_bytes()), marks, "{name} {text:?}");
    }
}

#[test]
fn generated_text_is_known_by_its_source() {
    let paths = ["g/parse.y", "g/scan.l", "w/a.ts", "w/b.tsx", "p/msg.proto", "x/fast.pyx", "s/main.scss"];
    let exists = |path: &[u8]| paths.iter().any(|known| known.as_bytes() == path);
    for (path, program) in [
        ("g/parse.c", Some("bison")),
        ("g/parse.tab.h", Some("bison")),
        ("g/scan.c", Some("flex")),
        ("w/a.js", Some("tsc")),
        ("w/b.d.ts", Some("tsc")),
        ("p/msg_pb2.py", Some("protoc")),
        ("p/msg.pb.go", Some("protoc")),
        ("x/fast.c", Some("cython")),
        ("s/main.css", Some("sass")),
        ("parse.c", None),
        ("w/other.js", None),
        ("w/a.ts", None),
        ("w/.js", None),
    ] {
        let found = generator_of(path.as_bytes(), exists).map(|generator| generator.programs[0]);
        assert_eq!(found, program, "{path}");
    }
}
