import { RuntimeError, type RuntimeErrorCode } from '../runtime-error.ts';

/** What the call was about: the same status means different things for an image and for a container. */
export type Subject = 'container' | 'file' | 'image' | 'pull';

/** An error as the HTTP layer of the Docker library throws it. */
interface EngineFailure {
  readonly statusCode?: number;
  readonly json?: unknown;
  readonly code?: string;
  readonly message: string;
}

const byStatus: Readonly<Record<Subject, Readonly<Record<number, RuntimeErrorCode>>>> = {
  container: { 400: 'invalid', 404: 'not-found', 409: 'conflict', 503: 'unavailable' },
  // What is read-only is refused with 403 or, by older engines, with 500.
  file: { 400: 'invalid', 403: 'invalid', 404: 'not-found', 409: 'conflict', 503: 'unavailable' },
  image: { 400: 'image-invalid-name', 404: 'image-not-found', 409: 'conflict', 503: 'unavailable' },
  // For a pull the engine returns 500 when the registry is unreachable, and forwards the status of the registry's own
  // errors.
  pull: {
    400: 'image-invalid-name',
    401: 'image-unauthorized',
    403: 'image-unauthorized',
    404: 'image-not-found',
    500: 'unavailable',
    502: 'unavailable',
    503: 'unavailable',
    504: 'unavailable',
  },
};

// The socket is missing, is not listened on, or the engine went away in the middle of an answer.
const connectionCodes = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ECONNRESET',
  'EPIPE',
  'EACCES',
  'EPERM',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
]);

/**
 * Turns whatever the Docker library throws into a RuntimeError, by status and error code, keeping the engine's words.
 */
export function translate(error: unknown, action: string, subject: Subject): RuntimeError {
  if (error instanceof RuntimeError) return error;
  const failure = asFailure(error);
  const message = `${action}: ${wordsOf(failure)}`;
  return new RuntimeError(codeOf(failure, subject), message, { cause: error });
}

export function codeForStatus(status: number, subject: Subject): RuntimeErrorCode {
  return byStatus[subject][status] ?? 'failed';
}

function asFailure(error: unknown): EngineFailure {
  return error instanceof Error ? error : { message: String(error) };
}

function codeOf(failure: EngineFailure, subject: Subject): RuntimeErrorCode {
  if (failure.statusCode !== undefined) return codeForStatus(failure.statusCode, subject);
  if (failure.code !== undefined && connectionCodes.has(failure.code)) return 'unavailable';
  return 'failed';
}

/** What the library puts before the engine's own words when it does not hand out its answer. */
const libraryPrefix = /^\(HTTP code \d+\) [a-z ]+ - /;

function wordsOf(failure: EngineFailure): string {
  const { json } = failure;
  if (typeof json === 'object' && json !== null && 'message' in json && typeof json.message === 'string')
    return json.message.trim();
  if (failure.statusCode === undefined) return `cannot reach the container engine: ${failure.message}`;
  return failure.message.replace(libraryPrefix, '').trim();
}
