//! Talking to a child over its pipes without a deadlock and not for ever.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const MOST_COMPLAINT: usize = 64 << 10;

/// Waits for a child whose pipes are closed.
pub(crate) fn wait_for_exit(child: &mut Child, deadline: Instant) -> io::Result<ExitStatus> {
    // Its pipes are closed, so it is about to end; only a broken git gets to sleep here.
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// The three pipes of a child, served by one poll loop so that none can block another.
pub(crate) struct Talk<'a> {
    stdin: Option<ChildStdin>,
    input: &'a [u8],
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    most_output: usize,
}

impl<'a> Talk<'a> {
    /// Takes over the pipes of a child. Output beyond `most_output` bytes is an error.
    pub(crate) fn with_child(child: &mut Child, input: &'a [u8], most_output: usize) -> Talk<'a> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Talk { stdin, input, stdout, stderr, out: Vec::new(), err: Vec::new(), most_output }
    }

    /// Feeds the child and collects what it says until it closes its pipes.
    pub(crate) fn until(&mut self, deadline: Instant) -> io::Result<()> {
        for fd in [
            self.stdin.as_ref().map(AsFd::as_fd),
            self.stdout.as_ref().map(AsFd::as_fd),
            self.stderr.as_ref().map(AsFd::as_fd),
        ] {
            fd.map_or(Ok(()), |fd| rustix::io::ioctl_fionbio(fd, true))?;
        }
        while self.stdin.is_some() || self.stdout.is_some() || self.stderr.is_some() {
            self.wait_ready(deadline)?;
            self.feed()?;
            drain(&mut self.stdout, &mut self.out, self.most_output)?;
            let room = self.err.len() + MOST_COMPLAINT;
            drain(&mut self.stderr, &mut self.err, room)?;
            // A child may complain of every file it meets; the first words say enough.
            self.err.truncate(MOST_COMPLAINT);
            if self.out.len() > self.most_output {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(())
    }

    fn wait_ready(&self, deadline: Instant) -> io::Result<()> {
        let mut fds = Vec::with_capacity(3);
        fds.extend(self.stdin.iter().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        fds.extend(self.stdout.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.stderr.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        poll_until(&mut fds, deadline)
    }

    fn feed(&mut self) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        match stdin.write(self.input) {
            Ok(written) => self.input = &self.input[written..],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            // A child that stops listening says why with its exit code.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => self.input = &[],
            Err(e) => return Err(e),
        }
        if self.input.is_empty() {
            self.stdin = None;
        }
        Ok(())
    }
}

/// Reads available bytes, at most a little more than `most` in all.
fn drain<R: Read>(pipe: &mut Option<R>, into: &mut Vec<u8>, most: usize) -> io::Result<()> {
    let Some(reader) = pipe else { return Ok(()) };
    let room = most.saturating_sub(into.len()).saturating_add(1) as u64;
    match reader.take(room).read_to_end(into) {
        Ok(read) if read as u64 == room => {}
        Ok(_) => *pipe = None,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
        Err(e) => return Err(e),
    }
    Ok(())
}

/// Waits until one of the descriptors is ready; `TimedOut` at the deadline.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(fds, Some(&left)) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
