import type { Eventually } from '../eventually.ts';
import type { CallContext } from './call-context.ts';
import type { Pieces } from './pieces.ts';
import type { WatchSink } from './watch-sink.ts';

/**
 * The answer of a unary call: an encoded message, as a whole or made while it is sent, and sentences for the client.
 */
export interface Reply {
  readonly bytes: Buffer | Pieces;
  readonly warnings?: readonly string[];
  /** Whether a write that may change an object has made one: HTTP says so. */
  readonly isCreated?: boolean;
}

/** A unary call that was decoded and authorized, and has had no effect. */
export interface PreparedCall<T extends Reply = Reply> {
  /** Carries it out, once. A failure is thrown, or of its promise. */
  run(): Eventually<T>;
}

/**
 * Prepares a unary call: decodes its request and authorizes it. Must not have an effect: a call that comes back without
 * being authorized is not run. Throws what is wrong with it.
 */
export type PrepareCall = (request: Buffer, call: CallContext) => PreparedCall;

/** A watch that was decoded and authorized. */
export interface PreparedWatch {
  /** Sends events until the watch is over; throws what it ends with. */
  run(sink: WatchSink): Promise<void>;
}
