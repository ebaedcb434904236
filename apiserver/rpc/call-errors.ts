import type { Logger } from 'pino';
import { judgeError } from '../calls/judge-error.ts';
import type { OpenCall } from '../calls/open-call.ts';
import { REQUEST_ID } from '../calls/request-id.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { AnyCall } from './caller.ts';
import { type EncodedStatus, encodeStatus, type StatusReply, toStatus } from './status.ts';

/**
 * The last step of a call that failed: its error as a status. The log and the caller know it by the same request id.
 */
export class CallErrors {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The status of an error that a call ends with. */
  refuse(error: unknown, call: AnyCall, context: OpenCall): StatusReply {
    const { requestId } = context;
    const user = context.isIdentified ? context.identity.user : undefined;
    const judged = judgeError(this.#log, error, { method: call.getPath(), requestId, user });
    context.audited?.ended(judged);
    const reply = toStatus(judged, requestId);
    reply.metadata.set(REQUEST_ID, requestId);
    return reply;
  }

  /** The same for one item of a stream that goes on: a google.rpc.Status, encoded. */
  refuseItem(error: unknown, call: AnyCall, { requestId, identity, audited }: CallContext): EncodedStatus {
    const judged = judgeError(this.#log, error, { method: call.getPath(), requestId, user: identity.user });
    audited?.ended(judged);
    return encodeStatus(judged, requestId);
  }
}
