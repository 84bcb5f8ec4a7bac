//! What the hub holds and how each command and event changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::catalog::Tools;
use crate::catalog::listing;
use crate::config;
use crate::config::{Approval, ServerConfig, Trust};
use crate::encoder;
use crate::hub::session::Sessions;
use crate::hub::{Command, Entry, Loaded, Notice, Reloaded, Snapshot, UnknownServer};
use crate::logging;
use crate::names::{ServerName, ToolId};
use crate::policy::Pin;
use crate::redact::Redactor;
use crate::search::{Group, Index, Options as SearchOptions};
use crate::server::{Event, ListedTools, LogLevel, ServerHandle, ServerOptions};

/// Changes of the catalog this close together are told to the host as one.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How long running calls of a server may go on when its entry has changed or is gone.
const GRACE: Duration = Duration::from_secs(5);
/// How long an encoder may take to keep what it has made when all ends.
const ENCODER_LIMIT: Duration = Duration::from_secs(1);

pub struct State {
    snapshot: Snapshot,
    sessions: Sessions,
    handles: BTreeMap<ServerName, ServerHandle>,
    /// Servers whose process is being ended; none of these is started before that.
    leaving: BTreeSet<ServerName>,
    endings: JoinSet<()>,
    /// Ends the grace of those who are leaving.
    hurry: CancellationToken,
    /// What each server listed last, before any filter.
    listed: BTreeMap<ServerName, Arc<ListedTools>>,
    /// Changes that the host was not told of yet.
    untold: Option<Untold>,
    options: ServerOptions,
    encoder: Option<encoder::Handle>,
    events: mpsc::UnboundedSender<Event>,
    notices: mpsc::UnboundedSender<Notice>,
    /// Not a strong one: the hub ends when the last handle of it does.
    commands: mpsc::WeakUnboundedSender<Command>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

struct Untold {
    servers: BTreeSet<ServerName>,
    reason: &'static str,
    due: Instant,
}

impl State {
    pub fn new(
        options: ServerOptions,
        notices: mpsc::UnboundedSender<Notice>,
        commands: mpsc::WeakUnboundedSender<Command>,
        snapshots: watch::Sender<Arc<Snapshot>>,
    ) -> (State, mpsc::UnboundedReceiver<Event>) {
        let (events, received) = mpsc::unbounded_channel();
        let state = State {
            snapshot: Snapshot::default(),
            sessions: Sessions::default(),
            handles: BTreeMap::new(),
            leaving: BTreeSet::new(),
            endings: JoinSet::new(),
            hurry: CancellationToken::new(),
            listed: BTreeMap::new(),
            untold: None,
            options,
            encoder: None,
            events,
            notices,
            commands,
            snapshots,
        };
        (state, received)
    }

    pub async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) {
        loop {
            let due = self.untold.as_ref().map(|untold| untold.due);
            tokio::select! {
                command = commands.recv() => match command {
                    Some(Command::Stop { reply }) => {
                        self.stop().await;
                        let _ = reply.send(());
                        return;
                    }
                    Some(command) => self.command(command),
                    None => return,
                },
                Some(event) = events.recv() => self.event(event),
                () = until(due) => self.tell(),
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Session { id, reply } => {
                let session = self.sessions.get(&id);
                let _ = reply.send((session, self.sessions.latest_host.clone()));
            }
            Command::Sessions { reply } => drop(reply.send(self.sessions.list())),
            Command::Change { id, change } => self.sessions.apply(&id, change),
            Command::Close { id, reply } => drop(reply.send(self.sessions.close(&id))),
            Command::Pin { id, pin } => {
                Arc::make_mut(&mut self.snapshot.pins).insert(id, pin);
                self.publish();
            }
            Command::Configure { loaded, reply } => {
                let reloaded = self.configure(*loaded);
                let _ = reply.send(reloaded);
            }
            Command::Restart { servers, reply } => drop(reply.send(self.restart(&servers))),
            Command::Ended { server } => {
                self.leaving.remove(&server);
                self.start(&server);
                self.publish();
            }
            Command::Stop { .. } => {} // Ends the loop that calls this.
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Status(server, _) => drop(self.notices.send(Notice::Status(server))),
            // Who is leaving has nothing to offer.
            Event::Tools(server, _) if !self.handles.contains_key(&server) => {}
            Event::Tools(server, listed) => {
                for warning in &listed.warnings {
                    let message = format!("server `{server}`: {warning}");
                    let _ = self.notices.send(Notice::Log {
                        server: Some(server.clone()),
                        level: LogLevel::Warning,
                        message,
                    });
                }
                self.listed.insert(server.clone(), listed);
                self.list(&server, "listChanged");
                self.publish();
            }
            Event::Log {
                server,
                level,
                message,
            } => {
                let _ = self.notices.send(Notice::Log {
                    server: Some(server),
                    level,
                    message,
                });
            }
            Event::Request(request) => drop(self.notices.send(Notice::Request(request))),
        }
    }

    /// Puts a configuration in use; published when it returns.
    pub fn configure(&mut self, loaded: Loaded) -> Reloaded {
        let old_config = self.snapshot.config.clone();
        let new_config = Arc::new(loaded.parsed.config);
        let difference = config::diff(&old_config, &new_config);
        logging::hide(Redactor::new(new_config.secrets()));
        self.snapshot.config = new_config.clone();
        self.snapshot.config_revision += 1;
        self.snapshot.config_path = loaded.path;
        self.snapshot.problems = loaded.parsed.problems;
        if difference.tool_search_changed {
            self.index_anew();
        }
        if old_config.tool_search.encoder != new_config.tool_search.encoder {
            self.encode_by(&new_config.tool_search.encoder);
        }
        let mut reloaded = Reloaded {
            unchanged: difference.unchanged,
            ..Reloaded::default()
        };
        self.snapshot
            .servers
            .retain(|_, entry| !matches!(entry, Entry::Broken { .. }));
        for server in difference.removed {
            self.sessions.revoke(&server);
            self.remove(&server);
            reloaded.removed.push(server);
        }
        for server in difference.added {
            self.start(&server);
            reloaded.added.push(server);
        }
        for server in difference.changed {
            self.sessions.revoke(&server);
            if difference.restarted.contains(&server) {
                self.replace(&server);
                reloaded.restarted.push(server.clone());
            } else {
                self.adopt(&server, &new_config.servers[&server]);
            }
            reloaded.changed.push(server);
        }
        for (server, reason) in loaded.parsed.broken {
            self.snapshot
                .servers
                .insert(server, Entry::Broken { reason });
        }
        self.publish();
        reloaded
    }

    fn restart(&mut self, names: &[String]) -> Result<Reloaded, UnknownServer> {
        if let Some(unknown) = names
            .iter()
            .find(|name| !self.snapshot.servers.contains_key(name.as_str()))
        {
            return Err(UnknownServer(unknown.clone()));
        }
        let (restarted, unchanged) = self.snapshot.servers.keys().cloned().partition(|server| {
            let is_named = names.iter().any(|name| name == server.as_str());
            is_named && self.handles.contains_key(server)
        });
        let reloaded = Reloaded {
            restarted,
            unchanged,
            ..Reloaded::default()
        };
        for server in &reloaded.restarted {
            if let Some(handle) = self.handles.get(server) {
                handle.restart();
            }
        }
        Ok(reloaded)
    }

    /// Starts a server with its present entry, if it has one and is enabled.
    fn start(&mut self, server: &ServerName) {
        let Some(config) = self.snapshot.config.servers.get(server) else {
            return;
        };
        let config = Arc::new(config.clone());
        let entry = if !config.enabled {
            self.forget_tools(server);
            Entry::Disabled { config }
        } else if self.leaving.contains(server) {
            // A server may not bear a second beside itself.
            Entry::Changing { config }
        } else {
            let options = ServerOptions {
                secrets: self.snapshot.config.secrets().into(),
                ..self.options.clone()
            };
            let handle = ServerHandle::spawn(
                server.clone(),
                (*config).clone(),
                options,
                self.events.clone(),
            );
            let caller = handle.caller();
            self.handles.insert(server.clone(), handle);
            Entry::Running { config, caller }
        };
        self.snapshot.servers.insert(server.clone(), entry);
    }

    /// Ends the process of the old entry, then starts the new one.
    fn replace(&mut self, server: &ServerName) {
        self.leave(server);
        self.start(server);
    }

    /// Begins to end a server's process, once its calls are through; what its entry is by then is started after that.
    fn leave(&mut self, server: &ServerName) {
        let Some(handle) = self.handles.remove(server) else {
            return;
        };
        self.leaving.insert(server.clone());
        while self.endings.try_join_next().is_some() {}
        let (commands, hurry) = (self.commands.clone(), self.hurry.clone());
        let server = server.clone();
        self.endings.spawn(async move {
            tokio::select! {
                biased;
                () = hurry.cancelled() => {}
                () = handle.retire(GRACE) => {}
            }
            handle.stop().await;
            if let Some(commands) = commands.upgrade() {
                let _ = commands.send(Command::Ended { server });
            }
        });
    }

    /// Takes over the parts of an entry that the running process knows nothing of.
    fn adopt(&mut self, server: &ServerName, config: &ServerConfig) {
        if let Some(Entry::Running { config: used, .. } | Entry::Changing { config: used }) =
            self.snapshot.servers.get_mut(server)
        {
            *used = Arc::new(config.clone());
            if let Some(handle) = self.handles.get(server) {
                handle.configure(config.clone());
            }
            self.list(server, "config");
        }
    }

    fn remove(&mut self, server: &ServerName) {
        self.snapshot.servers.remove(server);
        self.leave(server);
        self.forget_tools(server);
    }

    fn forget_tools(&mut self, server: &ServerName) {
        if self.listed.remove(server).is_some() {
            self.snapshot.catalog = self.snapshot.catalog.without_server(server);
            self.snapshot.index = self.snapshot.index.without(&Group::Server(server.clone()));
            self.changed(server, "config");
        }
    }

    /// Brings the catalog and the index up to what the server listed last and its filter lets through.
    fn list(&mut self, server: &ServerName, reason: &'static str) {
        let (Some(listed), Some(config)) = (
            self.listed.get(server),
            self.snapshot.config.servers.get(server),
        ) else {
            return;
        };
        let listing = listing::build(server, listed.tools.clone(), |name| {
            config.tools.admits(name)
        });
        if self.snapshot.catalog.lists(server, &listing) {
            return;
        }
        self.snapshot.catalog = self.snapshot.catalog.with_server(server, listing);
        let tools: Tools = self.snapshot.catalog.server_tools(server).into();
        let group = Group::Server(server.clone());
        self.snapshot.index = self.snapshot.index.with(group, &tools);
        let watched = config.trust == Trust::Untrusted || config.approval == Approval::Ask;
        if watched {
            let pins = Arc::make_mut(&mut self.snapshot.pins);
            for tool in tools.iter() {
                pins.entry(ToolId::new(server, tool.original_name()))
                    .or_insert_with(|| Pin::of(tool));
            }
        }
        self.changed(server, reason);
    }

    fn index_anew(&mut self) {
        let mut index = Index::new(SearchOptions::from(&self.snapshot.config.tool_search));
        for server in self.listed.keys() {
            let tools: Tools = self.snapshot.catalog.server_tools(server).into();
            index = index.with(Group::Server(server.clone()), &tools);
        }
        self.snapshot.index = index;
    }

    /// Starts the encoder that is configured in place of the one before.
    fn encode_by(&mut self, config: &config::Encoder) {
        let notices = self.notices.clone();
        let complain = move |message: String| {
            let _ = notices.send(Notice::Log {
                server: None,
                level: LogLevel::Warning,
                message,
            });
        };
        self.encoder = encoder::Handle::start(config, complain);
        self.snapshot.encoder = self.encoder.as_ref().map(|it| it.reader().clone());
    }

    fn changed(&mut self, server: &ServerName, reason: &'static str) {
        let due = Instant::now() + DEBOUNCE;
        let untold = self.untold.get_or_insert_with(|| Untold {
            servers: BTreeSet::new(),
            reason,
            due,
        });
        untold.servers.insert(server.clone());
    }

    fn tell(&mut self) {
        if let Some(Untold {
            servers, reason, ..
        }) = self.untold.take()
        {
            let servers = servers.into_iter().collect();
            let generation = self.snapshot.catalog.generation();
            let _ = self.notices.send(Notice::ToolsChanged {
                generation,
                servers,
                reason,
            });
        }
    }

    fn publish(&self) {
        if let Some(encoder) = &self.snapshot.encoder {
            encoder.want(&self.snapshot.index);
        }
        self.snapshots.send_replace(Arc::new(self.snapshot.clone()));
    }

    async fn stop(&mut self) {
        self.hurry.cancel();
        if let Some(encoder) = self.encoder.take() {
            self.endings.spawn(encoder.end(ENCODER_LIMIT));
        }
        for (_, handle) in std::mem::take(&mut self.handles) {
            self.endings.spawn(handle.stop());
        }
        while self.endings.join_next().await.is_some() {}
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
