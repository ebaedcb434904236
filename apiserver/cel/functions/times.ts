import type { Budget } from '../budget.ts';
import { partsOf } from '../timestamps.ts';
import { CelError, Duration, failed, Timestamp, type Value } from '../values.ts';
import { type Library, textArg } from './library.ts';

const DAY_MS = 86_400_000;
/** Steps of reading a time in a zone, and of preparing the zone. */
const [ZONE_STEPS, NEW_ZONE_STEPS] = [50, 1000];

function part(read: (date: Date) => number) {
  return ([time, zone]: readonly Value[], budget: Budget): bigint => {
    if (!(time instanceof Timestamp)) throw new CelError('no such overload: the value must be a timestamp');
    if (zone !== undefined) {
      budget.take(ZONE_STEPS);
      budget.prepare(`zone ${textArg(zone).slice(0, 100)}`, NEW_ZONE_STEPS);
    }
    const date = partsOf(time.nanoseconds, zone === undefined ? '+00:00' : textArg(zone)) ?? failed('the time zone is unknown');
    return BigInt(read(date));
  };
}

/** Of a duration the whole of it in the unit; of a timestamp the part of the day. */
function partOrWhole(unit: bigint, read: (date: Date) => number, most?: bigint) {
  const ofTime = part(read);
  return (args: readonly Value[], budget: Budget): bigint => {
    const [value] = args;
    if (!(value instanceof Duration)) return ofTime(args, budget);
    const whole = value.nanoseconds / unit;
    return most === undefined ? whole : whole % most;
  };
}

export const times: Library = {
  name: 'times',
  signatures: [],
  handlers: {
    getFullYear: part((date) => date.getUTCFullYear()),
    getMonth: part((date) => date.getUTCMonth()),
    getDate: part((date) => date.getUTCDate()),
    getDayOfMonth: part((date) => date.getUTCDate() - 1),
    getDayOfWeek: part((date) => date.getUTCDay()),
    getDayOfYear: part((date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY_MS)),
    getHours: partOrWhole(3_600_000_000_000n, (date) => date.getUTCHours()),
    getMinutes: partOrWhole(60_000_000_000n, (date) => date.getUTCMinutes()),
    getSeconds: partOrWhole(1_000_000_000n, (date) => date.getUTCSeconds()),
    getMilliseconds: partOrWhole(1_000_000n, (date) => date.getUTCMilliseconds(), 1000n),
  },
};
