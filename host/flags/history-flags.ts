import { isQuantity, quantityValue } from '../../api/meta/quantity.ts';
import { parseDuration } from '../../cli/args/duration.ts';

/** The flags that say how much history the server keeps. */
export interface HistoryFlags {
  readonly history?: string | undefined;
  readonly historySize?: string | undefined;
}

export const historyHelp = 'how long past versions of objects are kept, e.g. 24h';
export const historySizeHelp = 'what they may take; then the older half goes before its time';
/** The server's own choice. */
export const defaultHistory = '1h';
export const defaultHistorySize = '512Mi';

/** Watches that resume and lists of several pages read the history too. */
const leastMs = 10_000;
const leastBytes = 1024 ** 2;
/** Half of what the store holds at most. */
const mostBytes = 2 * 1024 ** 3;

/** What is wrong with them: a sentence each. */
export function historyErrors({ history, historySize }: HistoryFlags): string[] {
  const errors: string[] = [];
  // Elsewhere a bare number counts as seconds; a typed 24 may well mean hours.
  if (history !== undefined && /^\d+$/.test(history)) errors.push(`--history "${history}" needs a unit, e.g. 30m or 24h`);
  else if (history !== undefined && !(spanOf(history) >= leastMs))
    errors.push(`--history "${history}" must be a span of at least 10s, e.g. 30m or 24h`);
  const bytes = historySize === undefined ? leastBytes : isQuantity(historySize) ? quantityValue(historySize) : Number.NaN;
  if (!(bytes >= leastBytes && bytes <= mostBytes))
    errors.push(`--history-size "${historySize}" must be from 1Mi to 2Gi, e.g. 512Mi`);
  return errors;
}

/** As the server takes them; what is not said is its own to choose. */
export function historyOptions({ history, historySize }: HistoryFlags): { historyMs?: number; historyBytes?: number } {
  return {
    ...(history !== undefined && { historyMs: parseDuration(history) }),
    ...(historySize !== undefined && { historyBytes: quantityValue(historySize) }),
  };
}

function spanOf(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    // The sentence about the flag says what is wrong.
    return Number.NaN;
  }
}
