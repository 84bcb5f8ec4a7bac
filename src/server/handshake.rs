//! Agrees with a server on a protocol.
//!
//! `initialize` comes first: every server of today's takes it, while some refuse it after a `server/discover` on the
//! same pipe, and one dies of that. The stateless revision is tried where the server asks for it, where the
//! configuration does, or where it worked before.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::config::Protocol;
use crate::server::error::{ConnectError, ErrorKind};
use crate::server::incoming::Fault;
use crate::server::mcp::{
    self, Era, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, known_versions,
};
use crate::server::tail::cut;
use crate::server::wire::{Answer, Ticket, Wire, WireEnd, notification_text, request_text};
use crate::server::{HostSupport, ServerInfo};

/// How long a server may think about `server/discover` before it is taken for one that does not know it.
const PROBE: Duration = Duration::from_secs(5);

/// The largest `instructions` that are kept, in characters; real ones reach 20,000.
const MAX_INSTRUCTIONS: usize = 50_000;

/// What was agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    pub era: Era,
    pub version: String,
    pub server_info: Option<ServerInfo>,
    pub instructions: Option<String>,
    /// Whether the server says that it has tools.
    pub declares_tools: bool,
    pub declares_list_changed: bool,
    pub warnings: Vec<String>,
}

/// Why there is no agreement.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// The connection ended.
    Ended(WireEnd),
    /// This process cannot go on, a new one might, if it is asked in this way at first.
    TryAgain(Era),
    Failed(ConnectError),
}

/// Asks the server in the order that promises most.
pub async fn shake_hands(
    wire: &mut Wire,
    protocol: Protocol,
    first: Era,
    support: &HostSupport,
) -> Result<Agreed, Refusal> {
    let mut talk = Talk {
        wire,
        support,
        next_id: 1,
        is_probed: false,
        open_probe: None,
    };
    if first == Era::Stateless {
        match talk.probe().await {
            Ok(Some(agreed)) => return Ok(agreed),
            Ok(None) => {}
            Err(Refusal::Ended(_)) => return Err(Refusal::TryAgain(Era::Session)),
            Err(refusal) => return Err(refusal),
        }
    }
    let newest = known_versions(Era::Session).next().unwrap_or_default();
    let refusal = match talk.initialize(newest).await? {
        Ok(agreed) => return Ok(agreed),
        Err(refusal) => refusal,
    };
    let theirs = supported_by(&refusal);
    if let Some(shared) = known_versions(Era::Session)
        .find(|known| *known != newest && theirs.iter().any(|version| version == known))
        && let Ok(agreed) = talk.initialize(shared).await?
    {
        return Ok(agreed);
    }
    let may_be_stateless = refusal.code == UNSUPPORTED_PROTOCOL_VERSION
        || refusal.code == METHOD_NOT_FOUND
        || theirs.iter().any(|version| is_stateless(version));
    if may_be_stateless && protocol != Protocol::Legacy && !talk.is_probed {
        match talk.probe().await {
            Ok(Some(agreed)) => return Ok(agreed),
            Ok(None) => {}
            Err(Refusal::Ended(_)) => return Err(Refusal::TryAgain(Era::Stateless)),
            Err(refusal) => return Err(refusal),
        }
    }
    Err(Refusal::Failed(refused(&refusal, &theirs)))
}

struct Talk<'a> {
    wire: &'a mut Wire,
    support: &'a HostSupport,
    next_id: u64,
    is_probed: bool,
    /// A `server/discover` that was not answered in time: its answer still counts.
    open_probe: Option<u64>,
}

impl Talk<'_> {
    async fn initialize(&mut self, version: &str) -> Result<Result<Agreed, Fault>, Refusal> {
        let params = mcp::initialize_params(self.support, version);
        let id = self.send("initialize", params)?;
        loop {
            let (answered, outcome) = self.next().await?;
            if Some(answered) == self.open_probe {
                if let Some(agreed) = outcome.ok().as_ref().and_then(discovered) {
                    return Ok(Ok(agreed));
                }
                continue;
            }
            if answered != id {
                continue;
            }
            let result = match outcome {
                Ok(result) => result,
                Err(fault) => return Ok(Err(fault)),
            };
            let agreed = initialized(&result).map_err(Refusal::Failed)?;
            // Next and at once: strict servers end at any other message.
            self.wire
                .notify(notification_text("notifications/initialized"))
                .map_err(|_| Refusal::Ended(WireEnd::Eof))?;
            return Ok(Ok(agreed));
        }
    }

    /// Asks a server whether it is stateless; `None` if it does not seem to be.
    async fn probe(&mut self) -> Result<Option<Agreed>, Refusal> {
        self.is_probed = true;
        let mut version = known_versions(Era::Stateless).next().unwrap_or_default();
        for _ in 0..2 {
            let params = mcp::discover_params(self.support, version);
            let id = self.send("server/discover", params)?;
            let answer = async {
                loop {
                    let (answered, outcome) = self.next().await?;
                    if answered == id {
                        return Ok(outcome);
                    }
                }
            };
            let fault = match timeout(PROBE, answer).await {
                Ok(Ok(Ok(result))) => return Ok(discovered(&result)),
                Ok(Ok(Err(fault))) => fault,
                Ok(Err(refusal)) => return Err(refusal),
                Err(_) => {
                    self.open_probe = Some(id);
                    return Ok(None);
                }
            };
            let theirs = supported_by(&fault);
            let shared = known_versions(Era::Stateless)
                .find(|known| *known != version && theirs.iter().any(|version| version == known));
            match shared {
                Some(shared) => version = shared,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    fn send(&mut self, method: &str, params: Value) -> Result<u64, Refusal> {
        let id = self.next_id;
        self.next_id += 1;
        self.wire
            .request(id, request_text(id, method, &params), Ticket::default())
            .map_err(|_| Refusal::Ended(WireEnd::Eof))?;
        Ok(id)
    }

    async fn next(&mut self) -> Result<Answer, Refusal> {
        self.wire.next().await.map_err(Refusal::Ended)
    }
}

/// Reads the result of `initialize`, of which only the version matters.
fn initialized(result: &Value) -> Result<Agreed, ConnectError> {
    if !result.is_object() {
        let shown = cut(&result.to_string(), 100);
        return Err(ConnectError::new(
            ErrorKind::Handshake,
            format!("`initialize` was answered with `{shown}` instead of an object"),
        ));
    }
    let newest = known_versions(Era::Session).next().unwrap_or_default();
    let mut warnings = Vec::new();
    let version = match result.get("protocolVersion").and_then(Value::as_str) {
        Some(version) => {
            let eras = [Era::Session, Era::Stateless];
            if !eras
                .into_iter()
                .any(|era| known_versions(era).any(|known| known == version))
            {
                warnings.push(format!(
                    "speaks protocol version `{}`, which is not known here; going on as in `{newest}`",
                    cut(version, 40)
                ));
            }
            version
        }
        None => {
            warnings.push(format!(
                "names no protocol version; going on as in `{newest}`"
            ));
            newest
        }
    };
    let info = result.get("serverInfo");
    Ok(agreed(Era::Session, version, info, result, warnings))
}

/// Reads the result of `server/discover`; `None` if it is not one of a stateless server.
fn discovered(result: &Value) -> Option<Agreed> {
    let theirs = strings(result.get("supportedVersions")?);
    let version = known_versions(Era::Stateless)
        .find(|known| theirs.iter().any(|version| version == known))?;
    let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
    Some(agreed(Era::Stateless, version, info, result, vec![]))
}

fn agreed(
    era: Era,
    version: &str,
    info: Option<&Value>,
    result: &Value,
    warnings: Vec<String>,
) -> Agreed {
    let tools = result.pointer("/capabilities/tools");
    Agreed {
        era,
        version: cut(version, 40),
        server_info: info.and_then(server_info),
        instructions: result
            .get("instructions")
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .map(|text| cut(text, MAX_INSTRUCTIONS)),
        declares_tools: tools.is_some_and(|tools| !tools.is_null()),
        declares_list_changed: tools
            .and_then(|tools| tools.get("listChanged"))
            .is_some_and(|declared| declared != &Value::Bool(false) && !declared.is_null()),
        warnings,
    }
}

fn server_info(info: &Value) -> Option<ServerInfo> {
    let name = info.get("name").and_then(Value::as_str)?;
    let version = match info.get("version") {
        Some(Value::String(version)) => Some(cut(version, 100)),
        Some(Value::Number(version)) => Some(version.to_string()),
        _ => None,
    };
    Some(ServerInfo {
        name: cut(name, 200),
        version,
    })
}

/// The versions that a refusal names.
fn supported_by(fault: &Fault) -> Vec<String> {
    let named = fault.data.as_ref().and_then(|data| {
        [
            "supported",
            "supportedVersions",
            "supportedProtocolVersions",
        ]
        .iter()
        .find_map(|name| data.get(name))
    });
    named.map(strings).unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn is_stateless(version: &str) -> bool {
    known_versions(Era::Stateless).any(|known| known == version)
}

fn refused(fault: &Fault, theirs: &[String]) -> ConnectError {
    let said = cut(&fault.message, 300);
    let code = fault.code;
    if code != UNSUPPORTED_PROTOCOL_VERSION && theirs.is_empty() {
        return ConnectError::new(
            ErrorKind::Handshake,
            format!("`initialize` was refused: {said} (code {code})"),
        );
    }
    let ours: Vec<&str> = known_versions(Era::Stateless)
        .chain(known_versions(Era::Session))
        .collect();
    let theirs = match theirs {
        [] => "unnamed versions".to_owned(),
        theirs => cut(&theirs.join(", "), 200),
    };
    ConnectError::new(
        ErrorKind::ProtocolVersion,
        format!(
            "no protocol version in common: the server speaks {theirs}, this client {}; it said: {said}",
            ours.join(", ")
        ),
    )
}
