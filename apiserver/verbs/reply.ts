import type { Pieces } from './pieces.ts';

/** The answer of a unary call: an encoded message, and sentences for the client. */
export interface Reply {
  readonly bytes: Buffer;
  readonly warnings?: readonly string[];
}

/** One that is made while it is sent. */
export interface LongReply {
  readonly bytes: Buffer | Pieces;
  readonly warnings?: readonly string[];
}
