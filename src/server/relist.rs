//! Lists a server's tools again when it says that they have changed, and decides what to believe.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::names::ServerName;
use crate::server::ListedTools;
use crate::server::connection::Connection;
use crate::server::gate::Gate;
use crate::server::listing::{Listing, list_tools};

/// Changes are waited for to come to rest.
const DEBOUNCE: Duration = Duration::from_millis(250);
const MAX_DEBOUNCE: Duration = Duration::from_secs(2);
/// When a list that tells no news is asked for again: some servers notify before they are done.
const VERIFY_AFTER: Duration = Duration::from_millis(500);

/// Lists again after a notification, once it has come to rest; `None` if that brings nothing to believe.
pub async fn relist(
    name: ServerName,
    connection: Arc<Connection>,
    gate: Arc<Gate>,
    known: Option<Arc<ListedTools>>,
) -> Option<Listing> {
    let latest = Instant::now() + MAX_DEBOUNCE;
    while let Ok(()) = timeout(
        DEBOUNCE.min(latest.saturating_duration_since(Instant::now())),
        connection.list_changed.notified(),
    )
    .await
    {}
    let known = known.as_ref().map_or(&[][..], |listed| &listed.tools);
    let mut listing = list_alone(&name, &connection, &gate).await;
    // Once for a list without news, and once more for an empty one: neither is believed at first sight.
    let is_news = |listing: &Option<Listing>| listing.as_ref().is_some_and(|it| it.tools != known);
    let is_doubtful = |listing: &Option<Listing>| {
        listing.as_ref().is_some_and(|it| it.tools.is_empty()) && !known.is_empty()
    };
    if !is_news(&listing) {
        sleep(VERIFY_AFTER).await;
        listing = list_alone(&name, &connection, &gate).await;
    }
    if is_doubtful(&listing) {
        sleep(VERIFY_AFTER).await;
        listing = list_alone(&name, &connection, &gate).await;
    }
    listing
}

/// A server that takes one call at a time takes no list beside one either.
async fn list_alone(name: &ServerName, connection: &Connection, gate: &Gate) -> Option<Listing> {
    let _pass = gate.enter().await?;
    match list_tools(connection).await {
        Ok(listing) => Some(listing),
        Err(problem) => {
            tracing::warn!(server = %name, %problem, "the list of tools could not be refreshed");
            None
        }
    }
}
