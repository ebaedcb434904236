import type { Logger } from 'pino';
import { type ApiError, asApiError, internal } from '../../api/errors/index.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { AnyCall } from './caller.ts';
import type { OpenCall } from './open-call.ts';
import { REQUEST_ID } from './request-id.ts';
import { type EncodedStatus, encodeStatus, type StatusReply, toStatus } from './status.ts';

interface FailedCall {
  readonly call: AnyCall;
  readonly requestId: string;
  readonly user: string | undefined;
}

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
    const judged = this.#judge(error, { call, requestId, user });
    context.audited?.ended(judged);
    const reply = toStatus(judged, requestId);
    reply.metadata.set(REQUEST_ID, requestId);
    return reply;
  }

  /** The same for one item of a stream that goes on: a google.rpc.Status, encoded. */
  refuseItem(error: unknown, call: AnyCall, { requestId, identity, audited }: CallContext): EncodedStatus {
    const judged = this.#judge(error, { call, requestId, user: identity.user });
    audited?.ended(judged);
    return encodeStatus(judged, requestId);
  }

  /** Logs an error and gives what the client may know of it. */
  #judge(error: unknown, { call, requestId, user }: FailedCall): ApiError {
    const known: ApiError | undefined = asApiError(error);
    const method = call.getPath();
    if (known && known.code !== 'INTERNAL') {
      this.#log.debug({ requestId, method, user, code: known.code, reason: known.message }, 'a call was refused');
      return known;
    }
    this.#log.error({ err: error, requestId, method, user }, 'a call failed by a fault of this server');
    return known ?? internal(`internal error, request ${requestId}: the server's log says more`);
  }
}
