import { asApiError, violationLine } from '../../api/errors/index.ts';

/**
 * Ends the program with this exit code, after the message (if any) was printed.
 * For commands that pass a program's own code on.
 */
export class ExitWith extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message = '') {
    super(message);
    this.exitCode = exitCode;
  }
}

/** One plain sentence for standard error. A violation a line, when there are several. */
export function describeFailure(error: unknown): string {
  const api = asApiError(error);
  if (api === undefined) return error instanceof Error ? error.message : String(error);
  if (api.violations.length > 1) {
    const head = api.message.split(': ')[0] ?? api.message;
    return [`${head}:`, ...api.violations.map((violation) => `  ${violationLine(violation)}`)].join('\n');
  }
  // What went wrong stands in the log of the server, under this name.
  const { code, requestId, message } = api;
  return code === 'INTERNAL' && requestId && !message.includes(requestId) ? `${message} (request ${requestId})` : message;
}
