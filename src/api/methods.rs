//! The one list of methods: what registers them, writes the schema and generates the clients walks it.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::types::*;

/// A request and its answer.
pub trait Method {
    const NAME: &'static str;
    /// The documentation, in Markdown; its first line stands alone.
    const DOC: &'static str;
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}

/// A message without an answer.
pub trait Notification {
    const NAME: &'static str;
    const DOC: &'static str;
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}

/// Is shown every method, in the order of the wire contract.
pub trait Visitor {
    /// The host asks, the sidecar answers.
    fn request<M: Method>(&mut self);
    /// The sidecar asks, the host answers.
    fn host_request<M: Method>(&mut self);
    /// The sidecar tells.
    fn notification<N: Notification>(&mut self);
}

macro_rules! methods {
    (
        requests { $($(#[doc = $request_doc:literal])+ $request:ident $request_name:literal ($request_params:ty) -> $request_result:ty;)* }
        host_requests { $($(#[doc = $host_doc:literal])+ $host:ident $host_name:literal ($host_params:ty) -> $host_result:ty;)* }
        notifications { $($(#[doc = $notification_doc:literal])+ $notification:ident $notification_name:literal ($notification_params:ty);)* }
    ) => {
        $(
            $(#[doc = $request_doc])+
            pub enum $request {}
            impl Method for $request {
                const NAME: &'static str = $request_name;
                const DOC: &'static str = concat!($($request_doc, "\n"),+);
                type Params = $request_params;
                type Result = $request_result;
            }
        )*
        $(
            $(#[doc = $host_doc])+
            pub enum $host {}
            impl Method for $host {
                const NAME: &'static str = $host_name;
                const DOC: &'static str = concat!($($host_doc, "\n"),+);
                type Params = $host_params;
                type Result = $host_result;
            }
        )*
        $(
            $(#[doc = $notification_doc])+
            pub enum $notification {}
            impl Notification for $notification {
                const NAME: &'static str = $notification_name;
                const DOC: &'static str = concat!($($notification_doc, "\n"),+);
                type Params = $notification_params;
            }
        )*

        /// Shows every method to the visitor.
        pub fn visit(visitor: &mut impl Visitor) {
            $(visitor.request::<$request>();)*
            $(visitor.host_request::<$host>();)*
            $(visitor.notification::<$notification>();)*
        }
    };
}

methods! {
    requests {
        /// Introduces the host; optional, without it the host is taken to have no capabilities.
        Initialize "initialize" (InitializeParams) -> InitializeResult;
        /// Returns the tools for the next model call.
        ///
        /// The same configuration, catalog and params give the same bytes.
        AssembleTools "assembleTools" (AssembleToolsParams) -> AssembleToolsResult;
        /// Runs one tool call of the model and returns its answer.
        Dispatch "dispatch" (DispatchParams) -> DispatchResult;
        /// Tells what `dispatch` would do, without doing it.
        Resolve "resolve" (ResolveParams) -> ResolveResult;
        /// Reads the configuration again and touches only what changed, or restarts the servers named.
        Reload "reload" (ReloadParams) -> ReloadResult;
        /// Tells how the sidecar, its servers and its sessions are.
        Status "status" (StatusParams) -> StatusResult;
        /// Forgets a session's last assembly and its approvals.
        CloseSession "closeSession" (CloseSessionParams) -> EmptyResult;
        /// Stops all servers; only `exit` may follow.
        Shutdown "shutdown" (ShutdownParams) -> ();
    }
    host_requests {
        /// Asks whether a tool may be run; what is not answered is not approved.
        Approve "approve" (ApproveParams) -> ApproveResult;
        /// Passes on a server's question to the person.
        Elicit "elicit" (ElicitParams) -> ElicitResult;
        /// Passes on a server's wish for a completion; the answer is MCP's result of `sampling/createMessage`.
        Sample "sample" (SampleParams) -> serde_json::Map<String, serde_json::Value>;
        /// Asks the host to show a page to the person.
        OpenUrl "openUrl" (OpenUrlParams) -> OpenUrlResult;
    }
    notifications {
        /// The next `assembleTools` may differ.
        ToolsChanged "toolsChanged" (ToolsChangedNotification);
        /// A server's state has changed.
        ServerStatusChanged "serverStatus" (ServerStatusNotification);
        /// A running call goes on.
        Progress "progress" (ProgressNotification);
        /// Something for the host's log.
        Log "log" (LogNotification);
    }
}
