//! Leases: an open of a leased file waits until the lease is given back.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{F_GETLEASE, F_SETLEASE, F_SETOWN, F_UNLCK, F_WRLCK, c_int, c_long};

use super::checked;

/// Takes the lease on a file that no other process has open. It stays with the open file
/// description.
pub(crate) fn take_lease(file: BorrowedFd<'_>) -> io::Result<()> {
    control(file, F_SETLEASE, F_WRLCK)?;
    // The kernel would signal the holder; here the holder polls.
    control(file, F_SETOWN, 0).map(drop)
}

/// True if another process waits to open the file, or may already have done so.
pub(crate) fn is_wanted(file: BorrowedFd<'_>) -> bool {
    !control(file, F_GETLEASE, 0).is_ok_and(|held| held == c_long::from(F_WRLCK))
}

/// Gives the lease back, so that a waiting open proceeds.
pub(crate) fn give_back(file: BorrowedFd<'_>) {
    // A lease that the kernel took back meanwhile is gone as well.
    let _ = control(file, F_SETLEASE, F_UNLCK);
}

#[expect(unsafe_code, reason = "no wrapper knows leases")]
fn control(file: BorrowedFd<'_>, command: c_int, argument: c_int) -> io::Result<c_long> {
    // SAFETY: the three commands above take and return plain numbers.
    checked(c_long::from(unsafe { libc::fcntl(file.as_raw_fd(), command, argument) }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_lease_is_held_until_it_is_given_back() {
        let written = tempfile::NamedTempFile::new().unwrap();
        let file = File::open(written.path()).unwrap();
        assert!(take_lease(file.as_fd()).is_err(), "somebody else has the file open");
        let path = written.into_temp_path();
        take_lease(file.as_fd()).unwrap();
        assert!(!is_wanted(file.as_fd()));
        // A reader with O_NONBLOCK gets an error at once, as it asked.
        let mut hasty = File::options();
        std::os::unix::fs::OpenOptionsExt::custom_flags(hasty.read(true), libc::O_NONBLOCK);
        assert_eq!(hasty.open(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(is_wanted(file.as_fd()));
        give_back(file.as_fd());
        assert!(is_wanted(file.as_fd()), "one that is not held is not believed to be");
        hasty.open(&path).unwrap();
    }
}
