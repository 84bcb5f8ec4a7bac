//! Answers the methods about the sidecar itself: initialize, reload, status, closeSession, shutdown.

use crate::api::error::ApiError;
use crate::api::sidecar::Sidecar;
use crate::api::source::Source;
use crate::api::types::*;
use crate::api::wire;
use crate::assembly::Mode as CoreMode;
use crate::config_file::ReadError;
use crate::hub::{Loaded, Reloaded};
use crate::schema::Format as CoreFormat;

pub async fn initialize(
    sidecar: &Sidecar,
    params: InitializeParams,
) -> Result<InitializeResult, ApiError> {
    sidecar.host().introduce(&params);
    let hub = match &params.config {
        None => sidecar.hub().await,
        Some(source) => {
            let source = Source::of_host(source)?;
            let loaded = source.load().map_err(not_loaded)?;
            match sidecar.start_with(source.clone(), loaded).await {
                Ok(hub) => hub,
                Err(loaded) => {
                    let hub = sidecar.hub().await;
                    hub.configure(sound(loaded)?).await;
                    sidecar.choose(source);
                    hub
                }
            }
        }
    };
    let snapshot = hub.snapshot();
    Ok(InitializeResult {
        protocol_version: PROTOCOL_VERSION,
        server_info: Implementation {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        },
        config_path: snapshot.config_path.as_deref().map(wire::path),
        problems: wire::problems(&snapshot.problems),
        formats: CoreFormat::ALL
            .iter()
            .map(|it| it.as_str().to_owned())
            .collect(),
    })
}

/// A configuration with errors never replaces a running one.
pub async fn reload(sidecar: &Sidecar, params: ReloadParams) -> Result<ReloadResult, ApiError> {
    let hub = sidecar.hub().await;
    let mut reloaded = Reloaded::default();
    if params.config.is_some() || params.servers.is_none() {
        let source = match &params.config {
            Some(source) => Source::of_host(source)?,
            None => sidecar.source(),
        };
        let loaded = sound(source.load().map_err(not_loaded)?)?;
        if let Some(unknown) = unknown_server(&params, &loaded) {
            return Err(ApiError::UnknownServer(unknown));
        }
        reloaded = hub.configure(loaded).await;
        sidecar.choose(source);
    }
    if let Some(servers) = params.servers {
        let restarted = hub
            .restart(servers)
            .await
            .map_err(|error| ApiError::UnknownServer(error.0))?;
        reloaded
            .unchanged
            .retain(|server| !restarted.restarted.contains(server));
        if params.config.is_none() {
            reloaded.unchanged = restarted.unchanged;
        }
        reloaded.restarted.extend(restarted.restarted);
        reloaded.restarted.sort();
        reloaded.restarted.dedup();
    }
    let snapshot = hub.snapshot();
    Ok(ReloadResult {
        generation: snapshot.catalog.generation(),
        added: wire::names(&reloaded.added),
        removed: wire::names(&reloaded.removed),
        changed: wire::names(&reloaded.changed),
        restarted: wire::names(&reloaded.restarted),
        unchanged: wire::names(&reloaded.unchanged),
        problems: wire::problems(&snapshot.problems),
        servers: wire::servers(&snapshot),
    })
}

pub async fn status(sidecar: &Sidecar) -> StatusResult {
    let hub = sidecar.hub().await;
    let snapshot = hub.snapshot();
    let sessions = hub.sessions().await;
    StatusResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol_version: PROTOCOL_VERSION,
        uptime_ms: wire::millis(sidecar.uptime()),
        generation: snapshot.catalog.generation(),
        config_path: snapshot.config_path.as_deref().map(wire::path),
        catalog: CatalogStatus {
            tools: snapshot.catalog.tools().len() as u64,
            tokens: snapshot.catalog.tokens() as u64,
        },
        servers: wire::servers(&snapshot),
        sessions: sessions
            .into_iter()
            .map(|(session_id, session)| {
                let assembly = session.assembled.as_ref().map(|it| &it.assembly);
                SessionStatus {
                    session_id,
                    mode: wire::mode(assembly.map_or(CoreMode::Direct, |it| it.decision.mode)),
                    digest: assembly.map(|it| it.digest.clone()).unwrap_or_default(),
                    saved_tokens: assembly.map_or(0, |it| it.decision.saved_tokens),
                    searches: session.counts.searches,
                    describes: session.counts.describes,
                    calls: session.counts.calls,
                }
            })
            .collect(),
    }
}

pub async fn close_session(
    sidecar: &Sidecar,
    params: CloseSessionParams,
) -> Result<EmptyResult, ApiError> {
    let hub = sidecar.hub().await;
    if let Some(recorder) = sidecar.recorder() {
        recorder.closed(&params.session_id);
    }
    if hub.close_session(&params.session_id).await {
        Ok(EmptyResult {})
    } else {
        Err(ApiError::UnknownSession(params.session_id))
    }
}

pub async fn shutdown(sidecar: &Sidecar) {
    sidecar.stop().await;
}

/// A server to restart that the new configuration does not have.
fn unknown_server(params: &ReloadParams, loaded: &Loaded) -> Option<String> {
    let mut named = params.servers.iter().flatten();
    let is_known = |name: &str| loaded.parsed.config.servers.contains_key(name);
    named.find(|name| !is_known(name)).cloned()
}

fn sound(loaded: Loaded) -> Result<Loaded, ApiError> {
    if loaded.parsed.has_errors() {
        return Err(ApiError::ConfigInvalid(wire::problems(
            &loaded.parsed.problems,
        )));
    }
    Ok(loaded)
}

fn not_loaded(error: ReadError) -> ApiError {
    match error {
        ReadError::Missing { path } => ApiError::ConfigNotFound(wire::path(&path)),
        other => ApiError::ConfigInvalid(vec![wire::problem(&other.problem())]),
    }
}
