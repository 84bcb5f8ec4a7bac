//! What the sidecar knows of the host at the other end, and how it reaches it.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::watch;

use crate::api::methods::{Method, Notification};
use crate::api::types::{ApproveParams, HostCapabilities, InitializeParams};
use crate::rpc::peer::{Peer, PeerError};
use crate::server::{HostSupport, Root};

/// How long a person may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

/// The host. Cheap to clone; every clone learns what `initialize` said.
#[derive(Clone)]
pub struct Host {
    reach: Reach,
    said: watch::Sender<Said>,
    support: watch::Sender<HostSupport>,
}

/// Where a question to the host goes.
#[derive(Clone)]
enum Reach {
    Peer(Peer),
    /// A person at this terminal, who can only be asked for approval.
    Terminal(fn(&ApproveParams) -> bool),
    Nobody,
}

#[derive(Clone, Default)]
struct Said {
    capabilities: HostCapabilities,
    opted_out: BTreeSet<String>,
}

/// Why the host gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unasked {
    #[error("the host does not answer `{0}`")]
    NotSupported(&'static str),
    #[error(transparent)]
    Unanswered(#[from] PeerError),
}

impl Host {
    pub fn peer(peer: Peer) -> Host {
        Host::reached_by(Reach::Peer(peer))
    }

    pub fn terminal(approve: fn(&ApproveParams) -> bool) -> Host {
        Host::reached_by(Reach::Terminal(approve))
    }

    pub fn nobody() -> Host {
        Host::reached_by(Reach::Nobody)
    }

    fn reached_by(reach: Reach) -> Host {
        Host {
            reach,
            said: watch::Sender::default(),
            support: watch::Sender::default(),
        }
    }

    /// Takes down what `initialize` says of the host.
    pub fn introduce(&self, params: &InitializeParams) {
        let capabilities = params.capabilities.clone().unwrap_or_default();
        let elicitation = capabilities.elicitation.clone().unwrap_or_default();
        self.support.send_replace(HostSupport {
            elicit_form: elicitation.form == Some(true),
            elicit_url: elicitation.url == Some(true),
            sampling: capabilities.sampling == Some(true),
            roots: params
                .roots
                .iter()
                .flatten()
                .map(|it| Root {
                    uri: it.uri.clone(),
                    name: it.name.clone(),
                })
                .collect(),
        });
        let opted_out = params
            .opt_out_notifications
            .iter()
            .flatten()
            .cloned()
            .collect();
        self.said.send_replace(Said {
            capabilities,
            opted_out,
        });
    }

    /// What servers may ask of the host, now and as it changes.
    pub fn support(&self) -> watch::Receiver<HostSupport> {
        self.support.subscribe()
    }

    pub fn wants_progress(&self) -> bool {
        self.said.borrow().capabilities.progress == Some(true)
    }

    pub fn can_approve(&self) -> bool {
        match self.reach {
            Reach::Peer(_) => self.said.borrow().capabilities.approval == Some(true),
            Reach::Terminal(_) => true,
            Reach::Nobody => false,
        }
    }

    /// Asks and waits; dropping the future takes the question back.
    pub async fn ask<M: Method>(&self, params: M::Params) -> Result<M::Result, Unasked> {
        let Reach::Peer(peer) = &self.reach else {
            return Err(Unasked::NotSupported(M::NAME));
        };
        Ok(peer.ask::<M>(&params, ANSWER_LIMIT).await?)
    }

    /// The answer of the person at the terminal, where there is one.
    pub async fn ask_terminal(&self, params: &ApproveParams) -> Option<bool> {
        let Reach::Terminal(approve) = self.reach else {
            return None;
        };
        let params = params.clone();
        tokio::task::spawn_blocking(move || approve(&params))
            .await
            .ok()
    }

    /// Tells, in order, unless the host has opted out.
    pub fn tell<N: Notification>(&self, params: N::Params) {
        let Reach::Peer(peer) = &self.reach else {
            return;
        };
        if !self.said.borrow().opted_out.contains(N::NAME) {
            peer.tell::<N>(&params);
        }
    }
}
