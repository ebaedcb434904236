import { setMaxListeners } from 'node:events';
import type { DeleteOptions, Node, Pod } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { objectKey } from '../../api/meta/key.ts';
import { createInformer, type Informer, systemClock } from '../../client/index.ts';
import { parseDuration } from '../args/duration.ts';
import type { NodeSelection } from '../args/node-names.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { interruptSignal, type Session } from '../session.ts';
import { createProgress } from '../terminal/progress.ts';
import { timeoutSignal } from '../wait/wait.ts';
import { type DryRun, dryRunNotes } from '../write/write-options.ts';
import { choosePods, type DrainConsent } from './choose-pods.ts';
import { setCordon } from './cordon.ts';
import { type EndReport, endPods } from './end-pods.ts';

export interface DrainFlags extends DrainConsent, NodeSelection {
  readonly gracePeriod?: number;
  readonly timeout: string;
  readonly podSelector?: string;
  readonly disableEviction?: boolean;
  readonly dryRun?: DryRun;
}

interface Ending {
  readonly signal: AbortSignal;
  readonly interrupted: AbortSignal;
}

/**
 * First no node gets new pods, then they are emptied one after the other. A node that cannot be emptied ends it:
 * the others are still in use.
 */
export async function drainNodes(session: Session, nodes: readonly Node[], flags: DrainFlags): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout);
  const interrupted = interruptSignal();
  const signal = timeoutMs > 0 ? AbortSignal.any([interrupted, timeoutSignal(timeoutMs)]) : interrupted;
  setMaxListeners(Number.POSITIVE_INFINITY, signal);
  for (const node of nodes) await setCordon(session, node, { wanted: true, dryRun: flags.dryRun });
  for (const [at, node] of nodes.entries()) {
    try {
      await drainNode(session, node, flags, { signal, interrupted });
    } catch (error) {
      const others = nodes.slice(at + 1).map(({ metadata }) => metadata?.name);
      if (others.length > 0) process.stderr.write(`Warning: not drained, but cordoned: ${others.join(', ')}\n`);
      throw error;
    }
  }
}

async function drainNode(session: Session, node: Node, flags: DrainFlags, ending: Ending): Promise<void> {
  const { name = '' } = node.metadata ?? {};
  const dryRun = flags.dryRun ?? 'none';
  await following(session, name, flags.podSelector, async (pods) => {
    const choice = choosePods(pods.lister.list(), flags, Date.now());
    for (const refusal of choice.refusals) process.stderr.write(`error: ${refusal}\n`);
    if (choice.refusals.length > 0) throw new ExitWith(1, `node "${name}" is not drained; ${stays(name, flags)}`);
    for (const warning of choice.warnings) process.stderr.write(`Warning: ${warning}\n`);
    if (dryRun === 'client') for (const pod of choice.pods) say(pod, `evicted${dryRunNotes.client}`);
    else await empty(session, { node, pods, victims: choice.pods, flags }, ending);
    process.stdout.write(`node/${name} drained${dryRunNotes[dryRun]}\n`);
  });
}

/** Follows the pods of a node while `run` runs. */
async function following(
  { client }: Session,
  nodeName: string,
  labelSelector: string | undefined,
  run: (pods: Informer<Pod>) => Promise<void>,
): Promise<void> {
  const scope = { fieldSelector: `spec.nodeName=${nodeName}`, ...(labelSelector !== undefined && { labelSelector }) };
  // Fails at once for a bad selector or an unreachable server; the informer would retry.
  await client.pods.list({ ...scope, limit: 1 });
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const pods = createInformer<Pod>({ client: client.pods, scope, name: 'pods of the node', logger: quiet });
  const stop = new AbortController();
  const running = pods.run(stop.signal);
  try {
    await pods.waitForSync(stop.signal);
    await run(pods);
  } finally {
    stop.abort();
    await running;
  }
}

interface EmptyInput {
  readonly node: Node;
  readonly pods: Informer<Pod>;
  readonly victims: readonly Pod[];
  readonly flags: DrainFlags;
}

async function empty(session: Session, { node, pods, victims, flags }: EmptyInput, ending: Ending): Promise<void> {
  const { name = '' } = node.metadata ?? {};
  const { disableEviction = false, dryRun = 'none' } = flags;
  const progress = createProgress();
  const report = createReport(progress, { victims, verb: disableEviction ? 'deleted' : 'evicted', note: dryRunNotes[dryRun] });
  if (victims.length > 0 && !isConditionTrue(node.status?.conditions, 'Ready'))
    process.stderr.write(
      `Warning: node "${name}" is not ready: its pods stay Terminating until its agent is back; ` +
        `if the machine is gone for good, "berth delete node ${name}" removes them\n`,
    );
  const options = { client: session.client, pods, disableEviction, deleteOptions: deleteOptionsOf(flags), clock: systemClock };
  // With --dry-run=server nothing goes, so nothing is waited for.
  const lister = dryRun === 'server' ? noPods : pods.lister;
  const watched: Pick<typeof pods, 'addHandler' | 'lister'> = { addHandler: (handler) => pods.addHandler(handler), lister };
  const left = await endPods(victims, { ...options, pods: watched, report }, ending.signal).finally(() => progress.clear());
  if (left.length === 0) return;
  const names = left.map(objectKey).toSorted().join(', ');
  if (ending.interrupted.aborted) throw new ExitWith(130, `interrupted; still there: ${names}; ${stays(name, flags)}`);
  const why = ending.signal.aborted ? `not drained within ${flags.timeout}` : 'not drained';
  throw new ExitWith(1, `node "${name}" is ${why}; still there: ${names}; ${stays(name, flags)}`);
}

function stays(name: string, { dryRun = 'none' }: DrainFlags): string {
  if (dryRun !== 'none') return 'nothing was changed (dry run)';
  return `it stays cordoned: the same command goes on, "berth uncordon ${name}" gives it pods again`;
}

function deleteOptionsOf({ gracePeriod = -1, dryRun }: DrainFlags): DeleteOptions {
  return {
    ...(gracePeriod >= 0 && { gracePeriodSeconds: gracePeriod }),
    ...(dryRun === 'server' && { dryRun: ['All'] }),
  };
}

const noPods: Informer<Pod>['lister'] = {
  get: () => undefined,
  list: () => [],
  byIndex: () => [],
  isInIndex: () => false,
  countInIndex: () => 0,
};

function say(pod: Pod, done: string): void {
  process.stdout.write(`pod/${pod.metadata?.name} ${done}\n`);
}

interface ReportInput {
  readonly victims: readonly Pod[];
  readonly verb: string;
  readonly note: string;
}

function createReport(progress: ReturnType<typeof createProgress>, { victims, verb, note }: ReportInput): EndReport {
  const left = new Set(victims.map(objectKey));
  const show = (): void => {
    const [first] = left;
    const more = left.size > 1 ? ` and ${left.size - 1} more` : '';
    if (first !== undefined) progress.show(`waiting for ${first}${more} to be gone; Ctrl-C leaves the node cordoned`);
  };
  const line = (write: () => void): void => {
    progress.clear();
    write();
    show();
  };
  return {
    begins: (pod) => line(() => void process.stdout.write(`evicting pod ${objectKey(pod)}\n`)),
    waits: (pod, why) =>
      line(() => void process.stderr.write(`pod ${objectKey(pod)} must wait, and is tried again every 5 s: ${why}\n`)),
    ended(pod) {
      left.delete(objectKey(pod));
      line(() => say(pod, `${verb}${note}`));
    },
    failed: (pod, error) =>
      line(() => void process.stderr.write(`error: cannot evict pod ${objectKey(pod)}: ${describeFailure(error)}\n`)),
  };
}
