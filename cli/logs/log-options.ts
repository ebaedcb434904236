import { badRequest } from '../../api/errors/index.ts';
import type { PodLogOptions } from '../../api/generated/types.ts';
import { fromRfc3339 } from '../../api/meta/time.ts';
import { parseDuration } from '../args/duration.ts';

export interface LogsFlags {
  readonly container?: string;
  readonly allContainers?: boolean;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly tail?: string;
  readonly since?: string;
  readonly sinceTime?: string;
  readonly limitBytes?: string;
  readonly timestamps?: boolean;
  readonly selector?: string;
  readonly allPods?: boolean;
  readonly podRunningTimeout: string;
  readonly prefix?: boolean;
  readonly ignoreErrors?: boolean;
  readonly maxLogRequests: string;
}

/** With a selector only the last lines are shown, as kubectl has it. */
const selectorTail = 10;

/** The options that hold for every container. Throws INVALID_ARGUMENT for flags that make no sense together. */
export function parseLogOptions(flags: LogsFlags): PodLogOptions {
  if (flags.since !== undefined && flags.sinceTime !== undefined)
    throw badRequest('at most one of --since and --since-time may be used');
  const options: PodLogOptions = {};
  const tail = flags.tail ?? (flags.selector === undefined ? '-1' : String(selectorTail));
  if (tail !== '-1') options.tailLines = parseCount('--tail', tail, 'lines; -1 shows all');
  if (flags.limitBytes !== undefined) options.limitBytes = parseCount('--limit-bytes', flags.limitBytes, 'bytes');
  // The server counts whole seconds back by the node's clock, so that this machine's does not matter.
  if (flags.since !== undefined) options.sinceSeconds = Math.ceil(parseDuration(flags.since) / 1000);
  if (flags.sinceTime !== undefined) {
    const time = fromRfc3339(flags.sinceTime);
    if (time === undefined) throw badRequest(`--since-time takes a time such as 2026-11-21T10:00:00Z, not "${flags.sinceTime}"`);
    options.sinceTime = time;
  }
  if (flags.previous) options.previous = true;
  if (flags.timestamps) options.timestamps = true;
  return options;
}

export function parseMaxRequests(flags: LogsFlags): number {
  const count = parseCount('--max-log-requests', flags.maxLogRequests, 'logs');
  if (count === 0) throw badRequest('--max-log-requests must be greater than 0');
  return count;
}

function parseCount(flag: string, text: string, what: string): number {
  const count = Number(text);
  if (text.trim() === '' || !Number.isInteger(count) || count < 0)
    throw badRequest(`${flag} takes a number of ${what}, not "${text}"`);
  return count;
}
