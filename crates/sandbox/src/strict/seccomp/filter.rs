//! The table as a program for the kernel's filter machine.

use libc::{ENOSYS, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF, sock_filter};

use super::table::{Action, CallRule, Is, LAST_KNOWN, Test, rules};

/// Offsets in `struct seccomp_data`; both processors are little-endian, so the low half of
/// an argument comes first.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGS: u32 = 16;

/// Rules in a group: few enough for a jump over all of them, and near the root of their number.
const GROUP: usize = 8;

/// An argument that no call of the probe has otherwise.
const SPARE: u32 = 5;

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
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

/// Receiver of reports about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Calls that would be reported are refused all the same, and those that would be
    /// recorded are allowed.
    Nobody,
    /// A listener, except for calls that carry this word. They are judged as if there were
    /// none, so that the probe does not wait for the stage each time. When the program
    /// runs, the word is forgotten.
    ListenerBut(u64),
}

/// The filter; `None` on a processor for which there is no table.
pub(crate) fn build_filter(audience: Audience) -> Option<Vec<sock_filter>> {
    let mut program = vec![
        load(ARCH),
        // Calls of another processor mode (i386) have other numbers and would pass for
        // something else.
        jump(JUMP_EQUAL, HERE?, 1, 0),
        give(refusal(ENOSYS)),
        load(NUMBER),
        // Newer calls, and those of the x32 mode, which have a high bit set.
        jump(JUMP_GREATER, LAST_KNOWN, 0, 1),
        give(refusal(ENOSYS)),
    ];
    let heard =
        |rule: &&CallRule| audience != Audience::Nobody || !matches!(rule.action, Action::Record | Action::Note);
    let mut rules: Vec<&CallRule> = rules().filter(heard).collect();
    // Of the rules about one call, the first that fits decides: their order stays.
    rules.sort_by_key(|rule| rule.number);
    for group in rules.chunks(GROUP) {
        program.extend(grouped(group, audience)?);
    }
    program.push(give(SECCOMP_RET_ALLOW));
    if let Audience::ListenerBut(word) = audience {
        append_questions(&mut program, word)?;
    }
    Some(program)
}

/// Completes each open jump: leads it to the test whether the call carries the word.
fn append_questions(program: &mut Vec<sock_filter>, word: u64) -> Option<()> {
    let (low, high) = (u32::try_from(word & u64::from(u32::MAX)).ok()?, u32::try_from(word >> 32).ok()?);
    let mut known: Vec<(u32, usize)> = Vec::new();
    for at in 0..program.len() {
        let step = *program.get(at)?;
        if step.code != JUMP {
            continue;
        }
        let quiet = step.k;
        let target = match known.iter().find(|(verdict, _)| *verdict == quiet) {
            Some((_, target)) => *target,
            None => {
                known.push((quiet, program.len()));
                program.extend([
                    load(ARGS + 8 * SPARE),
                    jump(JUMP_EQUAL, low, 0, 3),
                    load(ARGS + 8 * SPARE + 4),
                    jump(JUMP_EQUAL, high, 0, 1),
                    give(quiet),
                    give(SECCOMP_RET_USER_NOTIF),
                ]);
                program.len() - 6
            }
        };
        program.get_mut(at)?.k = u32::try_from(target - at - 1).ok()?;
    }
    Some(())
}

/// The rules of a range of numbers, behind one test that skips them all: the kernel runs
/// the filter for every call there is when it is installed, and for many of them whenever
/// they are made.
fn grouped(rules: &[&CallRule], audience: Audience) -> Option<Vec<sock_filter>> {
    let mut sections = Vec::new();
    for rule in rules {
        sections.extend(section(rule, verdict(rule.action, audience))?);
    }
    let last = u32::try_from(rules.last()?.number).ok()?;
    let mut group = vec![jump(JUMP_GREATER, last, u8::try_from(sections.len()).ok()?, 0)];
    group.append(&mut sections);
    Some(group)
}

/// The last step of a rule. A jump is still open, and holds the verdict for calls that
/// carry the word.
fn verdict(action: Action, audience: Audience) -> sock_filter {
    let open = |quiet: u32| sock_filter { code: JUMP, jt: 0, jf: 0, k: quiet };
    match (action, audience) {
        (Action::Refuse(errno), _) => give(refusal(errno)),
        (Action::Report(errno) | Action::OwnThread { errno, .. }, Audience::Nobody) => give(refusal(errno)),
        (Action::Record | Action::Note | Action::OwnFamily { .. }, Audience::Nobody) => give(SECCOMP_RET_ALLOW),
        (
            Action::Report(errno) | Action::OwnThread { errno, .. } | Action::OwnFamily { errno, .. },
            Audience::ListenerBut(_),
        ) => open(refusal(errno)),
        (Action::Note, Audience::ListenerBut(_)) => open(SECCOMP_RET_ALLOW),
        (Action::Record, Audience::ListenerBut(_)) => give(SECCOMP_RET_USER_NOTIF),
    }
}

fn refusal(errno: i32) -> u32 {
    SECCOMP_RET_ERRNO | errno.unsigned_abs()
}

/// Entered and left with the call's number loaded.
fn section(rule: &CallRule, verdict: sock_filter) -> Option<Vec<sock_filter>> {
    let mut body: Vec<sock_filter> = Vec::new();
    // Built backwards, because a test that fails jumps behind what comes after it.
    let after = if rule.when.is_empty() { vec![] } else { vec![load(NUMBER)] };
    body.push(verdict);
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
        judge_with(program, arch, number, args.map(u64::from))
    }

    fn judge_with(program: &[sock_filter], arch: u32, number: u32, args: [u64; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = program[at];
            let hit = match step.code {
                LOAD => {
                    value = match step.k {
                        NUMBER => number,
                        ARCH => arch,
                        offset => {
                            let whole = args[usize::try_from((offset - ARGS) / 8).unwrap()];
                            u32::try_from(whole >> (8 * ((offset - ARGS) % 8)) & u64::from(u32::MAX)).unwrap()
                        }
                    };
                    at += 1;
                    continue;
                }
                RETURN => return step.k,
                JUMP => {
                    at += 1 + usize::try_from(step.k).unwrap();
                    continue;
                }
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
            (number(libc::SYS_prlimit64), [0; 6], SECCOMP_RET_ALLOW),
            (number(libc::SYS_prlimit64), [1, 7, 0, 0, 0, 0], eperm),
            (number(libc::SYS_prlimit64), [2, 7, 0, 0, 0, 0], eperm),
            (number(libc::SYS_sched_setscheduler), [1, 5, 0, 0, 0, 0], eperm),
            (number(libc::SYS_sched_setaffinity), [0; 6], SECCOMP_RET_ALLOW),
            (number(libc::SYS_setpriority), [0; 6], SECCOMP_RET_ALLOW),
            (number(libc::SYS_setpriority), [0, 1, 19, 0, 0, 0], eperm),
            (number(libc::SYS_setpriority), [0, 7, 19, 0, 0, 0], eperm),
            (number(libc::SYS_setpriority), [1, 0, 19, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_setpriority), [1, 1, 19, 0, 0, 0], eperm),
            (number(libc::SYS_setpriority), [2, 0, 19, 0, 0, 0], eperm),
            (number(libc::SYS_ioprio_set), [1, 0, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_ioprio_set), [1, 1, 0, 0, 0, 0], eperm),
            (number(libc::SYS_ioprio_set), [3, 0, 0, 0, 0, 0], eperm),
            (number(libc::SYS_pidfd_open), [1, 0, 0, 0, 0, 0], eperm),
            (number(libc::SYS_personality), [u32::MAX, 0, 0, 0, 0, 0], SECCOMP_RET_ALLOW),
            (number(libc::SYS_personality), [0x40_0000, 0, 0, 0, 0, 0], eperm),
            (LAST_KNOWN + 1, [0; 6], refusal(ENOSYS)),
            (0x4000_0000 | number(libc::SYS_read), [0; 6], refusal(ENOSYS)),
            (u32::MAX, [0; 6], refusal(ENOSYS)),
        ];
        let (silent, heard) =
            (build_filter(Audience::Nobody).unwrap(), build_filter(Audience::ListenerBut(WORD)).unwrap());
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

    const WORD: u64 = 0x0123_4567_89ab_cdef;

    #[test]
    fn only_the_whole_word_keeps_a_call_from_being_reported() {
        let program = build_filter(Audience::ListenerBut(WORD)).unwrap();
        let judged = |number: libc::c_long, args: [u64; 6]| {
            judge_with(&program, HERE.unwrap(), u32::try_from(number).unwrap(), args)
        };
        let with = |word: u64| [0, 0, 0, 0, 0, word];
        for (number, args, quiet) in [
            (libc::SYS_mount, with(WORD), refusal(libc::EPERM)),
            (libc::SYS_socket, [40, 1, 0, 0, 0, WORD], refusal(libc::EAFNOSUPPORT)),
            (libc::SYS_connect, with(WORD), SECCOMP_RET_ALLOW),
        ] {
            assert_eq!(judged(number, args), quiet, "{number}");
            for word in [0, WORD & u64::from(u32::MAX), WORD ^ 1, WORD ^ (1 << 63), !WORD] {
                let args = [args[0], args[1], 0, 0, 0, word];
                assert_eq!(judged(number, args), SECCOMP_RET_USER_NOTIF, "{number} {word:#x}");
            }
        }
        for number in [libc::SYS_execve, libc::SYS_execveat] {
            assert_eq!(judged(number, with(WORD)), SECCOMP_RET_USER_NOTIF, "the program itself is always seen");
        }
        assert_eq!(judged(libc::SYS_clone3, with(WORD)), refusal(ENOSYS));
    }

    /// Every call there is, by the filter and by the table itself.
    #[test]
    fn the_filter_says_what_the_table_says() {
        let decided = |action: Action, audience: Audience| match (action, audience) {
            (Action::Refuse(errno), _) => refusal(errno),
            (_, Audience::ListenerBut(_)) => SECCOMP_RET_USER_NOTIF,
            (Action::Report(errno) | Action::OwnThread { errno, .. }, _) => refusal(errno),
            (Action::Record | Action::Note | Action::OwnFamily { .. }, _) => SECCOMP_RET_ALLOW,
        };
        for audience in [Audience::Nobody, Audience::ListenerBut(WORD)] {
            let program = build_filter(audience).unwrap();
            for number in 0..=LAST_KNOWN {
                for value in [0, 1, 16, 0x5412, u32::MAX] {
                    let args = [value; 6];
                    let fits = |rule: &&CallRule| rule.fits_call(libc::c_long::from(number), &args.map(u64::from));
                    let expected = rules().find(fits).map_or(SECCOMP_RET_ALLOW, |rule| decided(rule.action, audience));
                    assert_eq!(judge(&program, HERE.unwrap(), number, args), expected, "call {number} {value:#x}");
                }
            }
        }
    }

    const NEW_TIME_BIT: u32 = 0x80;
}
