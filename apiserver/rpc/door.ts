import type { EventEmitter } from 'node:events';
import { toUSVString } from 'node:util';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { type ApiError, asApiError, internal } from '../../api/errors/index.ts';
import type { Identity } from '../auth/identity.ts';
import type { TokenTable } from '../auth/tokens.ts';
import { type AnyCall, identify, managerOf } from './caller.ts';
import { type StatusReply, toStatus } from './status.ts';

/** What every handler knows of its call. */
export interface CallContext {
  readonly identity: Identity;
  readonly manager: string;
  readonly requestId: string;
  /** Aborts when the client is gone, the deadline is over, or the server stops. */
  readonly signal: AbortSignal;
}

export interface Reply {
  readonly bytes: Buffer;
  readonly warnings?: readonly string[];
}

/** Handlers get and give encoded messages, so that stored bytes pass through. They throw ApiErrors; anything else is a bug and logged. */
export type UnaryHandler = (request: Buffer, context: CallContext) => Promise<Reply>;
export type StreamHandler = (request: Buffer, call: ServerWritableStream<Buffer, Buffer>, context: CallContext) => Promise<void>;
export type DuplexHandler = (call: ServerDuplexStream<Buffer, Buffer>, context: CallContext) => Promise<void>;

export interface DoorOptions {
  readonly tokens: TokenTable;
  readonly log: Logger;
  readonly requestId: () => string;
  /** Ends every open stream when the server stops. */
  readonly stopping: AbortSignal;
}

/** Header blocks are bounded by clients; a warning is one sentence. */
const MAX_WARNINGS_BYTES = 4_096;

/**
 * What every call passes through, whatever its service: who calls, its request id, its end when the client goes, warnings as metadata,
 * and errors as rich statuses.
 */
export class Door {
  private readonly options: DoorOptions;

  constructor(options: DoorOptions) {
    this.options = options;
  }

  unary(handler: UnaryHandler): handleUnaryCall<Buffer, Buffer> {
    return (call, callback) => {
      const run = async (): Promise<void> => {
        const { context, release } = this.enter(call);
        try {
          const { bytes, warnings } = await handler(call.request, context);
          if (warnings && warnings.length > 0) call.sendMetadata(warningMetadata(warnings));
          callback(null, bytes);
        } finally {
          release();
        }
      };
      run().catch((error: unknown) => callback(this.refuse(error, call)));
    };
  }

  stream(handler: StreamHandler): handleServerStreamingCall<Buffer, Buffer> {
    return (call) => this.runStream(call, (context) => handler(call.request, call, context));
  }

  duplex(handler: DuplexHandler): (call: ServerDuplexStream<Buffer, Buffer>) => void {
    return (call) => this.runStream(call, (context) => handler(call, context));
  }

  /** The status of an error that a call ends with. */
  refuse(error: unknown, call: AnyCall): StatusReply {
    const known: ApiError | undefined = asApiError(error);
    const requestId = this.options.requestId();
    const method = call.getPath();
    if (known && known.code !== 'INTERNAL') {
      this.options.log.debug({ requestId, method, code: known.code, reason: known.message }, 'a call was refused');
      return toStatus(known, requestId);
    }
    this.options.log.error({ err: error, requestId, method }, 'a call failed by a fault of this server');
    return toStatus(known ?? internal(`internal error, request ${requestId}: the server's log says more`), requestId);
  }

  /** Streams end by themselves: normally when the handler returns, with a status when it throws. */
  private runStream(
    call: ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>,
    handle: (context: CallContext) => Promise<void>,
  ): void {
    const run = async (): Promise<void> => {
      const { context, release } = this.enter(call);
      try {
        await handle(context);
      } finally {
        release();
      }
      (call as ServerWritableStream<Buffer, Buffer>).end();
    };
    run().catch((error: unknown) => {
      (call as ServerWritableStream<Buffer, Buffer>).emit('error', this.refuse(error, call));
    });
  }

  private enter(call: AnyCall): { context: CallContext; release: () => void } {
    const { tokens, requestId, stopping } = this.options;
    const identity = identify(call, tokens);
    let controller: AbortController | undefined;
    const abort = (): void => controller?.abort();
    const context: CallContext = {
      identity,
      manager: managerOf(call.metadata),
      requestId: call.metadata.get('x-request-id')[0]?.toString().slice(0, 64) ?? requestId(),
      // Most unary calls never ask for it.
      get signal() {
        if (!controller) {
          controller = new AbortController();
          (call as EventEmitter).on('cancelled', abort);
          stopping.addEventListener('abort', abort);
          if (call.cancelled || stopping.aborted) abort();
        }
        return controller.signal;
      },
    };
    const release = (): void => {
      if (!controller) return;
      (call as EventEmitter).removeListener('cancelled', abort);
      stopping.removeEventListener('abort', abort);
    };
    return { context, release };
  }
}

/** gRPC metadata is printable ASCII and may be joined with commas on the way: those, "%" and everything else are percent-encoded. */
export function encodeWarning(text: string): string {
  return toUSVString(text).replace(/[^\x20-\x24\x26-\x2b\x2d-\x7e]/gu, (character: string) =>
    character === ',' ? '%2C' : encodeURIComponent(character),
  );
}

function warningMetadata(warnings: readonly string[]): Metadata {
  const metadata = new Metadata();
  let bytes = 0;
  for (const warning of warnings) {
    const text = encodeWarning(warning);
    bytes += text.length;
    if (bytes > MAX_WARNINGS_BYTES) break;
    metadata.add('berth-warning', text);
  }
  return metadata;
}
