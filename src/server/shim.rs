//! Stands between the sidecar and one server, so that nothing of the server outlives either of them.
//!
//! The sidecar starts its own program again under [`COMMAND`], and that starts the server. It is the reaper of all
//! descendants, those included that left the process group or forked twice. It ends with the server, and ends the
//! server when the sidecar's end of the lifeline is closed, be it by `kill -9`.
//! A process group alone misses daemons, and a death signal fires when the thread that forked ends.
//!
//! On the lifeline (file descriptor 3, a socket) it reports a line each: `started PID` or `failed ERRNO MESSAGE`, then
//! `exited CODE` or `killed SIGNAL`.

use std::ffi::OsString;
use std::process::ExitCode;

/// The hidden first argument.
pub const COMMAND: &str = "__supervise";

/// Where the lifeline is.
pub const LIFELINE: i32 = 3;

/// Does the supervisor's work if this process was started for it. To be called before anything else in `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != COMMAND {
        return None;
    }
    Some(supervise(args.collect()))
}

#[cfg(not(unix))]
fn supervise(_args: Vec<OsString>) -> ExitCode {
    eprintln!("{COMMAND} is for unix only");
    ExitCode::from(2)
}

#[cfg(unix)]
fn supervise(args: Vec<OsString>) -> ExitCode {
    match unix::supervise(args) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("toolcrib {COMMAND}: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::{AsFd, BorrowedFd, FromRawFd};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
    use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpgrp, kill_process, wait};

    use super::LIFELINE;

    /// How long the server may take after SIGTERM. Shorter than the sidecar's own patience, which ends with the
    /// supervisor's own death and so with that of the only one who knows every descendant.
    const TERM_GRACE: Duration = Duration::from_millis(1_500);
    /// The same where the sidecar is gone.
    const ORPHAN_GRACE: Duration = Duration::from_millis(1_000);
    /// How long helpers may take that the server left behind.
    const HELPER_GRACE: Duration = Duration::from_millis(500);

    /// How long the killing may go on: more than one round is needed only for what forks meanwhile.
    #[cfg(target_os = "linux")]
    const KILL_LIMIT: Duration = Duration::from_secs(10);

    pub fn supervise(mut args: Vec<OsString>) -> io::Result<u8> {
        if args.is_empty() {
            return Err(io::Error::other("no program given"));
        }
        let program = args.remove(0);
        let mut lifeline = lifeline()?;
        become_reaper();
        let signals = Signals::block()?;
        let child = match Command::new(&program).args(&args).spawn() {
            Ok(child) => child,
            Err(error) => {
                let code = error.raw_os_error().unwrap_or(0);
                let _ = writeln!(lifeline, "failed {code} {error}");
                return Ok(127);
            }
        };
        let Some(server) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return Err(io::Error::other("the server has no process id"));
        };
        // Whoever reads the reports may be gone already: then the lifeline says so next.
        let _ = writeln!(lifeline, "started {server}");
        release_standard_streams()?;
        Ok(Supervisor {
            server,
            lifeline,
            signals,
            status: None,
        }
        .run())
    }

    struct Supervisor {
        server: Pid,
        lifeline: UnixStream,
        signals: Signals,
        /// The server's own, once it has ended.
        status: Option<u8>,
    }

    impl Supervisor {
        fn run(mut self) -> u8 {
            let grace = loop {
                self.reap();
                if self.status.is_some() {
                    break HELPER_GRACE;
                }
                match self.signals.wait(Some(&self.lifeline), None) {
                    Wake::Child => {}
                    Wake::Terminate => break TERM_GRACE,
                    Wake::LifelineClosed => break ORPHAN_GRACE,
                }
            };
            self.end_all(grace);
            self.status.unwrap_or(0)
        }

        /// Ends whatever is left: by request at first, then by force until nothing is.
        fn end_all(&mut self, grace: Duration) {
            let end = Instant::now() + grace;
            if self.reap() {
                return;
            }
            // Blocked in this process, which is of the same group.
            let _ = rustix::process::kill_process_group(getpgrp(), Signal::TERM);
            for child in children() {
                let _ = kill_process(child, Signal::TERM);
            }
            while Instant::now() < end {
                if self.reap() {
                    return;
                }
                let left = end.saturating_duration_since(Instant::now());
                self.signals
                    .wait(None, Some(left.min(Duration::from_millis(100))));
            }
            self.kill_all();
        }

        /// Each round, the children of those that were killed become ours; the last round finds none.
        #[cfg(target_os = "linux")]
        fn kill_all(&mut self) {
            let end = Instant::now() + KILL_LIMIT;
            while !self.reap() && Instant::now() < end {
                for child in children() {
                    let _ = kill_process(child, Signal::KILL);
                }
                self.signals.wait(None, Some(Duration::from_millis(10)));
            }
            if !self.reap() {
                // Without a `/proc` to find them in, those of the group are all that can be reached.
                let _ = rustix::process::kill_process_group(getpgrp(), Signal::KILL);
            }
        }

        /// Without a reaper there is only the group, and this process is of it: everything was reported before.
        #[cfg(not(target_os = "linux"))]
        fn kill_all(&mut self) {
            let _ = rustix::process::kill_process_group(getpgrp(), Signal::KILL);
        }

        /// Collects the dead; true when no child is left.
        fn reap(&mut self) -> bool {
            loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some((pid, status))) if pid == self.server => self.report(status),
                    Ok(Some(_)) => {}
                    Ok(None) => return false,
                    Err(Errno::INTR) => {}
                    Err(_) => return true,
                }
            }
        }

        fn report(&mut self, status: WaitStatus) {
            let (line, status) = if let Some(code) = status.exit_status() {
                (format!("exited {code}\n"), code)
            } else if let Some(signal) = status.terminating_signal() {
                (format!("killed {signal}\n"), 128 + signal)
            } else {
                return;
            };
            let _ = self.lifeline.write_all(line.as_bytes());
            self.status = Some(u8::try_from(status & 0xff).unwrap_or(1));
        }
    }

    fn lifeline() -> io::Result<UnixStream> {
        // SAFETY: the number is only looked at here; it fails if nothing is open under it.
        let fd = unsafe { BorrowedFd::borrow_raw(LIFELINE) };
        fcntl_getfd(fd).map_err(|_| io::Error::other("there is no lifeline"))?;
        // The server must not hold it, or the sidecar would wait for its reports in vain.
        fcntl_setfd(fd, FdFlags::CLOEXEC)?;
        // SAFETY: it is open, and nothing else in this process owns it: it was handed over for this purpose.
        Ok(unsafe { UnixStream::from_raw_fd(LIFELINE) })
    }

    fn become_reaper() {
        #[cfg(target_os = "linux")]
        {
            // Kernels without it are older than any we run on; then daemons escape, and the rest still works.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
    }

    /// Only the server holds its pipes from here on, so that their end is its end.
    fn release_standard_streams() -> io::Result<()> {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        Ok(())
    }

    /// Our direct children: the server, and every orphan among its descendants.
    fn children() -> Vec<Pid> {
        let own = std::process::id();
        let listed = std::fs::read_to_string(format!("/proc/self/task/{own}/children"));
        let pids: Vec<i32> = match listed {
            Ok(list) => list
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect(),
            Err(_) => children_by_scan(own),
        };
        pids.into_iter().filter_map(Pid::from_raw).collect()
    }

    /// The same on kernels that keep no list: every process is asked for its parent.
    fn children_by_scan(own: u32) -> Vec<i32> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return vec![];
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| parent_of(*pid) == Some(own))
            .collect()
    }

    fn parent_of(pid: i32) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the name in parentheses, and may hold anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.split_whitespace().nth(1)?.parse().ok()
    }

    enum Wake {
        /// A child has changed, or nothing happened in time.
        Child,
        Terminate,
        LifelineClosed,
    }

    /// The signals that this process is told of instead of being interrupted or ended by them.
    struct Signals {
        #[cfg(target_os = "linux")]
        fd: std::os::fd::OwnedFd,
        #[cfg(not(target_os = "linux"))]
        set: libc::sigset_t,
    }

    impl Signals {
        /// The server does not inherit this: the standard library clears the mask of what it spawns.
        fn block() -> io::Result<Signals> {
            // SAFETY: plain calls on a set of our own; `sigemptyset` makes it valid before it is read.
            let (set, failed) = unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&mut set);
                for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD] {
                    libc::sigaddset(&mut set, signal);
                }
                let failed = libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                (set, failed)
            };
            if failed != 0 {
                return Err(io::Error::from_raw_os_error(failed));
            }
            Signals::of(set)
        }

        #[cfg(target_os = "linux")]
        fn of(set: libc::sigset_t) -> io::Result<Signals> {
            // SAFETY: the set is valid, and the new descriptor belongs to nobody else.
            let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: as above.
            let fd = unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) };
            Ok(Signals { fd })
        }

        #[cfg(not(target_os = "linux"))]
        fn of(set: libc::sigset_t) -> io::Result<Signals> {
            Ok(Signals { set })
        }

        /// Waits for a signal, the end of the lifeline, or so long.
        #[cfg(target_os = "linux")]
        fn wait(&self, lifeline: Option<&UnixStream>, limit: Option<Duration>) -> Wake {
            let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
            let mut fds = vec![PollFd::from_borrowed_fd(self.fd.as_fd(), PollFlags::IN)];
            if let Some(lifeline) = lifeline {
                fds.push(PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN));
            }
            if poll(&mut fds, limit.as_ref()).is_err() {
                return Wake::Child;
            }
            let is_lifeline_closed = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
            if is_lifeline_closed {
                return Wake::LifelineClosed;
            }
            let mut wake = Wake::Child;
            let mut buffer = [0_u8; size_of::<libc::signalfd_siginfo>()];
            while let Ok(n) = rustix::io::read(&self.fd, &mut buffer) {
                if n < buffer.len() {
                    break;
                }
                // The number of the signal is the first field.
                let number = u32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
                if number != libc::SIGCHLD as u32 {
                    wake = Wake::Terminate;
                }
            }
            wake
        }

        /// Without a descriptor for signals, they are asked for from time to time.
        #[cfg(not(target_os = "linux"))]
        fn wait(&self, lifeline: Option<&UnixStream>, limit: Option<Duration>) -> Wake {
            let limit = limit
                .unwrap_or(Duration::MAX)
                .min(Duration::from_millis(50));
            let limit = Timespec::try_from(limit).ok();
            let mut fds = Vec::new();
            if let Some(lifeline) = lifeline {
                fds.push(PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN));
            }
            let _ = poll(&mut fds, limit.as_ref());
            if fds.first().is_some_and(|fd| !fd.revents().is_empty()) {
                return Wake::LifelineClosed;
            }
            self.take_pending()
        }

        #[cfg(not(target_os = "linux"))]
        fn take_pending(&self) -> Wake {
            // SAFETY: plain calls on sets of our own; `sigwait` returns at once, as a signal of the set is pending.
            unsafe {
                let mut pending: libc::sigset_t = std::mem::zeroed();
                libc::sigpending(&mut pending);
                for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                    if libc::sigismember(&pending, signal) == 1 {
                        let mut taken = 0;
                        libc::sigwait(&self.set, &mut taken);
                        return Wake::Terminate;
                    }
                }
            }
            Wake::Child
        }
    }
}
