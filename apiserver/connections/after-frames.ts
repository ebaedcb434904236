/**
 * Destroys or resets streams and sessions of HTTP/2 once the frames that have come are dealt with. Within the events of
 * a frame, and the promises behind them, Node.js 20 loops for ever where another stream of the session is destroyed
 * whose answer has begun: it sends empty frames into memory for a stream that it no longer knows.
 */
export const afterFrames = (work: () => void): void => void setImmediate(work);
