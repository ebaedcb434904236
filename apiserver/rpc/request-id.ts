import type { Metadata } from '@grpc/grpc-js';

/** The metadata in which a client names its call, and the server answers the name. */
export const REQUEST_ID = 'x-request-id';

/** What goes into logs and headers as it is: letters, digits and what stands in UUIDs and trace ids. */
const valid = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,63}$/;

/** The name that a client gave its call; undefined when it gave none, or one that cannot be used. */
export function sentRequestId(metadata: Metadata): string | undefined {
  const [sent] = metadata.get(REQUEST_ID);
  return typeof sent === 'string' && valid.test(sent) ? sent : undefined;
}

export function sendsRequestId(metadata: Metadata): boolean {
  return metadata.get(REQUEST_ID).length > 0;
}
