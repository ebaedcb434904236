/** What a client sends is no SPDY, or more than is taken. The connection cannot go on. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}
