//! What the sidecar remembers of one conversation, and of how many.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::assembly::{Assembly, Mode};
use crate::catalog::host::HostTools;
use crate::catalog::scope::Scope;
use crate::names::{ServerName, ToolId};
use crate::schema::Format;
use crate::search::{Group, Index};

/// How many sessions are kept; beyond that the one that was not used for the longest time is forgotten.
const KEPT: usize = 1000;

/// One conversation as it is now; a change makes a new value.
#[derive(Clone, Default)]
pub struct Session {
    /// The host's own tools, as of the last assembly.
    pub host: Arc<Host>,
    pub scope: Arc<Scope>,
    pub assembled: Option<Arc<Assembled>>,
    /// The mode of the first assembly.
    pub first_mode: Option<Mode>,
    /// Tools that the host has allowed for the rest of the session.
    pub approved: BTreeSet<ToolId>,
    pub counts: Counts,
}

/// What an index was made from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IndexOf {
    pub generation: u64,
    /// Aliases and keywords are the configuration's.
    pub config_revision: u64,
}

/// What a host runs itself; sessions that have the same share it.
#[derive(Default)]
pub struct Host {
    pub tools: HostTools,
    /// What is known of a catalog's index, with these tools too.
    index: Mutex<Option<(IndexOf, Index)>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    pub searches: u64,
    pub describes: u64,
    pub calls: u64,
    /// Searches since the last call.
    pub searches_in_a_row: u64,
}

/// An assembly and what it was made from: made from the same, it would be the same.
pub struct Assembled {
    pub from: Inputs,
    pub assembly: Assembly,
}

/// What an assembly depends on, the host's tools and the scope excepted: those are the session's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inputs {
    pub generation: u64,
    /// Counts the configurations that have been in use.
    pub config_revision: u64,
    pub format: Format,
    pub context_length: Option<u64>,
    pub pinned: Option<Mode>,
}

/// What happened in a session.
pub enum Change {
    /// Tools were assembled: from now on these host tools and this scope hold.
    Assembled {
        host: Arc<Host>,
        scope: Arc<Scope>,
        assembled: Arc<Assembled>,
    },
    Searched,
    Described,
    Called,
    Approved(ToolId),
}

impl From<HostTools> for Host {
    fn from(tools: HostTools) -> Host {
        Host {
            tools,
            index: Mutex::default(),
        }
    }
}

impl Host {
    /// The index over a catalog and these tools; made once for each, while others who want it wait for it.
    pub fn index(&self, of: IndexOf, catalog: &Index) -> Index {
        if !self.tools.tools.iter().any(|tool| tool.deferrable) {
            return catalog.clone();
        }
        let mut made = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((made_of, index)) if *made_of == of => index.clone(),
            newer => {
                let index = catalog.with(Group::Host, &self.tools.tools);
                // A turn that began before a change does not undo what was made after it.
                if newer.as_ref().is_none_or(|(made_of, _)| *made_of < of) {
                    *made = Some((of, index.clone()));
                }
                index
            }
        }
    }
}

impl Session {
    fn after(&self, change: Change) -> Session {
        let mut next = self.clone();
        match change {
            Change::Assembled {
                host,
                scope,
                assembled,
            } => {
                next.first_mode
                    .get_or_insert(assembled.assembly.decision.mode);
                next.host = host;
                next.scope = scope;
                next.assembled = Some(assembled);
            }
            Change::Searched => {
                next.counts.searches += 1;
                next.counts.searches_in_a_row += 1;
            }
            Change::Described => next.counts.describes += 1,
            Change::Called => {
                next.counts.calls += 1;
                next.counts.searches_in_a_row = 0;
            }
            Change::Approved(tool) => {
                next.approved.insert(tool);
            }
        }
        next
    }
}

/// The sessions most recently used.
#[derive(Default)]
pub struct Sessions {
    by_id: BTreeMap<String, Kept>,
    clock: u64,
    /// Of the session that assembled last.
    pub latest_host: Arc<Host>,
}

struct Kept {
    session: Arc<Session>,
    used: u64,
}

impl Sessions {
    /// The session, a fresh one where the id is new. Looking does not make it one to be kept.
    pub fn get(&mut self, id: &str) -> Arc<Session> {
        self.clock += 1;
        match self.by_id.get_mut(id) {
            Some(kept) => {
                kept.used = self.clock;
                kept.session.clone()
            }
            None => Arc::default(),
        }
    }

    /// An approval that comes when its session has been closed is the approval of nothing.
    pub fn apply(&mut self, id: &str, change: Change) {
        if matches!(change, Change::Approved(_)) && !self.by_id.contains_key(id) {
            return;
        }
        if let Change::Assembled { host, .. } = &change {
            self.latest_host = host.clone();
        }
        let session = Arc::new(self.get(id).after(change));
        self.by_id.insert(
            id.to_owned(),
            Kept {
                session,
                used: self.clock,
            },
        );
        if self.by_id.len() > KEPT {
            let oldest = self
                .by_id
                .iter()
                .min_by_key(|(_, kept)| kept.used)
                .map(|(id, _)| id.clone());
            if let Some(oldest) = oldest {
                self.by_id.remove(&oldest);
            }
        }
    }

    /// Takes back what was approved of a server's tools: another program may stand behind its name now.
    pub fn revoke(&mut self, server: &ServerName) {
        for kept in self.by_id.values_mut() {
            if kept
                .session
                .approved
                .iter()
                .any(|tool| tool.server == *server)
            {
                Arc::make_mut(&mut kept.session)
                    .approved
                    .retain(|tool| tool.server != *server);
            }
        }
    }

    /// Whether there was such a session.
    pub fn close(&mut self, id: &str) -> bool {
        self.by_id.remove(id).is_some()
    }

    pub fn list(&self) -> Vec<(String, Arc<Session>)> {
        self.by_id
            .iter()
            .map(|(id, kept)| (id.clone(), kept.session.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Tool;

    use super::*;

    fn tool(server: &str) -> ToolId {
        ToolId::new(&ServerName::new(server).unwrap(), "tool")
    }

    #[test]
    fn what_was_approved_of_a_server_can_be_taken_back() {
        let mut sessions = Sessions::default();
        for change in [
            Change::Called,
            Change::Approved(tool("a")),
            Change::Approved(tool("b")),
        ] {
            sessions.apply("s", change);
        }
        sessions.revoke(&ServerName::new("a").unwrap());
        assert_eq!(sessions.get("s").approved, BTreeSet::from([tool("b")]));
    }

    #[test]
    fn an_approval_after_the_end_of_its_session_approves_nothing() {
        let mut sessions = Sessions::default();
        sessions.apply("s", Change::Called);
        sessions.close("s");
        sessions.apply("s", Change::Approved(tool("a")));
        assert!(sessions.get("s").approved.is_empty());
    }

    #[test]
    fn a_hosts_tools_are_indexed_once_a_generation() {
        let tool = |name: &str| Arc::new(Tool::host(name, None, None, true));
        let host = Host::from(HostTools::from(vec![tool("ask")]));
        let names = |index: &Index| -> Vec<String> {
            index.tools().map(|it| it.exposed.to_string()).collect()
        };
        let empty = Index::default();
        let of = |generation, config_revision| IndexOf {
            generation,
            config_revision,
        };
        assert_eq!(names(&host.index(of(1, 1), &empty)), ["ask"]);
        let server = Group::Server(ServerName::new("web").unwrap());
        let more = empty.with(server, &[tool("get")].into());
        // Of one generation and configuration there is one catalog, so that this one is not looked at.
        assert_eq!(names(&host.index(of(1, 1), &more)), ["ask"]);
        for newer in [of(1, 2), of(2, 2)] {
            assert_eq!(names(&host.index(newer, &more)), ["ask", "get"]);
        }
        assert_eq!(names(&host.index(of(1, 1), &empty)), ["ask"]);
        assert_eq!(names(&host.index(of(2, 2), &empty)), ["ask", "get"]);
    }

    #[test]
    fn a_call_ends_a_row_of_searches() {
        let mut sessions = Sessions::default();
        for change in [
            Change::Searched,
            Change::Searched,
            Change::Called,
            Change::Searched,
            Change::Described,
        ] {
            sessions.apply("s", change);
        }
        assert_eq!(
            sessions.get("s").counts,
            Counts {
                searches: 3,
                describes: 1,
                calls: 1,
                searches_in_a_row: 1
            }
        );
    }

    #[test]
    fn the_session_unused_for_longest_is_forgotten_first() {
        let mut sessions = Sessions::default();
        for n in 0..KEPT {
            sessions.apply(&n.to_string(), Change::Called);
        }
        sessions.get("0");
        sessions.apply("one more", Change::Called);
        assert_eq!(sessions.list().len(), KEPT);
        assert_eq!(sessions.get("0").counts.calls, 1);
        assert_eq!(sessions.get("1").counts.calls, 0);
    }

    #[test]
    fn closing_says_whether_there_was_a_session() {
        let mut sessions = Sessions::default();
        sessions.apply("s", Change::Described);
        sessions.apply("s", Change::Approved(tool("a")));
        assert!(sessions.get("s").approved.contains(&tool("a")));
        assert!(sessions.close("s"));
        assert!(!sessions.close("s"));
        assert!(sessions.get("s").approved.is_empty());
    }
}
