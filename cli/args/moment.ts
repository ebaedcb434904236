import { badRequest } from '../../api/errors/index.ts';
import type { FindVersionRequest } from '../../api/generated/types.ts';
import { fromRfc3339, timestamp, toDate } from '../../api/meta/time.ts';
import type { ObjectsClient } from '../../client/index.ts';
import { parseDuration } from './duration.ts';

/** For the help of `--at`. */
export const momentHelp = '10m (ago), a resource version, or a time such as 2026-01-31T12:00:00Z';

/** A point of the store's history. */
export interface Moment {
  readonly resourceVersion: string;
  /** The time that was asked for, by the server's clock. */
  readonly at: Date;
}

/** Reads the value of `--at`: only digits are a version, a span is so long ago, everything else is a time. */
export function parseMoment(text: string): FindVersionRequest {
  if (/^\d+$/.test(text)) return { resourceVersion: text };
  const time = fromRfc3339(text);
  if (time) return { time };
  try {
    return { ageMilliseconds: Math.min(Math.round(parseDuration(text)), Number.MAX_SAFE_INTEGER) };
  } catch {
    throw badRequest(`"${text}" is no point in time; write ${momentHelp}`);
  }
}

/** Asks the server which version that is; so everything that is then read shows one state. */
export async function findMoment(objects: ObjectsClient, text: string): Promise<Moment> {
  const { resourceVersion = '', at = timestamp(new Date()) } = await objects.findVersion(parseMoment(text));
  return { resourceVersion, at: toDate(at) };
}

/** What makes a get or a list show that state. */
export function exactly(moment: Moment | undefined): { resourceVersion?: string; resourceVersionMatch?: 'Exact' } {
  return moment ? { resourceVersion: moment.resourceVersion, resourceVersionMatch: 'Exact' } : {};
}
