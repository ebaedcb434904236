import type { CronJob, Job } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { fromRfc3339, toMillis } from '../../api/meta/time.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';

const kind = kindNamed('CronJob');
const minuteMs = 60_000;

/** The name says for which time the Job is: a second Job for the same time cannot be made. */
export function jobNameAt({ metadata }: CronJob, at: number): string {
  return `${metadata?.name}-${Math.floor(at / minuteMs)}`;
}

/** The Job of a CronJob for a time. */
export function newJob(cronJob: CronJob, at: number): Job {
  const { metadata = {}, spec = {} } = cronJob.spec?.jobTemplate ?? {};
  const { namespace } = cronJob.metadata ?? {};
  return {
    metadata: {
      name: jobNameAt(cronJob, at),
      ...(namespace !== undefined && { namespace }),
      ...(metadata.labels && { labels: { ...metadata.labels } }),
      annotations: {
        ...metadata.annotations,
        [workloadAnnotations.cronJobScheduledTimestamp]: formatTime(at, cronJob.spec?.timeZone ?? 'UTC'),
      },
      ownerReferences: [controllerReference(kind, cronJob)],
    },
    spec: structuredClone(spec),
  };
}

/**
 * For which time the CronJob made the Job; undefined for one that it did not make, such as one that a person started.
 */
export function scheduledAt(cronJob: CronJob, { metadata }: Job): number | undefined {
  const time = fromRfc3339(metadata?.annotations?.[workloadAnnotations.cronJobScheduledTimestamp] ?? '');
  const at = time && toMillis(time);
  return at !== undefined && metadata?.name === jobNameAt(cronJob, at) ? at : undefined;
}

/** RFC 3339 to the second, with the zone's offset: "2026-03-29T03:00:00+02:00", "Z" where that is none. */
export function formatTime(at: number, timeZone: string): string {
  const whole = Math.floor(at / 1000) * 1000;
  const local = new Date(whole + offsetMinutes(whole, timeZone) * minuteMs).toISOString().slice(0, 19);
  const offset = offsetMinutes(whole, timeZone);
  if (offset === 0) return `${local}Z`;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
}

/** How far the zone's clocks are ahead of UTC at an instant. */
function offsetMinutes(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).formatToParts(at);
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = '0', minutes = '0'] = /^GMT([+-])(\d\d):(\d\d)/.exec(text) ?? [];
  const offset = Number(hours) * 60 + Number(minutes);
  return sign === '-' ? -offset : offset;
}
