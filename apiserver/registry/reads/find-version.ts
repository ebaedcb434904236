import { type ApiError, badRequest, expired } from '../../../api/errors/index.ts';
import type { FindVersionRequest, FindVersionResponse } from '../../../api/generated/types.ts';
import { formatAge } from '../../../api/kinds/cells.ts';
import { secondsTimestamp, timestamp, toMillis, toRfc3339 } from '../../../api/meta/time.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Moment } from '../../storage/storage-history.ts';
import { parseVersion } from '../resource-version.ts';
import { translated } from '../storage-errors.ts';

/** A time of a clock that runs a little ahead of the server's means now. */
const CLOCK_SKEW_MS = 60_000;
/** Further away no Date reaches, in either direction. */
const MAX_DATE_MS = 8.64e15;
/** The store as a whole has no other name in messages. */
const SUBJECT = { kind: 'history' };

/**
 * The version that the store had at a time. Throws OUT_OF_RANGE when that is longer ago than the history reaches,
 * INVALID_ARGUMENT for the future.
 */
export async function findVersion(storage: Storage, request: FindVersionRequest, now: Date): Promise<FindVersionResponse> {
  const { history } = storage;
  const beginning = await translated(SUBJECT, history.beginning());
  if (!beginning) throw expired('the history is empty: nothing was written yet');
  const { moment, at } = await find(storage, request, now, beginning);
  return {
    resourceVersion: String(moment.revision),
    time: timestamp(new Date(moment.time)),
    at: timestamp(new Date(at)),
    oldestResourceVersion: String(beginning.revision),
    oldestTime: timestamp(new Date(beginning.time)),
  };
}

interface Found {
  readonly moment: Moment;
  readonly at: number;
}

async function find(storage: Storage, request: FindVersionRequest, now: Date, beginning: Moment): Promise<Found> {
  const { history } = storage;
  const { time, ageMilliseconds, resourceVersion } = request;
  if ([time, ageMilliseconds, resourceVersion || undefined].filter((each) => each !== undefined).length > 1)
    throw badRequest('cannot find a version: give a time, an age or a version, only one of them');
  if (resourceVersion) {
    const version = parseVersion(resourceVersion);
    const { revision: newest } = await translated(SUBJECT, storage.list('', { limit: 1 }));
    if (version > newest) throw badRequest(`version ${version} does not exist yet: the newest is ${newest}`);
    const moment = await translated(SUBJECT, history.of(version));
    if (!moment) throw beyond(`version ${version}`, beginning, now);
    return { moment: { revision: version, time: moment.time }, at: moment.time };
  }
  const wanted = time ? toMillis(time) : now.getTime() - (ageMilliseconds ?? 0);
  const asked = Math.min(Math.max(wanted, -MAX_DATE_MS), MAX_DATE_MS);
  if (asked > now.getTime() + CLOCK_SKEW_MS)
    throw badRequest(
      `cannot look into the future: ${written(asked)} is later than the server's clock, ${written(now.getTime())}`,
    );
  const moment = await translated(SUBJECT, history.at(asked));
  if (!moment) throw beyond(written(asked), beginning, now);
  return { moment, at: asked };
}

/** How far back the history goes, for the error message. */
function beyond(what: string, { revision, time }: Moment, now: Date): ApiError {
  const age = formatAge(Math.max(0, now.getTime() - time));
  // A store that is younger than the question would know no more if it had kept more.
  const limit = revision === 1 ? 'nothing was written before' : '"berth up --history" sets how long it is kept';
  return expired(
    `cannot look back to ${what}: the history goes back to ${written(time)} (${age} ago, version ${revision}); ${limit}`,
  );
}

/** The error for a version that a read asked for, after the store has refused it. */
export async function versionGone(storage: Storage, version: number, now: Date): Promise<ApiError> {
  const beginning = await translated(SUBJECT, storage.history.beginning());
  return beginning
    ? beyond(`version ${version}`, beginning, now)
    : expired(`version ${version} is none that this server gave out: list again`);
}

function written(ms: number): string {
  return toRfc3339(secondsTimestamp(new Date(ms)));
}
