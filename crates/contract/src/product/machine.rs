//! Magic numbers of files that machines and interpreters run.

/// Offset of the number, the number, and the kind of file it marks.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x7fELF", "an ELF file"),
    (0, b"MZ", "a Windows executable"),
    (0, b"\xfe\xed\xfa\xce", "a Mach-O file"),
    (0, b"\xfe\xed\xfa\xcf", "a Mach-O file"),
    (0, b"\xce\xfa\xed\xfe", "a Mach-O file"),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O file"),
    (0, b"\xca\xfe\xba\xbe", "a class of Java or a fat Mach-O file"),
    (0, b"\xca\xfe\xd0\x0d", "classes of Java, packed"),
    (0, b"\0asm", "WebAssembly"),
    (0, b"!<arch>\n", "an archive of objects"),
    (0, b"!<thin>\n", "an archive of objects"),
    (0, b"BC\xc0\xde", "bytecode of LLVM"),
    (0, b"\x1bLua", "bytecode of Lua"),
    (0, b"\x1bLJ", "bytecode of LuaJIT"),
    (0, b"dex\n", "bytecode of Android"),
    (0, b"RITE", "bytecode of mruby"),
    (0, b"YARB", "bytecode of Ruby"),
    (0, b"\xc6\x1f\xbc\x03\xc1\x03\x19\x1f", "bytecode of Hermes"),
    (0, b"gpch", "a precompiled header"),
    (0, b"CPCH", "a precompiled header"),
    (0, b"rust\0", "metadata of rustc"),
    (8, b"BEAM", "bytecode of Erlang"),
    // The compiler's version in two bytes, then always these two.
    (2, b"\r\n", "bytecode of Python"),
];

/// Archives whose members may be any of those.
const ARCHIVES: &[&[u8]] = &[b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"];

/// Names of members that make an archive one of code.
const MEMBERS: &[&[u8]] = &[b".class", b".pyc", b".dex", b".so", b".dll", b".py", b".js", b"META-INF/"];

/// Names what runs, if it is that.
pub(super) fn machine_kind(bytes: &[u8]) -> Option<&'static str> {
    let begins = |at: usize, magic: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(magic));
    let known = MAGIC.iter().find(|(at, magic, _)| begins(*at, magic)).map(|(_, _, kind)| *kind);
    let archive = ARCHIVES.iter().any(|magic| begins(0, magic));
    let holds = |member: &&[u8]| bytes.windows(member.len()).any(|window| window == *member);
    known.or_else(|| (archive && MEMBERS.iter().any(holds)).then_some("an archive of code"))
}
