//! Takes standard input and output away from everyone else in the process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};

/// The host's end of standard input; blocks, whatever the descriptor was set to.
pub struct Input(File);

/// The host's end of standard output; blocks, whatever the descriptor was set to.
pub struct Output(File);

/// Moves both streams to private descriptors that no child inherits.
///
/// Afterwards whatever reads standard input finds it empty, and whatever prints ends up on standard error: a stray
/// `println!` of a dependency cannot get between the protocol's messages. To be called once, before anything is read.
pub fn take() -> io::Result<(Input, Output)> {
    const FIRST_PRIVATE: i32 = 3;
    let input = fcntl_dupfd_cloexec(stdin(), FIRST_PRIVATE)?;
    let output = fcntl_dupfd_cloexec(stdout(), FIRST_PRIVATE)?;
    let nothing = File::open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(stderr())?;
    Ok((Input(into_file(input)), Output(into_file(output))))
}

/// A file's methods are plain `read` and `write`, which serve pipes, sockets and terminals as well.
fn into_file(descriptor: OwnedFd) -> File {
    File::from(descriptor)
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(&self.0, PollFlags::IN)?;
                }
                result => return result,
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(&self.0, PollFlags::OUT)?;
                }
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A parent may share a descriptor that it made non-blocking; the flag belongs to both and is not ours to clear.
fn wait(file: &File, flags: PollFlags) -> io::Result<()> {
    let descriptor = file.as_fd();
    match poll(&mut [PollFd::from_borrowed_fd(descriptor, flags)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
