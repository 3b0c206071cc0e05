//! The table as a program for the kernel's filter machine.

use libc::{ENOSYS, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF, sock_filter};

use super::table::{Action, Is, LAST_KNOWN, Rule, Test, rules};

/// Offsets in `struct seccomp_data`; both processors are little-endian, so the low half of an argument comes first.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGS: u32 = 16;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER: u16 = 0x25;
const JUMP_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

#[cfg(target_arch = "x86_64")]
const HERE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const HERE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const HERE: Option<u32> = None;

/// The filter; `None` on a processor whose calls nobody has looked at. Without a listener, what would be reported is refused
/// all the same, and what would be recorded is allowed.
pub(crate) fn build(listener: bool) -> Option<Vec<sock_filter>> {
    let mut program = vec![
        load(ARCH),
        // Calls of another processor mode (i386) have other numbers and would pass for something else.
        jump(JUMP_EQUAL, HERE?, 1, 0),
        give(refusal(ENOSYS)),
        load(NUMBER),
        // Newer calls, and those of the x32 mode, which have a high bit set.
        jump(JUMP_GREATER, LAST_KNOWN, 0, 1),
        give(refusal(ENOSYS)),
    ];
    for rule in rules() {
        if rule.action == Action::Record && !listener {
            continue;
        }
        program.extend(section(rule, verdict(rule.action, listener))?);
    }
    program.push(give(SECCOMP_RET_ALLOW));
    Some(program)
}

fn verdict(action: Action, listener: bool) -> u32 {
    match action {
        Action::Report(_) | Action::Record if listener => SECCOMP_RET_USER_NOTIF,
        Action::Refuse(errno) | Action::Report(errno) => refusal(errno),
        Action::Record => SECCOMP_RET_ALLOW,
    }
}

fn refusal(errno: i32) -> u32 {
    SECCOMP_RET_ERRNO | errno.unsigned_abs()
}

/// Entered and left with the call's number loaded.
fn section(rule: &Rule, verdict: u32) -> Option<Vec<sock_filter>> {
    let mut body: Vec<sock_filter> = Vec::new();
    // Built backwards, because a test that fails jumps behind what comes after it.
    let after = if rule.when.is_empty() { vec![] } else { vec![load(NUMBER)] };
    body.push(give(verdict));
    for test in rule.when.iter().rev() {
        let mut tested = self::test(test, u8::try_from(body.len()).ok()?)?;
        tested.append(&mut body);
        body = tested;
    }
    let skip = u8::try_from(body.len() + after.len()).ok()?;
    let mut section = vec![jump(JUMP_EQUAL, u32::try_from(rule.number).ok()?, 0, skip)];
    section.append(&mut body);
    section.extend(after);
    Some(section)
}

/// Goes on if the test holds, else skips `rest` instructions.
fn test(test: &Test, rest: u8) -> Option<Vec<sock_filter>> {
    let mut code = vec![load(ARGS + 8 * test.arg)];
    match test.is {
        Is::AnyBit(bits) => code.push(jump(JUMP_SET, bits, 0, rest)),
        Is::OneOf(values) => {
            for (left, value) in (0..values.len()).rev().zip(values) {
                let last = left == 0;
                code.push(jump(JUMP_EQUAL, *value, u8::try_from(left).ok()?, if last { rest } else { 0 }));
            }
        }
        Is::NoneOf(values) => {
            for (left, value) in (0..values.len()).rev().zip(values) {
                code.push(jump(JUMP_EQUAL, *value, rest.checked_add(u8::try_from(left).ok()?)?, 0));
            }
        }
    }
    Some(code)
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn give(value: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: value }
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use super::*;

    /// Runs the program as the kernel would.
    fn judge(program: &[sock_filter], arch: u32, number: u32, args: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = program[at];
            let hit = match step.code {
                LOAD => {
                    value = match step.k {
                        NUMBER => number,
                        ARCH => arch,
                        offset => args[usize::try_from((offset - ARGS) / 8).unwrap()],
                    };
                    at += 1;
                    continue;
                }
                RETURN => return step.k,
                JUMP_EQUAL => value == step.k,
                JUMP_GREATER => value > step.k,
                JUMP_SET => value & step.k != 0,
                code => panic!("unknown instruction {code}"),
            };
            at += 1 + usize::from(if hit { step.jt } else { step.jf });
        }
    }

    #[test]
    fn calls_are_judged_by_number_and_arguments() {
        let here = HERE.unwrap();
        let number = |number: libc::c_long| u32::try_from(number).unwrap();
        let eperm = refusal(libc::EPERM);
        let family = refusal(libc::EAFNOSUPPORT);
        let creates = u32::try_from(libc::O_CREAT).unwrap();
        let user = u32::try_from(libc::CLONE_NEWUSER).unwrap();
        let cases = [
            (number(libc::SYS_read), [0; 6], SECCOMP_RET_ALLOW),
            (number(libc::SYS_mount), [0; 6], eperm),
            (number(libc::SYS_clone3), [0; 6], refusal(ENOSYS)),
            (number(libc::SYS_clone), [17, 0, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_clone), [user | 17, 0, 0, 0, 0, 0], eperm),
            (number(libc::SYS_unshare), [0x400, 0, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_unshare), [NEW_TIME_BIT, 0, 0, 0, 0, 0], eperm),
            (number(libc::SYS_socket), [1, 1, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_socket), [2, 1, 6, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_socket), [10, 2, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_socket), [16, 3, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_socket), [16, 3, 12, 0, 0, 0], family),
            (number(libc::SYS_socket), [40, 1, 0, 0, 0, 0], family),
            (number(libc::SYS_openat), [0, 0, creates, 0o644, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_openat), [0, 0, 0, 0o4755, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_openat), [0, 0, creates, 0o4755, 0, 0], eperm),
            (number(libc::SYS_fchmod), [3, 0o755, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_fchmod), [3, 0o2755, 0, 0, 0, 0], eperm),
            (number(libc::SYS_ioctl), [0, 0x5413, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_ioctl), [0, 0x5412, 0, 0, 0, 0], eperm),
            (number(libc::SYS_ioctl), [0, 0x5423, 0, 0, 0, 0], eperm),
            (number(libc::SYS_personality), [u32::MAX, 0, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_personality), [0x40_0000, 0, 0, 0, 0, 0], eperm),
            (LAST_KNOWN + 1, [0; 6], refusal(ENOSYS)),
            (0x4000_0000 | number(libc::SYS_read), [0; 6], refusal(ENOSYS)),
            (u32::MAX, [0; 6], refusal(ENOSYS)),
        ];
        let (silent, heard) = (build(false).unwrap(), build(true).unwrap());
        for (number, args, expected) in cases {
            assert_eq!(judge(&silent, here, number, args), expected, "call {number} {args:?}");
            let reported = expected != SECCOMP_RET_ALLOW && expected != refusal(ENOSYS);
            let expected = if reported { SECCOMP_RET_USER_NOTIF } else { expected };
            assert_eq!(judge(&heard, here, number, args), expected, "call {number} {args:?} with a listener");
        }
        let execve = number(libc::SYS_execve);
        assert_eq!(judge(&silent, here, execve, [0; 6]), SECCOMP_RET_ALLOW);
        assert_eq!(judge(&heard, here, execve, [0; 6]), SECCOMP_RET_USER_NOTIF);
        assert_eq!(judge(&silent, 0x4000_0003, number(libc::SYS_read), [0; 6]), refusal(ENOSYS));
    }

    const NEW_TIME_BIT: u32 = 0x80;
}
