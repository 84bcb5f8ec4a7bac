//! Starts a server as a child process under its supervisor, and ends it.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::config::StdioConfig;
use crate::server::dial::{Dial, Line};
use crate::server::environment::{self, Environment};
use crate::server::error::{ConnectError, ErrorKind};
use crate::server::process::{Exit, Process, ProcessKeeper};
use crate::server::program::{self, Program};
use crate::server::redact::redactor;
use crate::server::tail::Tail;

/// How long a server may take to end by itself once its input is closed.
const EOF_GRACE: Duration = Duration::from_secs(2);
/// How long the supervisor may take once it was told to end the server. Longer than its own grace.
const TERM_GRACE: Duration = Duration::from_secs(3);
/// How long a process may take to die of SIGKILL: longer only in an uninterruptible wait of the kernel's.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// Starts one server's process again and again.
pub struct ChildDial {
    pub config: StdioConfig,
    /// Our own program, which supervises the server.
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "supervision is for unix so far")
    )]
    pub shim: PathBuf,
    /// Ours, of which the server gets a part.
    pub environment: Arc<Environment>,
    /// To be hidden in what the server writes, besides what it is given.
    pub secrets: Arc<[String]>,
    /// One for each start that was given up and is not over yet.
    pub given_up: TaskTracker,
}

impl Dial for ChildDial {
    async fn dial(&self) -> Result<Line, ConnectError> {
        let environment = environment::of_server(&self.environment, &self.config);
        let tail = Tail::new(redactor(&self.config, &environment, &self.secrets));
        let line = async {
            let program = program::find(&self.config, environment)?;
            self.start(&program, tail.clone())
                .await
                .map_err(|error| refused(&program, &error))
        };
        // A command or a folder may have come from a variable as well.
        line.await.map_err(|mut error: ConnectError| {
            error.message = tail.hide_secrets(&error.message);
            error
        })
    }

    async fn gone(&self) {
        // Only a closed tracker is ever done; it takes more tasks all the same.
        self.given_up.close();
        self.given_up.wait().await;
    }
}

fn refused(program: &Program, error: &io::Error) -> ConnectError {
    let path = program.path.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => ConnectError::new(
            ErrorKind::NotExecutable,
            format!("`{path}` may not be executed: {error}"),
        ),
        io::ErrorKind::NotFound => ConnectError::new(
            ErrorKind::CommandNotFound,
            format!(
                "`{path}` could not be started: {error}; is the interpreter in its first line installed?"
            ),
        ),
        _ => ConnectError::new(
            ErrorKind::Spawn,
            format!("`{path}` could not be started: {error}"),
        ),
    }
}

#[cfg(unix)]
mod supervised {
    use super::*;

    use std::os::fd::{AsFd, AsRawFd, OwnedFd};

    use rustix::io::{FdFlags, fcntl_setfd};
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::io::{AsyncBufReadExt, BufReader, Lines};
    use tokio::net::UnixStream;

    use crate::server::shim;

    /// How long the supervisor may take to start the server: two programs are loaded, maybe on a busy machine.
    const START_LIMIT: Duration = Duration::from_secs(20);

    type Reports = Lines<BufReader<UnixStream>>;

    impl ChildDial {
        pub(super) async fn start(&self, program: &Program, tail: Tail) -> io::Result<Line> {
            let (lifeline, theirs) = std::os::unix::net::UnixStream::pair()?;
            lifeline.set_nonblocking(true)?;
            let reports = BufReader::new(UnixStream::from_std(lifeline)?).lines();
            let mut child = self.command(program, theirs.into())?.spawn()?;
            let (Some(input), Some(output), Some(errors)) =
                (child.stdin.take(), child.stdout.take(), child.stderr.take())
            else {
                return Err(io::Error::other("the child has no pipes"));
            };
            let mut start = Start {
                running: Some((child, reports)),
                given_up: self.given_up.clone(),
            };
            let pid = timeout(START_LIMIT, start.started())
                .await
                .map_err(|_| io::Error::other("its supervisor did not start it in time"))??;
            let Some((child, reports)) = start.running.take() else {
                return Err(io::Error::other("nobody has waited for its start"));
            };
            tokio::spawn(tail.clone().drain(errors));
            let (process, keeper) = Process::new(Some(pid), tail);
            let keep = Keep {
                group: group_of(&child),
                child,
                reports,
                keeper,
            };
            tokio::spawn(keep.run());
            Ok(Line {
                input: Box::new(input),
                output: Box::new(output),
                process,
            })
        }

        fn command(&self, program: &Program, lifeline: OwnedFd) -> io::Result<Command> {
            let mut command = Command::new(&self.shim);
            command
                .arg0("toolcrib")
                .arg(shim::COMMAND)
                .arg(&program.path)
                .args(&self.config.args)
                .env_clear()
                .envs(&program.environment)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0);
            if let Some(cwd) = &program.cwd {
                command.current_dir(cwd);
            }
            let prepare = move || {
                if lifeline.as_raw_fd() == shim::LIFELINE {
                    fcntl_setfd(lifeline.as_fd(), FdFlags::empty())?;
                    return Ok(());
                }
                // SAFETY: `dup2` may be called between fork and exec; what was open under the number is not used
                // any more in this process, which is about to become another program.
                match unsafe { libc::dup2(lifeline.as_raw_fd(), shim::LIFELINE) } {
                    -1 => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                }
            };
            // SAFETY: the closure makes system calls only and does not allocate.
            unsafe { command.pre_exec(prepare) };
            Ok(command)
        }
    }

    /// A supervisor that has not said yet that the server runs. Dropped with it in hand, it sees to its end.
    struct Start {
        running: Option<(Child, Reports)>,
        given_up: TaskTracker,
    }

    impl Start {
        async fn started(&mut self) -> io::Result<u32> {
            match &mut self.running {
                Some((_, reports)) => started(reports).await,
                None => Err(io::Error::other("it was given up")),
            }
        }
    }

    impl Drop for Start {
        fn drop(&mut self) {
            let (Some((child, reports)), Ok(runtime)) =
                (self.running.take(), tokio::runtime::Handle::try_current())
            else {
                return;
            };
            self.given_up.spawn_on(give_up(child, reports), &runtime);
        }
    }

    async fn give_up(mut child: Child, reports: Reports) {
        let group = group_of(&child);
        // For the supervisor, this is the end of the sidecar, and so that of the server.
        drop(reports);
        if timeout(TERM_GRACE, child.wait()).await.is_err() {
            if let Some(group) = group {
                // It may be gone by now, which is what is wanted.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = timeout(KILL_GRACE, child.wait()).await;
        }
    }

    /// The process group of a child that was not waited for yet.
    fn group_of(child: &Child) -> Option<Pid> {
        let pid = i32::try_from(child.id()?).ok()?;
        Pid::from_raw(pid)
    }

    async fn started(reports: &mut Reports) -> io::Result<u32> {
        let line = reports.next_line().await?.unwrap_or_default();
        if let Some(pid) = line.strip_prefix("started ") {
            return pid.parse().map_err(io::Error::other);
        }
        match line
            .strip_prefix("failed ")
            .and_then(|rest| rest.split_once(' '))
        {
            Some((code, message)) => Err(match code.parse() {
                Ok(code) if code > 0 => io::Error::from_raw_os_error(code),
                _ => io::Error::other(message.to_owned()),
            }),
            None => Err(io::Error::other("its supervisor ended at once")),
        }
    }

    /// Owns the child from its start to its end.
    struct Keep {
        child: Child,
        /// The process group of the supervisor and of what has not left it.
        group: Option<Pid>,
        /// Kept open: its end is the supervisor's sign that the sidecar is gone.
        reports: Reports,
        keeper: ProcessKeeper,
    }

    impl Keep {
        async fn run(mut self) {
            if !self.ended_within(None).await {
                // The connection closes the server's input at the same time.
                let is_over = self.ended_within(Some(EOF_GRACE)).await || {
                    self.signal(Signal::TERM);
                    self.ended_within(Some(TERM_GRACE)).await
                };
                if !is_over {
                    self.signal(Signal::KILL);
                    self.ended_within(Some(KILL_GRACE)).await;
                }
            }
        }

        /// Waits for the end of the supervisor, which is the end of everything below it, and passes its reports on.
        /// Without a limit, it waits until it is told to stop.
        async fn ended_within(&mut self, limit: Option<Duration>) -> bool {
            let stop = self.keeper.stop.clone();
            let limit = async {
                match limit {
                    Some(limit) => tokio::time::sleep(limit).await,
                    None => stop.cancelled().await,
                }
            };
            tokio::pin!(limit);
            let mut is_reporting = true;
            loop {
                tokio::select! {
                    biased;
                    line = self.reports.next_line(), if is_reporting => match line {
                        Ok(Some(line)) => self.report(&line),
                        _ => is_reporting = false,
                    },
                    status = self.child.wait() => {
                        self.supervisor_ended(status.ok());
                        return true;
                    }
                    () = &mut limit => return false,
                }
            }
        }

        /// A supervisor that was killed itself has reported nothing, and has left the server alone.
        fn supervisor_ended(&self, status: Option<std::process::ExitStatus>) {
            if self.keeper.exit.borrow().is_some() {
                return;
            }
            if let Some(group) = self.group {
                // Nobody may be left in it.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let exit = status.as_ref().and_then(exit_of);
            self.keeper.exit.send_replace(exit);
        }

        fn report(&self, line: &str) {
            let exit = match line.split_once(' ') {
                Some(("exited", code)) => code.parse().ok().map(Exit::Code),
                Some(("killed", signal)) => signal.parse().ok().map(Exit::Signal),
                _ => None,
            };
            if exit.is_some() {
                self.keeper.exit.send_replace(exit);
            }
        }

        /// SIGTERM goes to the supervisor, who knows what to do; SIGKILL to the whole group.
        fn signal(&self, signal: Signal) {
            // Without an id, it was waited for already, and the number may be another's by now.
            let (Some(_), Some(supervisor)) = (self.child.id(), self.group) else {
                return;
            };
            // It may be gone by now, which is what is wanted.
            let _ = match signal {
                Signal::KILL => kill_process_group(supervisor, signal),
                _ => kill_process(supervisor, signal),
            };
        }
    }
}

#[cfg(not(unix))]
mod unsupervised {
    use super::*;

    impl ChildDial {
        pub(super) async fn start(&self, program: &Program, tail: Tail) -> io::Result<Line> {
            let mut command = Command::new(&program.path);
            command
                .args(&self.config.args)
                .env_clear()
                .envs(&program.environment)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            if let Some(cwd) = &program.cwd {
                command.current_dir(cwd);
            }
            let mut child = command.spawn()?;
            let (Some(input), Some(output), Some(errors)) =
                (child.stdin.take(), child.stdout.take(), child.stderr.take())
            else {
                return Err(io::Error::other("the child has no pipes"));
            };
            tokio::spawn(tail.clone().drain(errors));
            let (process, keeper) = Process::new(child.id(), tail);
            tokio::spawn(keep(child, keeper));
            Ok(Line {
                input: Box::new(input),
                output: Box::new(output),
                process,
            })
        }
    }

    async fn keep(mut child: Child, keeper: ProcessKeeper) {
        let status = tokio::select! {
            status = child.wait() => status,
            () = keeper.stop.cancelled() => match timeout(EOF_GRACE, child.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    let _ = child.start_kill();
                    match timeout(TERM_GRACE + KILL_GRACE, child.wait()).await {
                        Ok(status) => status,
                        Err(_) => return,
                    }
                }
            },
        };
        keeper
            .exit
            .send_replace(status.ok().as_ref().and_then(exit_of));
    }
}

fn exit_of(status: &std::process::ExitStatus) -> Option<Exit> {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(status) {
        return Some(Exit::Signal(signal));
    }
    status.code().map(Exit::Code)
}
