// What can go wrong between a host and the sidecar.

import type { ErrorData } from "./types.js";

/** The codes of errors on the wire. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  Overloaded: -32001,
  Cancelled: -32800,
  RequestFailed: -32803,
} as const;

/** Any trouble with the sidecar. */
export class ToolcribError extends Error {
  override name = "ToolcribError";
}

/** The sidecar answered with an error; a handler may throw one to answer with it. */
export class RpcError extends ToolcribError {
  override name = "RpcError";

  constructor(
    readonly code: number,
    message: string,
    /** `data` as it was sent; of a request that could not be served it says why. */
    readonly data?: unknown,
  ) {
    super(message);
  }

  /** What is known of a request that could not be served. */
  get failure(): ErrorData | undefined {
    if (this.code !== ErrorCode.RequestFailed) return undefined;
    const data = this.data as Partial<ErrorData> | null | undefined;
    return typeof data?.kind === "string" ? (data as ErrorData) : undefined;
  }

  /** A word to branch on, such as `configInvalid`. */
  get kind(): string | undefined {
    return this.failure?.kind;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.code === ErrorCode.Overloaded || this.failure?.retryable === true;
  }
}

/** The answer did not come within `timeout`; the call was cancelled. */
export class CallTimeoutError extends ToolcribError {
  override name = "CallTimeoutError";
}

/** The sidecar has ended, or was closed; every open call fails with this. */
export class SidecarClosedError extends ToolcribError {
  override name = "SidecarClosedError";

  constructor(
    message: string,
    readonly exitCode: number | null = null,
    readonly signal: string | null = null,
  ) {
    super(message);
  }
}

/** The sidecar sent something that is not of the contract. */
export class ProtocolError extends ToolcribError {
  override name = "ProtocolError";
}

/** The sidecar speaks another revision of the contract. */
export class VersionMismatchError extends ToolcribError {
  override name = "VersionMismatchError";

  constructor(
    readonly client: number,
    readonly sidecar: unknown,
    binary: string,
    version: string | undefined,
  ) {
    super(
      `this client speaks protocol version ${client}, but \`${binary}\` (version ${version ?? "unknown"}) ` +
        `speaks ${String(sidecar)}: install versions of the two that belong together`,
    );
  }
}

/** There is no `toolcrib` to start. */
export class BinaryNotFoundError extends ToolcribError {
  override name = "BinaryNotFoundError";
}
