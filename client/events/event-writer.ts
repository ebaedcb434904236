import { isNotFound } from '../../api/errors/index.ts';
import type { Event, EventSource, ObjectReference } from '../../api/generated/types.ts';
import { secondsTimestamp, toRfc3339 } from '../../api/meta/time.ts';
import type { ResourceClient } from '../services/resource-client.ts';

/** Normal: as it should be; Warning: a person may have to look. */
export type EventType = 'Normal' | 'Warning';

/** One message about one object, and the Event that counts it. */
export interface Counted {
  /** Undefined until the Event is created. */
  written: { readonly namespace: string; readonly name: string } | undefined;
  readonly firstAt: number;
  lastAt: number;
  count: number;
}

export interface Recorded {
  readonly about: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly counted: Counted;
}

export interface EventWriterOptions {
  readonly client: Pick<ResourceClient<Event>, 'create' | 'patch'>;
  readonly source: EventSource;
  readonly random: () => number;
}

/** A name has 253 characters, of which the suffix takes up to 20. */
const maxNameLength = 230;
/** Kubernetes' limit of a message. */
const maxMessageLength = 1_024;

export function shortenMessage(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 3)}...` : text;
}

/** Writes a message as a new Event, or counts it on the one it has. Throws ApiError. */
export function createEventWriter({ client, source, random }: EventWriterOptions) {
  let made = 0;

  /** False when the Event has expired meanwhile: a new one is made. */
  async function recount(counted: Counted, target: { namespace: string; name: string }): Promise<boolean> {
    try {
      await client.patch(target, { count: counted.count, lastTimestamp: toRfc3339(secondsTimestamp(new Date(counted.lastAt))) });
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return false;
    }
  }

  return {
    async write(item: Recorded): Promise<void> {
      const { counted } = item;
      if (counted.written && (await recount(counted, counted.written))) return;
      const created = await client.create(newEvent(item, source, uniqueSuffix(made++, random)));
      counted.written = { namespace: created.metadata?.namespace ?? '', name: created.metadata?.name ?? '' };
    },
  };
}

/** Orders the Events that one component makes in a millisecond, and keeps them apart from those of others. */
function uniqueSuffix(turn: number, random: () => number): string {
  const digits = (value: number): string => value.toString(16).padStart(4, '0');
  return digits(turn % 0x10000) + digits(Math.floor(random() * 0x10000));
}

function newEvent({ about, type, reason, message, counted }: Recorded, source: EventSource, suffix: string): Event {
  return {
    metadata: {
      name: `${about.name?.slice(0, maxNameLength)}.${counted.firstAt.toString(16)}${suffix}`,
      namespace: about.namespace || 'default',
    },
    involvedObject: about,
    type,
    reason,
    message,
    count: counted.count,
    firstTimestamp: secondsTimestamp(new Date(counted.firstAt)),
    lastTimestamp: secondsTimestamp(new Date(counted.lastAt)),
    source,
    reportingComponent: source.component,
    ...(source.host === undefined ? {} : { reportingInstance: source.host }),
  };
}
