import type { TransportCall } from './transport-call.ts';

/** The metadata in which a client names its call, and the server answers the name. */
export const REQUEST_ID = 'x-request-id';

/** The header of Kubernetes' HTTP API with the same id, in each answer: that of the line in the audit log. */
export const AUDIT_ID = 'audit-id';

/** What goes into logs and headers as it is: letters, digits and what stands in UUIDs and trace ids. */
const valid = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,63}$/;

/** The name that a client gave its call; undefined when it gave none, or one that cannot be used. */
export function sentRequestId(call: Pick<TransportCall, 'header'>): string | undefined {
  const [sent] = call.header(REQUEST_ID);
  return sent !== undefined && valid.test(sent) ? sent : undefined;
}

export function sendsRequestId(call: Pick<TransportCall, 'header'>): boolean {
  return call.header(REQUEST_ID).length > 0;
}
