import type { ClientRequest } from 'node:http';

/** As Go's client has it. */
const mostInformational = 5;

/** Ends a request whose server goes on with answers of 1xx: nothing else would hold it back. */
export function boundInformational(sent: ClientRequest): void {
  let count = 0;
  sent.on('information', () => {
    if (++count > mostInformational) sent.destroy(new Error('too many 1xx informational responses'));
  });
}
