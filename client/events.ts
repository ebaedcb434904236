import { isNotFound } from '../api/errors/index.ts';
import type { Event, ObjectReference } from '../api/generated/types.ts';
import { secondsTimestamp, toRfc3339 } from '../api/meta/time.ts';
import { type Clock, systemClock } from './clock.ts';
import { createRateLimits } from './event-limits.ts';
import { type Logger, stderrLogger } from './logger.ts';
import { createLru } from './lru.ts';
import type { ResourceClient } from './resource-client.ts';

/** Normal: as it should be; Warning: a person may have to look. */
export type EventType = 'Normal' | 'Warning';

/**
 * Tells people what happened to an object, as Events. Never throws and never waits: what cannot be written is logged and dropped,
 * since Events are for people and no program relies on them. The same message again is counted on the Event it made before.
 */
export interface EventRecorder {
  /** `about` is made by `referenceTo`; `reason` is one CamelCase word, `message` a sentence. */
  event(about: ObjectReference, type: EventType, reason: string, message: string): void;
  /** Resolves when everything recorded so far was written or dropped: for the end of a program, and for tests. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: Pick<ResourceClient<Event>, 'create' | 'patch'>;
  /** Who tells, e.g. "scheduler". */
  readonly component: string;
  /** On which machine; only agents say this. */
  readonly host?: string;
  /** How many messages are remembered for counting; the one unused longest is forgotten first. */
  readonly cacheSize?: number;
  /** How many different Events may wait to be written; more are dropped. */
  readonly queueSize?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
}

/** One message about one object, and the Event that counts it. */
interface Counted {
  /** Undefined until the Event is created. */
  written: { readonly namespace: string; readonly name: string } | undefined;
  readonly firstAt: number;
  lastAt: number;
  count: number;
}

interface Pending {
  readonly about: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly counted: Counted;
}

/** As client-go: enough for every object of a busy node to have its usual messages. */
const defaultCacheSize = 4_096;
const defaultQueueSize = 1_000;
/** A name has 253 characters, of which the suffix takes up to 20. */
const maxNameLength = 230;
/** Kubernetes' limit of a message. */
const maxMessageLength = 1_024;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, component, host, clock = systemClock, random = Math.random, logger = stderrLogger } = options;
  const { cacheSize = defaultCacheSize, queueSize = defaultQueueSize } = options;
  const known = createLru<Counted>(cacheSize);
  const limits = createRateLimits({ clock, size: cacheSize });
  /** What waits to be written, oldest first; the same message waits once and is counted. */
  const pending = new Map<string, Pending>();
  let dropped = 0;
  let writing: Promise<void> | undefined;

  function event(about: ObjectReference, type: EventType, reason: string, text: string): void {
    const message = text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 3)}...` : text;
    const key = JSON.stringify([about.kind, about.namespace, about.name, about.uid, about.fieldPath, type, reason, message]);
    const counted = count(key);
    if (pending.has(key)) return;
    if (pending.size >= queueSize || !limits.allows(JSON.stringify([about.kind, about.namespace, about.name, about.uid]))) {
      dropped++;
      return;
    }
    pending.set(key, { about, type, reason, message, counted });
    writing ??= drain();
  }

  function count(key: string): Counted {
    const now = clock.now();
    const counted = known.get(key) ?? { written: undefined, firstAt: now, lastAt: now, count: 0 };
    counted.count++;
    counted.lastAt = now;
    known.set(key, counted);
    return counted;
  }

  async function drain(): Promise<void> {
    // The caller's turn ends first, so that what it records together is counted before the first write.
    await Promise.resolve();
    for (let next = first(pending); next; next = first(pending)) {
      pending.delete(next.key);
      try {
        await write(next.value);
      } catch (err) {
        const { about, reason } = next.value;
        logger.warn(
          { component, kind: about.kind, namespace: about.namespace, name: about.name, reason, err },
          'event not written',
        );
      }
    }
    if (dropped > 0) logger.debug({ component, dropped }, 'events dropped: too many');
    dropped = 0;
    writing = undefined;
  }

  async function write(item: Pending): Promise<void> {
    const { counted } = item;
    if (counted.written && (await recount(counted, counted.written))) return;
    const created = await client.create(newEvent(item));
    counted.written = { namespace: created.metadata?.namespace ?? '', name: created.metadata?.name ?? '' };
  }

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

  function newEvent({ about, type, reason, message, counted }: Pending): Event {
    const suffix = `${counted.firstAt.toString(16)}${Math.floor(random() * 0x1000000)
      .toString(16)
      .padStart(6, '0')}`;
    return {
      metadata: { name: `${about.name?.slice(0, maxNameLength)}.${suffix}`, namespace: about.namespace || 'default' },
      involvedObject: about,
      type,
      reason,
      message,
      count: counted.count,
      firstTimestamp: secondsTimestamp(new Date(counted.firstAt)),
      lastTimestamp: secondsTimestamp(new Date(counted.lastAt)),
      source: host === undefined ? { component } : { component, host },
      reportingComponent: component,
      ...(host === undefined ? {} : { reportingInstance: host }),
    };
  }

  return {
    event,
    async flush() {
      while (writing) await writing;
    },
  };
}

function first<V>(map: Map<string, V>): { key: string; value: V } | undefined {
  for (const [key, value] of map) return { key, value };
  return undefined;
}
