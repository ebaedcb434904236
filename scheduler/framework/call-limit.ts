import { createContext, Script } from 'node:vm';

export class CallTimeout extends Error {}

/** What one call of a user's plugin may take: thousands of times what deciding about a large cluster takes. */
export const callLimitMs = 2_000;

/**
 * The engine can interrupt what is started through it, and only that:
 * so the call waits in a context of its own and is made from there.
 */
const context = createContext({ call: undefined as (() => unknown) | undefined });
const script = new Script('call()', { filename: 'plugin-call' });

/**
 * Makes a call that may never end, and throws an Error when it takes longer than `timeoutMs`. What was under way just
 * stops, without its `finally`: for code that leaves nothing half done behind but its own. Costs some 80 microseconds.
 */
export function withinLimit<R>(call: () => R, timeoutMs: number): R {
  const outer = context.call;
  context.call = call;
  try {
    return script.runInContext(context, { timeout: timeoutMs }) as R;
  } catch (error) {
    if ((error as NodeJS.ErrnoException | undefined)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new CallTimeout(`no answer after ${timeoutMs} ms`);
  } finally {
    context.call = outer;
  }
}
