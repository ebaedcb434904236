/** What went wrong, for a program. */
export type RuntimeErrorCode =
  | 'unavailable'
  | 'timeout'
  | 'not-found'
  | 'conflict'
  | 'image-not-found'
  | 'image-unauthorized'
  | 'image-invalid-name'
  | 'port-in-use'
  | 'invalid'
  | 'no-space'
  /** A reader was too slow: what it has not read is kept no more. */
  | 'overtaken'
  | 'failed';

/**
 * The one error that leaves a container runtime. The message keeps the engine's own words, but for a taken port;
 * the cause always has them.
 */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RuntimeError';
    this.code = code;
  }
}
