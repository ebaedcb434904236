import { messageToJson } from '../../api/codec/json.ts';
import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Pod, PodStatus } from '../../api/generated/types.ts';
import { isStatic } from '../../api/kinds/pod/static-pods.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Clock } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import { createWorkQueue } from '../../client/work-queue/work-queue.ts';
import { resizeConditions } from './resize-status.ts';

/**
 * Brings pod statuses to the API: the newest of each pod, and only when the API says otherwise. Pod workers call `set`
 * after every step; what is superseded before it was written is never written. While the server is away it keeps
 * trying.
 */
export interface StatusWriter {
  /**
   * Wants this status written, after `delayMs` at the latest (a status that will not last can wait to be superseded).
   */
  set(pod: Pod, status: PodStatus, delayMs?: number): void;
  /**
   * Writes now and throws ApiError when that fails: for the last status before the pod is deleted. NOT_FOUND is fine.
   */
  write(pod: Pod, status: PodStatus): Promise<void>;
  /** The pod is gone: what is still unwritten of it is dropped. */
  forget(uid: string): void;
  /** Writes until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export interface StatusWriterOptions {
  readonly client: Pick<ResourceClient<Pod>, 'patch'>;
  /** What the API has of the pod now, as the informer knows it: of a static pod its mirror. */
  current(pod: Pod): Pod | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: MetricsRegistry;
}

interface Wanted {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly version: number;
}

/** How many statuses are written at once: the server commits those of a moment together. */
const writers = 16;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, current, clock, logger, metrics } = options;
  const wanted = new Map<string, Wanted>();
  /** What the server answered last: the informer may still be behind it. */
  const written = new Map<string, Pod>();
  /** What was written last, to know its echo. */
  const said = new Map<string, PodStatus>();
  const queue = createWorkQueue({ name: 'status', backoff: { initialMs: 200, maxMs: 10_000 }, clock, logger, metrics });
  let version = 0;

  async function handle(uid: string): Promise<void> {
    const next = wanted.get(uid);
    if (next === undefined) return;
    await write(next.pod, next.status);
    said.set(uid, next.status);
    if (wanted.get(uid)?.version === next.version) wanted.delete(uid);
  }

  async function write(pod: Pod, status: PodStatus): Promise<void> {
    const uid = pod.metadata?.uid ?? '';
    const known = current(pod);
    // What is said of a static pod waits for its mirror, which has a uid of its own.
    const apiUid = isStatic(pod) ? known?.metadata?.uid : uid;
    if (apiUid === undefined || (known !== undefined && known.metadata?.uid !== apiUid)) return;
    const last = written.get(uid);
    const answered = last?.metadata?.uid === apiUid ? last : undefined;
    const patch = computePatch((newer(answered, known) ?? pod).status, status);
    if (patch === undefined) return;
    const { namespace, name = '' } = pod.metadata ?? {};
    try {
      const target = { namespace, name, subresource: 'status', type: 'strategic' } as const;
      const answer = await client.patch(target, { metadata: { uid: apiUid }, status: patch });
      if (answer.metadata?.uid === apiUid) written.set(uid, statusOf(answer));
    } catch (error) {
      // Gone, or another pod by this name: the status is dropped.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  const isAnswer = (uid: string, pod: Pod): boolean => {
    const version = written.get(uid)?.metadata?.resourceVersion;
    return version !== undefined && version === pod.metadata?.resourceVersion;
  };

  return {
    set(pod, status, delayMs = 0) {
      const uid = pod.metadata?.uid ?? '';
      // The echo of our own write, with nothing new to say.
      if (wanted.get(uid) === undefined && said.get(uid) === status && isAnswer(uid, pod)) return;
      wanted.set(uid, { pod, status, version: ++version });
      queue.addAfter(uid, delayMs);
    },
    write(pod, status) {
      wanted.delete(pod.metadata?.uid ?? '');
      return write(pod, status);
    },
    forget(uid) {
      wanted.delete(uid);
      written.delete(uid);
      said.delete(uid);
      queue.forget(uid);
    },
    run: (signal) => queue.run(writers, handle, signal),
  };
}

/** What is compared of an answer. The rest of it, and the message that it came in, would be held as long as the pod. */
function statusOf({ metadata: { uid, resourceVersion } = {}, status }: Pod): Pod {
  return { metadata: { uid, resourceVersion }, status };
}

/**
 * The server's own order of versions is asked for by its only client that may: both come from the same server, as
 * revisions.
 */
function newer(answer: Pod | undefined, known: Pod | undefined): Pod | undefined {
  if (answer === undefined || known === undefined) return answer ?? known;
  return Number(answer.metadata?.resourceVersion) >= Number(known.metadata?.resourceVersion) ? answer : known;
}

/** The fields of a pod's status that the agent answers for. */
const ownFields = [
  'observedGeneration',
  'phase',
  'reason',
  'message',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const;

/** Said as a whole; a strategic merge would leave what is no longer there. */
const addressLists: readonly string[] = ['hostIPs', 'podIPs'];

/** The strategic merge patch from one status to the other, in JSON; undefined when they say the same. */
export function computePatch(from: PodStatus | undefined, to: PodStatus): JsonObject | undefined {
  const [before, after] = [messageToJson('berth.core.v1.PodStatus', from ?? {}), messageToJson('berth.core.v1.PodStatus', to)];
  const patch: JsonObject = {};
  for (const field of ownFields) {
    if (canonical(before[field]) === canonical(after[field])) continue;
    const value = after[field] ?? null;
    patch[field] = Array.isArray(value) && addressLists.includes(field) ? [{ $patch: 'replace' }, ...value] : value;
  }
  const conditions = changedConditions(before.conditions, after.conditions);
  if (conditions.length > 0) patch.conditions = conditions;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/**
 * The server merges conditions by type and field, so only ours that changed go there, with null for what they no longer
 * say. Those that are there only while they are true are taken away.
 */
function changedConditions(before: Json | undefined, after: Json | undefined): Json[] {
  const known = new Map(objectsOf(before).map((condition) => [condition.type, condition]));
  const changed = objectsOf(after)
    .filter((condition) => canonical(known.get(condition.type ?? null)) !== canonical(condition))
    .map((condition) => ({ reason: null, message: null, ...condition }));
  const kept = new Set(objectsOf(after).map(({ type }) => type));
  const gone = resizeConditions.filter((type) => known.has(type) && !kept.has(type));
  return [...changed, ...gone.map((type) => ({ type, $patch: 'delete' }))];
}

function objectsOf(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** A canonical text of a value: sorted keys, without empty values. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, part: unknown) => {
      if (part === null || (Array.isArray(part) && part.length === 0)) return undefined;
      if (typeof part !== 'object' || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? ''
  );
}
