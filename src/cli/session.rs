//! A sidecar for the length of one command: its configuration read, its servers started, and stopped again at the end.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::api::dispatch::dispatch;
use crate::api::host::Host;
use crate::api::sidecar::{Sidecar, StartOptions};
use crate::api::source::Source;
use crate::api::types::{DispatchParams, DispatchResult, Outcome, ServerStatus};
use crate::api::wire;
use crate::cli::arguments::Global;
use crate::cli::exit::{Exit, Failure, Unusable};
use crate::cli::output::complain;
use crate::cli::progress;
use crate::cli::render::{answer, problems, status};
use crate::config::Problem;
use crate::config_file::{self, Nowhere, Place};
use crate::hub::{Hub, Loaded};
use crate::logging::{self, Logging};

/// What servers may take beyond their own limit before nobody waits for them any more.
const GRACE: Duration = Duration::from_secs(5);

/// A sidecar whose servers are on their way up.
pub struct Session {
    pub sidecar: Sidecar,
    pub hub: Hub,
}

/// Where the configuration comes from.
pub fn source(global: &Global) -> Source {
    match &global.config {
        Some(path) => Source::File(path.clone()),
        None => Source::Search,
    }
}

/// Starts the log; to be kept until the end.
pub fn start_log(global: &Global) -> Result<Logging, Failure> {
    let options = logging::Options {
        level: global.log_level.clone(),
        file: global.log_file.clone(),
    };
    logging::start(&options).map_err(|error| Failure::new(Exit::WrongUsage, error.to_string()))
}

/// The program that supervises servers: this one.
pub fn shim() -> anyhow::Result<PathBuf> {
    env::current_exe().context("cannot tell where this program is")
}

/// Reads the configuration. One that is not there or has errors ends the command.
pub fn load(source: &Source) -> anyhow::Result<Loaded> {
    if let Some(nowhere) = nowhere(source) {
        let text = format!("{nowhere}\n`toolcrib demo` needs none");
        return Err(unusable_for(&nowhere.problem(), None, text).into());
    }
    let loaded = source.load().map_err(|error| {
        let problem = error.problem();
        let path = match source {
            Source::File(path) => Some(wire::path(path)),
            _ => None,
        };
        let text = problem.message.clone();
        unusable_for(&problem, path, text)
    })?;
    if loaded.parsed.has_errors() {
        let problems = wire::problems(&loaded.parsed.problems);
        let text = problems::text(&file_name(&loaded), &problems);
        let text = format!("the configuration cannot be used\n{text}");
        let config_path = loaded.path.as_deref().map(wire::path);
        let unusable = Unusable {
            config_path,
            problems,
        };
        return Err(Failure::unusable(text, unusable).into());
    }
    Ok(loaded)
}

/// The end of a command whose configuration has one problem, which `text` tells people.
fn unusable_for(problem: &Problem, config_path: Option<String>, text: String) -> Failure {
    let unusable = Unusable {
        config_path,
        problems: wire::problems(std::slice::from_ref(problem)),
    };
    Failure::unusable(text, unusable)
}

/// The end of a command that has found no configuration.
pub fn no_configuration(nowhere: &Nowhere) -> Failure {
    unusable_for(&nowhere.problem(), None, nowhere.to_string())
}

/// Where was looked in vain, if a configuration was looked for.
pub fn nowhere(source: &Source) -> Option<Nowhere> {
    match (source, config_file::locate(None)) {
        (Source::Search, Place::Nowhere(nowhere)) => Some(nowhere),
        _ => None,
    }
}

/// What to call a configuration in front of people: from the current folder, where it is in there.
pub fn file_name(loaded: &Loaded) -> String {
    let Some(path) = &loaded.path else {
        return "configuration".to_owned();
    };
    let here = env::current_dir().unwrap_or_default();
    let shown = path.strip_prefix(here).unwrap_or(path);
    shown.display().to_string()
}

/// Starts all servers, does the work, and stops all servers, also when the person interrupts.
pub async fn with_servers<T>(
    source: Source,
    host: Host,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let loaded = load(&source)?;
    // From here on a signal is heard, so that no server is started that is not stopped.
    let interrupted = interruption();
    let options = StartOptions {
        config: source.clone(),
        shim: shim()?,
        recorder: None,
    };
    let sidecar = Sidecar::new(options, host);
    // Nobody else has started it, so it takes the configuration.
    let _ = sidecar.start_with(source, loaded).await;
    let session = Session {
        hub: sidecar.hub().await.clone(),
        sidecar,
    };
    let result = tokio::select! {
        result = work(&session) => result,
        exit = interrupted => Err(Failure::new(exit, "interrupted").into()),
    };
    session.sidecar.stop().await;
    result
}

/// Waits for Ctrl-C or SIGTERM, from the moment of the call on; for ever where they cannot be waited for.
pub fn interruption() -> impl Future<Output = Exit> {
    let interrupt = signal(SignalKind::interrupt());
    let terminate = signal(SignalKind::terminate());
    async {
        let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => Exit::Interrupted,
            _ = terminate.recv() => Exit::Terminated,
        }
    }
}

impl Session {
    /// Waits until no server is on its way up any more, and tells of those that did not make it.
    pub async fn settle(&self) {
        progress::show_while_starting(&self.hub, self.settled()).await;
        self.complain_of_unreachable();
    }

    pub fn complain_of_unreachable(&self) {
        for server in self.unreachable() {
            complain(&status::warning(&server));
        }
    }

    /// As `settle`, without a word.
    pub async fn settled(&self) {
        self.hub.settled(self.limit()).await;
    }

    /// Waits until the sentence encoder, where one is configured, has read every tool; at most so long, and then says so.
    pub async fn encoded(&self, limit: Duration) {
        let snapshot = self.hub.snapshot();
        if let Some(encoder) = &snapshot.encoder
            && let Err(reason) = encoder.read(&snapshot.index, limit).await
        {
            complain(&format!("warning: {reason}"));
        }
    }

    /// What a model reads when it calls a bridge tool that only looks.
    pub async fn bridge(&self, name: &str, arguments: Value) -> anyhow::Result<Value> {
        let params = DispatchParams {
            name: name.to_owned(),
            arguments: Some(arguments),
            ..DispatchParams::default()
        };
        match dispatch(&self.sidecar, params).await? {
            DispatchResult::Result(result) if result.outcome == Outcome::Ok => {
                Ok(serde_json::from_str(&result.content)?)
            }
            DispatchResult::Result(result) => {
                Err(Failure::new(Exit::SaidNo, answer::failure(&result, name)).into())
            }
            DispatchResult::Host(_) => bail!("`{name}` is a tool of a host, and there is none"),
        }
    }

    /// Waits until a tool can be called, or until no server that is still to come could have it.
    pub async fn settle_for(&self, tool: &str) {
        let limit = self.limit();
        let found = self
            .hub
            .wait_for(limit, |snapshot| snapshot.catalog.get(tool).map(drop));
        let either = async {
            tokio::select! {
                _ = found => {}
                () = self.hub.settled(limit) => {}
            }
        };
        progress::show_while_starting(&self.hub, either).await;
    }

    pub fn servers(&self) -> Vec<ServerStatus> {
        wire::servers(&self.hub.snapshot())
    }

    pub fn unreachable(&self) -> Vec<ServerStatus> {
        let mut servers = self.servers();
        servers.retain(|server| !status::is_reachable(server));
        servers
    }

    /// Not one server answers, though there should be some.
    pub fn is_cut_off(&self) -> bool {
        let servers = self.servers();
        let mut enabled = servers
            .iter()
            .filter(|server| !status::is_disabled(server))
            .peekable();
        enabled.peek().is_some() && enabled.all(|server| !status::is_reachable(server))
    }

    /// The server with the most patience decides.
    fn limit(&self) -> Duration {
        let snapshot = self.hub.snapshot();
        let limits = snapshot
            .config
            .servers
            .values()
            .map(|server| server.connect_timeout);
        limits.max().unwrap_or_default() + GRACE
    }
}
