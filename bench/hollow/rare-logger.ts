import type { Logger } from '../../client/logger.ts';

/** How often the same message is written. */
const restMs = 10_000;

/**
 * For many agents that meet the same trouble at once: of the warnings and errors with one message only one is written
 * in 10 s, with how many there were since. Messages are texts of the program, so that there are few.
 */
export function createRareLogger(write: (line: string) => void, now: () => number = Date.now): Logger {
  const known = new Map<string, { at: number; left: number }>();
  const say = (level: string) => (fields: object, message: string) => {
    const last = known.get(message);
    if (last !== undefined && now() - last.at < restMs) {
      last.left++;
      return;
    }
    known.set(message, { at: now(), left: 0 });
    const { err, node } = fields as { readonly err?: unknown; readonly node?: string };
    const more = last !== undefined && last.left > 0 ? ` (and ${last.left} times more since the last line)` : '';
    const cause = err === undefined ? '' : `: ${err instanceof Error ? err.message : String(err)}`;
    write(`${level} ${node === undefined ? '' : `${node}: `}${message}${cause}${more}`);
  };
  return { debug: () => {}, info: () => {}, warn: say('warn'), error: say('error') };
}
