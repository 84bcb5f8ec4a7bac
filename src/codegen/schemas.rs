//! Walks the list of methods and gathers the JSON Schemas of everything they mention.
//!
//! schemars describes a type in two ways: as it is read (what has a default may be missing) and as it is written.
//! What hosts send takes the first, what the sidecar sends the second.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::api::methods::{self, Method, Notification, Visitor};
use crate::api::types::ErrorData;

/// The schemas of all types, by direction, and the methods in order.
pub struct Schemas {
    pub inbound: Map<String, Value>,
    pub outbound: Map<String, Value>,
    pub requests: Vec<Signature>,
    pub host_requests: Vec<Signature>,
    pub notifications: Vec<Signature>,
}

pub struct Signature {
    pub name: &'static str,
    pub doc: &'static str,
    pub params: Value,
    /// `null` for a notification.
    pub result: Value,
}

impl Schemas {
    pub fn of_all_methods(settings: SchemaSettings) -> Schemas {
        let mut walk = Walk {
            inbound: settings.clone().for_deserialize().into_generator(),
            outbound: settings.for_serialize().into_generator(),
            requests: Vec::new(),
            host_requests: Vec::new(),
            notifications: Vec::new(),
        };
        methods::visit(&mut walk);
        // Errors carry a type that no method mentions.
        walk.outbound.subschema_for::<ErrorData>();
        Schemas {
            inbound: walk.inbound.take_definitions(true),
            outbound: walk.outbound.take_definitions(true),
            requests: walk.requests,
            host_requests: walk.host_requests,
            notifications: walk.notifications,
        }
    }
}

struct Walk {
    inbound: SchemaGenerator,
    outbound: SchemaGenerator,
    requests: Vec<Signature>,
    host_requests: Vec<Signature>,
    notifications: Vec<Signature>,
}

impl Visitor for Walk {
    fn request<M: Method>(&mut self) {
        self.requests.push(Signature {
            name: M::NAME,
            doc: M::DOC,
            params: self.inbound.subschema_for::<M::Params>().to_value(),
            result: self.outbound.subschema_for::<M::Result>().to_value(),
        });
    }

    fn host_request<M: Method>(&mut self) {
        self.host_requests.push(Signature {
            name: M::NAME,
            doc: M::DOC,
            params: self.outbound.subschema_for::<M::Params>().to_value(),
            result: self.inbound.subschema_for::<M::Result>().to_value(),
        });
    }

    fn notification<N: Notification>(&mut self) {
        self.notifications.push(Signature {
            name: N::NAME,
            doc: N::DOC,
            params: self.outbound.subschema_for::<N::Params>().to_value(),
            result: json!({ "type": "null" }),
        });
    }
}
