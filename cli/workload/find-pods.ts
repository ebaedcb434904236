import { setTimeout as delay } from 'node:timers/promises';
import { badRequest } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { listAll } from '../../client/informer/list-all.ts';
import { parseDuration } from '../args/duration.ts';
import { type ObjectArgument, parseObjectArgument } from '../args/resource-args.ts';
import { ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';
import { podSelectorOf } from './pod-selector.ts';

/** Between looks for the first pod of a workload. */
const lookMs = 500;

export interface PodSearch {
  /** The best pod first. */
  readonly order: (pods: readonly Pod[]) => Pod[];
  /** How long a workload without pods is waited for. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The pods that a word means, at least one, the best first: "web", "pod/web", or those of "deployment/web". */
export async function findPods(session: Session, word: string, search: PodSearch): Promise<Pod[]> {
  const { client, namespace } = session;
  const { kind, name } = parseObjectArgument(word, 'pod');
  if (kind.kind === 'Pod') return [await client.pods.get({ namespace, name }, { signal: search.signal })];
  const object = await client.objects.get(kindWord(kind), { namespace: kind.namespaced ? namespace : undefined, name });
  const labelSelector = podSelectorOf(kind, object);
  const endsAt = Date.now() + search.timeoutMs;
  for (;;) {
    const { items } = await listAll(client.pods, { namespace, labelSelector }, { signal: search.signal });
    if (items.length > 0) return search.order(items);
    if (Date.now() >= endsAt) throw noPods({ kind, name }, search.timeoutMs);
    await delay(Math.min(lookMs, Math.max(1, endsAt - Date.now())), undefined, { signal: search.signal });
  }
}

function noPods({ kind, name }: ObjectArgument, timeoutMs: number): Error {
  const waited = `${Math.round(timeoutMs / 1000)}s`;
  const why = `"berth why ${kind.singular}/${name}" says why there is none`;
  return new ExitWith(1, `timed out after ${waited} waiting for a pod of ${kind.singular}/${name}; ${why}`);
}

/** The one pod that a session is with. Of several the choice is told on standard error. */
export async function findPod(
  session: Session,
  word: string,
  search: PodSearch & { readonly quiet?: boolean | undefined },
): Promise<Pod> {
  const pods = await findPods(session, word, search);
  const [pod] = pods;
  if (pods.length > 1 && !search.quiet) tellChoice(pods);
  return pod!;
}

/** kubectl's sentence. */
export function tellChoice(pods: readonly Pod[]): void {
  process.stderr.write(`Found ${pods.length} pods, using pod/${pods[0]?.metadata?.name}\n`);
}

/** Reads --pod-running-timeout. Throws INVALID_ARGUMENT. */
export function parsePodTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms <= 0) throw badRequest('--pod-running-timeout must be higher than zero');
  return ms;
}
