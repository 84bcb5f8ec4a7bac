// Host side of toolcrib: more MCP tools than a model can bear, behind three.

export { findBinary } from "./binary.js";
export { Toolcrib, type SpawnOptions } from "./client.js";
export * from "./errors.js";
export { parse as parseJson, stringify as stringifyJson } from "./json.js";
export type { CallOptions, Handlers, Notification, Notifications } from "./methods.js";
export type { NotificationIterator } from "./notifications.js";
export * from "./types.js";
