import {
  status as codes,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { asApiError, exhausted } from '../../api/errors/index.ts';
import { CallChain, type CallChainOptions } from '../calls/call-chain.ts';
import type { CallMeter, CallMeters } from '../calls/call-meter.ts';
import { guardFirstWrite, requireAuthorized } from '../calls/fail-closed.ts';
import { OpenCall } from '../calls/open-call.ts';
import { REQUEST_ID } from '../calls/request-id.ts';
import { joinWarnings } from '../calls/warnings.ts';
import type { AnonymousCalls } from '../limits/anonymous-calls.ts';
import type { CallShape } from '../limits/client-limits.ts';
import type { FairShare } from '../limits/fair-share.ts';
import type { Level } from '../limits/levels.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { joinPieces } from '../verbs/pieces.ts';
import type { PrepareCall } from '../verbs/prepared-call.ts';
import { CallErrors } from './call-errors.ts';
import { type AnyCall, peerOfCall, transportOf, wasReset, whenClosed, whenTaken } from './caller.ts';
import { sendPieces } from './send-pieces.ts';
import type { StatusReply } from './status.ts';
import { warningMetadata } from './warnings.ts';

/**
 * Prepares a call that is answered with a stream, as PrepareCall does. Handlers get and give encoded messages, so that
 * stored bytes pass through. They throw ApiErrors; anything else is a bug and logged.
 */
export type PrepareStream = (request: Buffer, context: CallContext) => PreparedStream;

/** A call that was decoded and authorized, and has had no effect. */
export interface PreparedStream {
  run(call: ServerWritableStream<Buffer, Buffer>): Promise<void>;
}

/** Serves a call with streams both ways: what it wants stands in its frames, so it authorizes when it has read them. */
export type DuplexHandler = (call: ServerDuplexStream<Buffer, Buffer>, context: CallContext) => Promise<void>;

export interface CallPipelineOptions extends CallChainOptions {
  readonly log: Logger;
  readonly meters: CallMeters;
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

/**
 * The chain that every call passes, in the order of docs/design/apiserver.md, "A call". The first step that throws ends
 * the call with its error. Up to the fifth step a call has no effect.
 *
 * 1. Identify: the user of the token or the certificate, and the one that it impersonates.
 * 2. Enter the limits of the flow and its level.
 * 3. Require room for the answer (unary).
 * 4. Prepare: decode the request and authorize it.
 * 5. Require that it was authorized.
 * 6. Run.
 * 7. Answer: warnings, then the message, which counts until the client has taken it.
 * 8. Leave the limits; then meter and audit log hear of the end.
 *
 * A duplex call authorizes while it runs: it sends nothing before, and fails when it never does (items of a stream have
 * these steps to themselves: item-stream.ts).
 */
export class CallPipeline {
  readonly errors: CallErrors;
  readonly #options: CallPipelineOptions;
  readonly #chain: CallChain;

  constructor(options: CallPipelineOptions) {
    this.#options = options;
    this.#chain = new CallChain(options);
    this.errors = new CallErrors(options.log);
  }

  unary(prepare: PrepareCall): handleUnaryCall<Buffer, Buffer> {
    const meterOf = this.#meterOf('unary');
    return (call, callback) => {
      const meter = meterOf(call);
      const beganAt = meter.begin();
      const transport = transportOf(call);
      const context = new OpenCall(transport, this.#options);
      const serve = async (): Promise<void> => {
        try {
          this.#chain.beginUnary(context);
          const prepared = this.#chain.prepare(context, () => prepare(call.request, context));
          const running = prepared.run();
          const { bytes, warnings } = running instanceof Promise ? await running : running;
          const told = joinWarnings(warnings, context.warnings);
          if (told.length > 0) call.sendMetadata(warningMetadata(told));
          if (bytes instanceof Uint8Array) {
            this.#chain.holdAnswer(transport, context, bytes.length, meter.isReadOnly);
            callback(null, bytes, answerOf(context));
          } else if (await sendPieces(call, bytes)) callback({ code: codes.OK, details: 'OK', ...trailer(answerOf(context)) });
          else callback(null, joinPieces(bytes), answerOf(context));
          meter.end(beganAt, codes.OK);
          context.audited?.ended();
        } finally {
          this.#chain.leave(context, 'unary');
        }
      };
      serve().catch((error: unknown) => {
        const reply = this.errors.refuse(error, call, context);
        meter.end(beganAt, reply.code);
        // What policies and webhooks warn of stays true of a refused write.
        if (context.warnings?.length) call.sendMetadata(warningMetadata(context.warnings));
        callback(reply);
      });
    };
  }

  stream(prepare: PrepareStream): handleServerStreamingCall<Buffer, Buffer> {
    const meterOf = this.#meterOf('stream');
    return (call) =>
      this.#serveStream(call, meterOf(call), (context) => {
        const prepared = this.#chain.prepare(context, () => prepare(call.request, context));
        return prepared.run(call);
      });
  }

  duplex(handler: DuplexHandler): (call: ServerDuplexStream<Buffer, Buffer>) => void {
    const meterOf = this.#meterOf('stream');
    return (call) =>
      this.#serveStream(call, meterOf(call), async (context) => {
        if (this.#options.access.isOfItems(call.getPath())) return handler(call, context);
        guardFirstWrite(call, context);
        await handler(call, context);
        requireAuthorized(context);
      });
  }

  /** Streams end by themselves: normally when `run` resolves, with a status when it rejects. */
  #serveStream(
    call: ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>,
    meter: CallMeter,
    run: (context: OpenCall) => Promise<void>,
  ): void {
    const beganAt = meter.begin();
    const context = new OpenCall(transportOf(call), this.#options, true);
    const serve = async (): Promise<void> => {
      try {
        context.identify();
        this.#chain.enter(context, 'stream');
        await run(context);
      } finally {
        this.#chain.leave(context, 'stream');
      }
      meter.end(beganAt, call.cancelled ? codes.CANCELLED : codes.OK);
      context.audited?.ended();
      (call as ServerWritableStream<Buffer, Buffer>).end(answerOf(context));
    };
    serve().catch((error: unknown) => {
      const reply = this.errors.refuse(error, call, context);
      meter.end(beganAt, reply.code);
      (call as ServerWritableStream<Buffer, Buffer>).emit('error', reply);
    });
  }

  /**
   * For a method that a library implements: counts a call until its stream has closed, or gives the status of its
   * refusal.
   */
  guard(options: GuardOptions): (call: AnyCall) => StatusReply | undefined {
    const meterOf = this.#meterOf(options.shape);
    return (call) => {
      const meter = meterOf(call);
      const beganAt = meter.begin();
      const context = new OpenCall(transportOf(call), this.#options, options.shape === 'stream');
      try {
        const leave = this.#enterGuarded(call, context, options);
        const ended = (): void => {
          leave();
          meter.end(beganAt, wasReset(call) ? codes.CANCELLED : codes.OK);
        };
        const takeMs = context.isIdentified ? this.#options.answers.limits.takeMs : this.#options.anonymous.limits.takeMs;
        if (options.shape === 'unary') whenTaken(call, takeMs, ended);
        else whenClosed(call, ended);
        return undefined;
      } catch (error) {
        const reply = this.errors.refuse(error, call, context);
        meter.end(beganAt, reply.code);
        return reply;
      }
    };
  }

  #enterGuarded(call: AnyCall, context: OpenCall, { shape, anonymous, path, shares }: GuardOptions): () => void {
    try {
      context.identify();
    } catch (error) {
      if (anonymous && asApiError(error)?.code === 'UNAUTHENTICATED')
        return this.#options.anonymous.enter(peerOfCall(call), shape);
      throw error;
    }
    this.#chain.enter(context, shape);
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
      this.#chain.leave(context, shape);
      throw error;
    }
    return () => {
      pool?.leave(key);
      this.#chain.leave(context, shape);
    };
  }

  /** A handler serves one method; which, the first call says. */
  #meterOf(shape: CallShape): (call: AnyCall) => CallMeter {
    let meter: CallMeter | undefined;
    return (call) => {
      meter ??= this.#options.meters.of(call.getPath(), shape === 'stream');
      return meter;
    };
  }
}

/** The trailer of a call that went well: it carries the request id that the client sent. */
function answerOf(context: OpenCall): Metadata | undefined {
  if (!context.isNamed) return undefined;
  const metadata = new Metadata();
  metadata.set(REQUEST_ID, context.requestId);
  return metadata;
}

function trailer(metadata: Metadata | undefined): { metadata?: Metadata } {
  return metadata ? { metadata } : {};
}
