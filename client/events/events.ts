import type { Event, ObjectReference } from '../../api/generated/types.ts';
import { createLru } from '../../api/meta/lru.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Logger, stderrLogger } from '../logger.ts';
import type { ResourceClient } from '../services/resource-client.ts';
import { createRateLimits } from './event-limits.ts';
import { type Counted, createEventWriter, type EventType, type Recorded, shortenMessage } from './event-writer.ts';

export type { EventType } from './event-writer.ts';

/**
 * Tells people what happened to an object, as Events. Never throws and never waits: what cannot be written is logged
 * and dropped, since Events are for people and no program relies on them. The same message again is counted on the
 * Event it made before.
 */
export interface EventRecorder {
  /**
   * `about` is made by `referenceTo`; `reason` is one CamelCase word, `message` a sentence; `at` is when it happened,
   * in milliseconds since 1970, where that is not now.
   */
  event(about: ObjectReference, type: EventType, reason: string, message: string, at?: number): void;
  /** Resolves when everything recorded so far was written or dropped: for the end of a program, and for tests. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: Pick<ResourceClient<Event>, 'create' | 'patch'>;
  /** The component that reports, e.g. "scheduler". */
  readonly component: string;
  /** On which machine; only agents say this. */
  readonly host?: string;
  /** How many messages are remembered for counting; the one unused longest is forgotten first. */
  readonly cacheSize?: number;
  /** How many different Events may wait to be written; more are dropped. */
  readonly queueSize?: number;
  /** For how long what is recorded waits for more, so that they travel in one message (default 0). Warnings do not. */
  readonly gatherMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
}

/** As client-go: enough for every object of a busy node to have its usual messages. */
const defaultCacheSize = 4_096;
const defaultQueueSize = 1_000;
/** Written at once: through a bulk writer they travel together, and what has waited is not written call by call. */
const writtenAtOnce = 16;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, component, host, clock = systemClock, random = Math.random, logger = stderrLogger } = options;
  const { cacheSize = defaultCacheSize, queueSize = defaultQueueSize, gatherMs = 0 } = options;
  const writer = createEventWriter({ client, random, source: host === undefined ? { component } : { component, host } });
  const known = createLru<Counted>(cacheSize);
  const limits = createRateLimits({ clock, size: cacheSize });
  /** What waits to be written, oldest first; the same message waits once and is counted. */
  const pending = new Map<string, Recorded>();
  let dropped = 0;
  let writing: Promise<void> | undefined;
  const gathering = createGathering(clock, gatherMs);

  function event(about: ObjectReference, type: EventType, reason: string, text: string, at = clock.now()): void {
    const message = shortenMessage(text);
    const key = JSON.stringify([about.kind, about.namespace, about.name, about.uid, about.fieldPath, type, reason, message]);
    const counted = count(key, at);
    if (pending.has(key)) return;
    if (pending.size >= queueSize || !limits.allows(JSON.stringify([about.kind, about.namespace, about.name, about.uid]))) {
      dropped++;
      return;
    }
    pending.set(key, { about, type, reason, message, counted });
    if (type === 'Warning') gathering.hurry()();
    writing ??= drain();
  }

  function count(key: string, at: number): Counted {
    const counted = known.get(key) ?? { written: undefined, firstAt: at, lastAt: at, count: 0 };
    counted.count++;
    counted.lastAt = Math.max(counted.lastAt, at);
    known.set(key, counted);
    return counted;
  }

  async function write(recorded: Recorded): Promise<void> {
    try {
      await writer.write(recorded);
    } catch (err) {
      const { about, reason } = recorded;
      const { kind, namespace, name } = about;
      logger.warn({ component, kind, namespace, name, reason, err }, 'event not written');
    }
  }

  async function drain(): Promise<void> {
    // The caller's turn ends first, so that what it records together is counted before the first write.
    await Promise.resolve();
    while (pending.size > 0) {
      const isUrgent = pending.size >= writtenAtOnce || [...pending.values()].some(({ type }) => type === 'Warning');
      if (!isUrgent) await gathering.wait();
      const batch = [...pending].slice(0, writtenAtOnce);
      for (const [key] of batch) pending.delete(key);
      // The next begin after these: one message is never written twice at once.
      await Promise.all(batch.map(([, recorded]) => write(recorded)));
    }
    if (dropped > 0) logger.debug({ component, dropped }, 'events dropped: too many');
    dropped = 0;
    writing = undefined;
  }

  return {
    event,
    async flush() {
      const calm = gathering.hurry();
      while (writing) await writing;
      calm();
    },
  };
}

/** Waits for `ms`, unless a flush is under way. */
function createGathering(clock: Clock, ms: number) {
  let hurries = 0;
  let wake = (): void => {};
  return {
    async wait(): Promise<void> {
      if (ms === 0 || hurries > 0) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    },
    /** Events are written at once, until the returned function is called. */
    hurry(): () => void {
      hurries++;
      wake();
      return () => void hurries--;
    },
  };
}
