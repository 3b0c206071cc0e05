//! Text that a generator makes from a file beside it.

/// A program family that makes text from text.
#[derive(Debug, PartialEq, Eq)]
pub struct Generator {
    /// Endings of its sources.
    sources: &'static [&'static str],
    /// Endings that follow a source's stem in the names of generated files.
    makes: &'static [&'static str],
    /// Alternative programs; one of them is enough.
    pub programs: &'static [&'static str],
}

const GENERATORS: &[Generator] = &[
    Generator {
        sources: &[".y", ".yy", ".ypp"],
        makes: &[".c", ".h", ".cc", ".cpp", ".hh", ".hpp", ".tab.c", ".tab.h", ".tab.cc", ".tab.hh"],
        programs: &["bison", "yacc", "byacc"],
    },
    Generator {
        sources: &[".l", ".ll", ".lex"],
        makes: &[".c", ".h", ".cc", ".cpp", ".yy.c", ".yy.cc"],
        programs: &["flex", "lex"],
    },
    Generator {
        sources: &[".ts", ".tsx", ".mts", ".cts"],
        makes: &[".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".js.map"],
        programs: &["tsc", "esbuild", "swc", "babel"],
    },
    Generator {
        sources: &[".proto"],
        makes: &[
            "_pb2.py",
            "_pb2.pyi",
            "_pb2_grpc.py",
            ".pb.go",
            "_grpc.pb.go",
            ".pb.cc",
            ".pb.h",
            "_pb.js",
            "_pb.ts",
            "_pb.d.ts",
        ],
        programs: &["protoc", "buf"],
    },
    Generator { sources: &[".pyx"], makes: &[".c", ".cpp"], programs: &["cython", "cython3"] },
    Generator { sources: &[".scss", ".sass"], makes: &[".css", ".css.map"], programs: &["sass", "sassc", "node-sass"] },
    Generator { sources: &[".less"], makes: &[".css", ".css.map"], programs: &["lessc"] },
];

/// The generator that makes this path from a file beside it, where `exists` finds such a file.
pub fn generator_of(path: &[u8], exists: impl Fn(&[u8]) -> bool) -> Option<&'static Generator> {
    let made_by = |generator: &&Generator| {
        let stems = generator.makes.iter().filter_map(|made| path.strip_suffix(made.as_bytes()));
        let is_name = |stem: &&[u8]| stem.last().is_some_and(|byte| *byte != b'/');
        let mut sources = stems.filter(is_name).flat_map(|stem| generator.sources.iter().map(move |end| (stem, end)));
        sources.any(|(stem, end)| {
            let source = [stem, end.as_bytes()].concat();
            source != path && exists(&source)
        })
    };
    GENERATORS.iter().find(made_by)
}
