import type { ClientRequest } from 'node:http';

/** As Go's client has it. */
const mostInformational = 5;

/**
 * Ends a request whose server goes on with answers of 1xx: nothing else would bound these. Calls `unanswered` where the
 * connection is closed before an answer came: after an unsolicited 101 (Switching Protocols), Node closes it without an
 * error.
 */
export function requireAnswer(sent: ClientRequest, unanswered: (why: Error) => void): void {
  let count = 0;
  let isAnswered = false;
  sent.on('information', () => {
    if (++count > mostInformational) sent.destroy(new Error('too many 1xx informational responses'));
  });
  sent.on('response', () => {
    isAnswered = true;
  });
  sent.on('close', () => {
    if (!isAnswered) unanswered(new Error('the connection was closed before an answer came'));
  });
}
