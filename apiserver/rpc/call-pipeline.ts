import { toUSVString } from 'node:util';
import {
  status as codes,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { type ApiError, asApiError, exhausted, internal } from '../../api/errors/index.ts';
import type { Audit } from '../audit/audit.ts';
import type { TokenTable } from '../authn/tokens.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { AnonymousCalls } from '../limits/anonymous-calls.ts';
import type { AnswerRoom } from '../limits/answer-room.ts';
import type { CallShape, LimitKeeper } from '../limits/client-limits.ts';
import type { FairShare } from '../limits/fair-share.ts';
import type { Level } from '../limits/levels.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { joinPieces } from '../verbs/pieces.ts';
import type { LongReply, Reply } from '../verbs/reply.ts';
import type { AccessTable } from './access-table.ts';
import type { CallMeter, CallMeters } from './call-meter.ts';
import { type AnyCall, peerOfCall, wasReset, whenClosed, whenTaken } from './caller.ts';
import { guardFirstWrite, requireAuthorized } from './fail-closed.ts';
import { OpenCall } from './open-call.ts';
import { REQUEST_ID } from './request-id.ts';
import { sendPieces } from './send-pieces.ts';
import { type EncodedStatus, encodeStatus, type StatusReply, toStatus } from './status.ts';

/** Handlers get and give encoded messages, so that stored bytes pass through. They throw ApiErrors; anything else is a bug and logged. */
export type UnaryHandler = (request: Buffer, context: CallContext) => Promise<Reply | LongReply>;
export type StreamHandler = (request: Buffer, call: ServerWritableStream<Buffer, Buffer>, context: CallContext) => Promise<void>;
export type DuplexHandler = (call: ServerDuplexStream<Buffer, Buffer>, context: CallContext) => Promise<void>;

export interface CallPipelineOptions {
  readonly tokens: TokenTable;
  readonly authorizer: Authorizer;
  readonly access: AccessTable;
  readonly log: Logger;
  readonly requestId: () => string;
  /** Absent: nothing is written down. */
  readonly audit?: Audit | undefined;
  /** Hears of each connection with a certificate. */
  readonly clients?: ClientCertificates | undefined;
  /** Ends every open stream when the server stops. */
  readonly stopping: AbortSignal;
  readonly meters: CallMeters;
  readonly limits: LimitKeeper;
  readonly answers: AnswerRoom;
  readonly anonymous: AnonymousCalls;
}

/** How a method that a library implements passes the pipeline: the library answers and ends the call by itself. */
export interface GuardOptions {
  readonly shape: CallShape;
  /** Admits calls without credentials, counted against their address. */
  readonly anonymous?: boolean;
  /** What the caller must be allowed to `get`. */
  readonly path?: string;
  /** Bounds the open streams of these methods beside the limits for all. */
  readonly shares?: Readonly<Record<Level, FairShare>>;
}

const BUSY_RETRY_MS = 1_000;

interface FailedCall {
  readonly call: AnyCall;
  readonly requestId: string;
  readonly user: string | undefined;
}

/** Header blocks are bounded by clients; a warning is one sentence. */
export const MAX_WARNINGS_BYTES = 4_096;

/**
 * The interceptors of every call: authentication, request id, cancellation, warnings as metadata, and errors as rich
 * statuses.
 */
export class CallPipeline {
  private readonly options: CallPipelineOptions;

  constructor(options: CallPipelineOptions) {
    this.options = options;
  }

  unary(handler: UnaryHandler): handleUnaryCall<Buffer, Buffer> {
    const meterOf = this.meterOf('unary');
    return (call, callback) => {
      const meter = meterOf(call);
      const beganAt = meter.begin();
      const context = new OpenCall(call, this.options);
      const run = async (): Promise<void> => {
        try {
          this.enter(context, 'unary');
          this.options.answers.assert(context.flow, 0);
          const { bytes, warnings } = await handler(call.request, context);
          requireAuthorized(context);
          if (warnings && warnings.length > 0) call.sendMetadata(warningMetadata(warnings));
          if (bytes instanceof Uint8Array) this.holdAnswer(call, context, bytes.length, meter.isReadOnly);
          if (bytes instanceof Uint8Array) callback(null, bytes, context.answer);
          else if (await sendPieces(call, bytes)) callback({ code: codes.OK, details: 'OK', ...trailer(context.answer) });
          else callback(null, joinPieces(bytes), context.answer);
          meter.end(beganAt, codes.OK);
          context.audited?.ended();
        } finally {
          this.leave(context, 'unary');
        }
      };
      run().catch((error: unknown) => {
        const reply = this.refuse(error, call, context);
        meter.end(beganAt, reply.code);
        callback(reply);
      });
    };
  }

  stream(handler: StreamHandler): handleServerStreamingCall<Buffer, Buffer> {
    const meterOf = this.meterOf('stream');
    return (call) => this.runStream(call, meterOf(call), (context) => handler(call.request, call, context));
  }

  duplex(handler: DuplexHandler): (call: ServerDuplexStream<Buffer, Buffer>) => void {
    const meterOf = this.meterOf('stream');
    return (call) => this.runStream(call, meterOf(call), (context) => handler(call, context));
  }

  /** For a method that a library implements: counts a call until its stream has closed, or gives the status of its refusal. */
  guard(options: GuardOptions): (call: AnyCall) => StatusReply | undefined {
    const meterOf = this.meterOf(options.shape);
    return (call) => {
      const meter = meterOf(call);
      const beganAt = meter.begin();
      const context = new OpenCall(call, this.options, options.shape === 'stream');
      try {
        const leave = this.enterGuarded(call, context, options);
        const ended = (): void => {
          leave();
          meter.end(beganAt, wasReset(call) ? codes.CANCELLED : codes.OK);
        };
        const takeMs = context.isIdentified ? this.options.answers.limits.takeMs : this.options.anonymous.limits.takeMs;
        if (options.shape === 'unary') whenTaken(call, takeMs, ended);
        else whenClosed(call, ended);
        return undefined;
      } catch (error) {
        const reply = this.refuse(error, call, context);
        meter.end(beganAt, reply.code);
        return reply;
      }
    };
  }

  private enterGuarded(call: AnyCall, context: OpenCall, { shape, anonymous, path, shares }: GuardOptions): () => void {
    try {
      this.enter(context, shape);
    } catch (error) {
      if (anonymous && !context.isIdentified && asApiError(error)?.code === 'UNAUTHENTICATED')
        return this.options.anonymous.enter(peerOfCall(call), shape);
      throw error;
    }
    const { level, key, name, isExempt } = context.flow;
    const pool = shares?.[level];
    try {
      if (path !== undefined) context.permitPath(path);
      if (pool && !pool.enter(key, isExempt))
        throw exhausted(
          `${name} has its share of ${pool.share} streams of ${call.getPath()} open (priority level "${level}"): close some`,
          BUSY_RETRY_MS,
        );
    } catch (error) {
      this.leave(context, shape);
      throw error;
    }
    return () => {
      pool?.leave(key);
      this.leave(context, shape);
    };
  }

  /** The status of an error that a call ends with; the log and the caller know it by the same id. */
  refuse(error: unknown, call: AnyCall, context: OpenCall = new OpenCall(call, this.options)): StatusReply {
    const { requestId } = context;
    const user = context.isIdentified ? context.identity.user : undefined;
    const judged = this.judge(error, { call, requestId, user });
    context.audited?.ended(judged);
    const reply = toStatus(judged, requestId);
    reply.metadata.set(REQUEST_ID, requestId);
    return reply;
  }

  /** The same for one item of a stream that goes on: a google.rpc.Status, encoded. */
  refuseItem(error: unknown, call: AnyCall, { requestId, identity, audited }: CallContext): EncodedStatus {
    const judged = this.judge(error, { call, requestId, user: identity.user });
    audited?.ended(judged);
    return encodeStatus(judged, requestId);
  }

  /** Logs an error and gives what the client may know of it. */
  private judge(error: unknown, { call, requestId, user }: FailedCall): ApiError {
    const known: ApiError | undefined = asApiError(error);
    const method = call.getPath();
    if (known && known.code !== 'INTERNAL') {
      this.options.log.debug({ requestId, method, user, code: known.code, reason: known.message }, 'a call was refused');
      return known;
    }
    this.options.log.error({ err: error, requestId, method, user }, 'a call failed by a fault of this server');
    return known ?? internal(`internal error, request ${requestId}: the server's log says more`);
  }

  /** A handler serves one method; which, the first call says. */
  private meterOf(shape: CallShape): (call: AnyCall) => CallMeter {
    let meter: CallMeter | undefined;
    return (call) => {
      meter ??= this.options.meters.of(call.getPath(), shape === 'stream');
      return meter;
    };
  }

  /** Streams end by themselves: normally when the handler returns, with a status when it throws. */
  private runStream(
    call: ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>,
    meter: CallMeter,
    handle: (context: CallContext) => Promise<void>,
  ): void {
    const beganAt = meter.begin();
    const context = new OpenCall(call, this.options, true);
    const run = async (): Promise<void> => {
      try {
        this.enter(context, 'stream');
        const perItem = this.options.access.isOfItems(call.getPath());
        if (!perItem) guardFirstWrite(call, context);
        await handle(context);
        if (!perItem) requireAuthorized(context);
      } finally {
        this.leave(context, 'stream');
      }
      meter.end(beganAt, call.cancelled ? codes.CANCELLED : codes.OK);
      context.audited?.ended();
      (call as ServerWritableStream<Buffer, Buffer>).end(context.answer);
    };
    run().catch((error: unknown) => {
      const reply = this.refuse(error, call, context);
      meter.end(beganAt, reply.code);
      (call as ServerWritableStream<Buffer, Buffer>).emit('error', reply);
    });
  }

  private enter(context: OpenCall, shape: CallShape): void {
    context.identify();
    this.options.limits.enter(context.flow, shape);
    context.entered = true;
  }

  /** Counts an answer until its client has it. Throws RESOURCE_EXHAUSTED for a large one that is only read and has no room. */
  private holdAnswer(call: AnyCall, { flow }: OpenCall, bytes: number, mayRefuse: boolean): void {
    const { answers } = this.options;
    if (!answers.isCounted(bytes)) {
      whenClosed(call, answers.holdSmall(flow));
      return;
    }
    if (mayRefuse) answers.assert(flow, bytes);
    whenTaken(call, answers.limits.takeMs, answers.hold(flow, bytes));
  }

  private leave(context: OpenCall, shape: CallShape): void {
    if (context.entered) this.options.limits.leave(context.flow, shape);
    context.release();
  }
}

function trailer(metadata: Metadata | undefined): { metadata?: Metadata } {
  return metadata ? { metadata } : {};
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
