//! What a host and the sidecar say to each other: params, results and notifications of the wire contract.
//!
//! On input, absent and `null` mean the same everywhere; the sidecar leaves out what has no value.
//! Adding an optional field is free, renaming or removing one is not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The revision of the wire contract that this build speaks.
pub const PROTOCOL_VERSION: u32 = 1;

// ---- initialize ----

/// Introduces the host to the sidecar.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Revision of this contract that the host speaks.
    pub protocol_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_info: Option<Implementation>,
    /// What the host can do for the sidecar; what is absent is not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<HostCapabilities>,
    /// Folders that servers may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<Root>>,
    /// Methods of notifications that the host does not want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opt_out_notifications: Option<Vec<String>>,
    /// Replaces the configuration that the sidecar was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigSource>,
}

/// Name and version of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a host can be asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostCapabilities {
    /// The host answers `approve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<bool>,
    /// The host answers `elicit`, in the modes named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// The host answers `sample`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<bool>,
    /// The host answers `openUrl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_url: Option<bool>,
    /// The host wants `progress` notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<bool>,
}

/// The modes of elicitation that a host supports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationCapability {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<bool>,
}

/// A folder that the host works in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Where a configuration comes from: a file or the value itself; exactly one of the two.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSource {
    /// Path of a YAML or JSON file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The configuration itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<Map<String, Value>>,
}

/// Introduces the sidecar to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Revision of this contract that the sidecar speaks; the host decides whether that will do.
    pub protocol_version: u32,
    pub server_info: Implementation,
    /// The configuration file in use; `null` where there is none.
    pub config_path: Option<String>,
    /// What is wrong with the configuration.
    pub problems: Vec<Problem>,
    /// The formats that `assembleTools` can write.
    pub formats: Vec<String>,
}

// ---- assembleTools ----

/// Asks for the tools of the next model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssembleToolsParams {
    /// One conversation; the default is `""`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Tokens that the model of this turn can hold; absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_length: Option<u64>,
    /// Name of the model of this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the array is written; the default is `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The host's own tools, sent every time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_tools: Option<Vec<HostTool>>,
    /// What this session may see and call; everything where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Digest of the answer that the host still has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_digest: Option<String>,
    /// Milliseconds to wait for servers that are still starting; the default is 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// A model API's way of writing a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// OpenAI chat completions, and the many APIs that follow it.
    #[default]
    Openai,
    /// OpenAI responses: flat.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini function declarations with `parametersJsonSchema`.
    Gemini,
    /// The MCP tool under the name that the model sees.
    Mcp,
}

/// A tool that the host itself runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostTool {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Whether the tool may be left out of the array and found by search; the default is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer: Option<bool>,
}

/// What a session may see and call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Names of the servers whose tools are in; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// Globs over the names that the model sees; what matches none is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    /// Globs over the names that the model sees; what matches one is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
}

/// The tools of the next model call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssembleToolsResult {
    /// The exact array for the model; absent when unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub tools: Option<Box<RawValue>>,
    /// Whether `knownDigest` still holds.
    pub unchanged: bool,
    /// The same bytes of `tools` have the same digest, and no others.
    pub digest: String,
    /// Of the catalog that this answer was made from.
    pub generation: u64,
    pub decision: Decision,
    pub servers: Vec<ServerStatus>,
    pub warnings: Vec<Warning>,
}

/// Why the tools are shown as they are, or bridged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub mode: Mode,
    pub reason: Reason,
    /// Number of tools that may be left out of the array.
    pub deferrable_tools: u64,
    /// Estimated tokens of their definitions.
    pub deferrable_tokens: u64,
    /// Estimated tokens of the array as it is now.
    pub visible_tokens: u64,
    /// From this many deferrable tokens on tools are bridged; `null` where no threshold was asked.
    pub threshold_tokens: Option<u64>,
    /// Of the model, as the host gave it.
    pub context_length: Option<u64>,
    /// Estimated tokens that bridging keeps out of the array.
    pub saved_tokens: u64,
}

/// How the tools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// As they are.
    Direct,
    /// Behind `tool_search`, `tool_describe` and `tool_call`.
    Bridged,
}

/// What decided the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// The configuration switches tool search off.
    Off,
    /// The configuration switches tool search on.
    On,
    /// There is nothing that could be left out.
    NothingDeferrable,
    /// The deferrable tools are small enough.
    BelowThreshold,
    /// The deferrable tools take the threshold or more.
    AtThreshold,
    /// The session keeps its first decision.
    Pinned,
}

/// Something that a host's author should know about an assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AssemblyWarning")]
pub struct Warning {
    /// A word to branch on.
    pub kind: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

// ---- dispatch and resolve ----

/// Runs one tool call of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The name that the model called: a tool or a bridge tool.
    pub name: String,
    /// An object, or the JSON text of one; absent and blank are `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub arguments: Option<Value>,
    /// The host's id of this call; progress and approvals carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Milliseconds that the whole call may take; the server's own limits apply as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum DispatchResult {
    /// The sidecar has run the call, or says why not.
    Result(CallResult),
    /// The call is for one of the host's own tools: the host runs it.
    Host(HostCall),
}

/// The answer to a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// What to hand the model: for a tool a JSON text, `{"result": …}` or `{"error": …}`.
    pub content: String,
    /// False if and only if the outcome is `ok`.
    pub is_error: bool,
    pub outcome: Outcome,
    /// The real tool, never the bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRef>,
    /// The bridge tool that the model called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<BridgeTool>,
    /// MCP content blocks as the server sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    pub elapsed_ms: u64,
}

/// A call that the host has to run itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostCall {
    pub tool: ToolRef,
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<BridgeTool>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    /// The tool ran and said that it failed.
    ToolError,
    /// It could not be run: unknown name, server down, protocol fault.
    Error,
    /// It took longer than it may.
    Timeout,
    /// It was not sent: invalid arguments, policy, approval denied, out of scope.
    Refused,
    /// It was sent and the answer was lost; it was not sent again.
    UnknownOutcome,
    Cancelled,
}

/// One of the three tools that stand for all deferred ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BridgeTool {
    ToolSearch,
    ToolDescribe,
    ToolCall,
}

/// A tool, by the name that the model sees and where it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRef {
    pub name: String,
    pub source: ToolSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name that the server gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    /// MCP's hints, as the server sent them: untrusted unless the server is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}

/// Who runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolSource {
    Mcp,
    Host,
}

/// A result that was too long for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    pub original_bytes: u64,
    /// A file with the whole, readable by this user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Asks what `dispatch` would do, without doing it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub name: String,
    /// As in `dispatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub arguments: Option<Value>,
}

/// What `dispatch` would do: hooks, guardrails and approval prompts run on this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveResult {
    /// The real tool; `null` where the name leads to none.
    pub tool: Option<ToolRef>,
    /// The arguments that the real tool would get.
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<BridgeTool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<CallProblem>,
}

/// Why a call would be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallProblem {
    pub message: String,
    /// Place in the arguments, such as `arguments.a.b[0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

// ---- reload, status, closeSession, shutdown ----

/// Reads the configuration again, or restarts servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadParams {
    /// A new configuration instead of the one in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigSource>,
    /// Servers to restart by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
}

/// What a reload did, by server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadResult {
    pub generation: u64,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    pub restarted: Vec<String>,
    pub unchanged: Vec<String>,
    pub problems: Vec<Problem>,
    pub servers: Vec<ServerStatus>,
}

/// Something wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub severity: Severity,
    pub message: String,
    /// JSON pointer (RFC 6901) into the configuration.
    pub path: String,
    /// Place in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    Error,
    Warning,
    Hint,
}

/// A stretch of a text file; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// A place in a text file, zero-based; characters are UTF-16 code units, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// Asks how the sidecar and its servers are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusParams {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusResult {
    /// Version of the sidecar.
    pub version: String,
    pub protocol_version: u32,
    pub uptime_ms: u64,
    /// Of the catalog.
    pub generation: u64,
    /// The configuration file in use; `null` where there is none.
    pub config_path: Option<String>,
    pub catalog: CatalogStatus,
    pub servers: Vec<ServerStatus>,
    pub sessions: Vec<SessionStatus>,
}

/// The size of the whole catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogStatus {
    pub tools: u64,
    pub tokens: u64,
}

/// How one server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    pub name: String,
    pub transport: Transport,
    pub state: ServerState,
    pub tools: u64,
    /// Estimated tokens of its tools' definitions.
    pub tokens: u64,
    /// Protocol revision that was agreed with the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<Implementation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Number of the connection attempt, from 1, while there is trouble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ServerError>,
    /// The last lines of the server's standard error, cleaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<Vec<String>>,
    /// Tools that were left out of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Vec<DroppedTool>>,
    /// Age of the tool list, where it comes from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_age_ms: Option<u64>,
    /// Time from the first use to the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_use_ms: Option<u64>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Transport {
    Stdio,
    Http,
    Sse,
}

/// The life of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ServerState {
    Disabled,
    /// Nothing is known yet.
    Configured,
    /// Its tools are known, it is not started.
    Cached,
    Connecting,
    Ready,
    /// It was lost or did not start, and will be tried again soon.
    Backoff,
    /// The quick attempts are used up; it is tried again now and then, and on use.
    Parked,
    NeedsAuth,
    /// It cannot work before somebody changes something.
    Failed,
}

/// Why a server is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerError {
    /// A word to branch on.
    pub kind: String,
    pub message: String,
}

/// A tool that was left out of the catalog, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DroppedTool {
    pub tool: String,
    pub reason: String,
}

/// What one session did so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    pub session_id: String,
    /// Of the last assembly.
    pub mode: Mode,
    pub digest: String,
    pub saved_tokens: u64,
    pub searches: u64,
    pub describes: u64,
    pub calls: u64,
}

/// Forgets a session's last assembly and its approvals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseSessionParams {
    pub session_id: String,
}

/// Params of a method that takes none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownParams {}

/// A result that says no more than that it was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmptyResult {}

// ---- requests to the host ----

/// Asks the host whether a tool may be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The real tool, never the bridge.
    pub tool: ToolRef,
    pub arguments: Map<String, Value>,
    /// Why the host is asked.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveResult {
    pub decision: ApprovalDecision,
    /// Handed to the model when denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// This call.
    Allow,
    /// This tool, for the rest of the session.
    AllowSession,
    Deny,
}

/// Passes on a server's question to the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitParams {
    pub server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    pub mode: ElicitMode,
    pub message: String,
    /// JSON Schema of the form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ElicitMode {
    Form,
    Url,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitResult {
    pub action: ElicitAction,
    /// The filled form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ElicitAction {
    Accept,
    Decline,
    Cancel,
}

/// Passes on a server's wish for a completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleParams {
    pub server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Params of MCP's `sampling/createMessage`.
    pub params: Map<String, Value>,
}

/// Asks the host to show a page to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenUrlParams {
    pub url: String,
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenUrlResult {
    pub opened: bool,
}

// ---- notifications to the host ----

/// The next `assembleTools` may differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsChangedNotification {
    pub generation: u64,
    pub servers: Vec<String>,
    pub reason: String,
}

/// A server's state has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatusNotification {
    pub server: ServerStatus,
}

/// A running call goes on: in order, and never after the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgressNotification {
    pub call_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub progress: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Something for the host's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogNotification {
    pub level: LogLevel,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

// ---- errors ----

/// `data` of an error -32803: the request could not be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// A word to branch on: `configInvalid`, `configNotFound`, `unknownServer`, `unknownSession`, `notSupported`.
    pub kind: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<Problem>>,
}
