import { setTimeout as delay } from 'node:timers/promises';
import { taints } from '../../api/meta/well-known.ts';
import type { Client, Container, Pod, Probe } from '../../client/index.ts';
import { containersOf, eventually } from '../e2e/installation.ts';
import { type ChaosHouse, createChaosHouse, podOf, untouched } from './chaos-house.ts';
import { type Chronicle, startChronicle } from './chronicle.ts';
import { effort } from './effort.ts';
import { namespace, stay } from './pod-churn.ts';

/** What a pod is and runs; all of it is the same after an outage. */
interface Sight {
  readonly name: string;
  readonly uid: string;
  readonly restarts: number;
  readonly ready: boolean;
  /** Its containers, as the engine has them. */
  readonly ids: readonly string[];
}

export interface Outage {
  readonly awayMs: number;
  readonly before: readonly Sight[];
  readonly after: readonly Sight[];
  /** What was done to a node or a pod for the outage's sake. */
  readonly harmed: readonly string[];
  /**
   * What the pods' events warn of, for the message of a test that fails:
   * an outage is not all that can happen to a container.
   */
  readonly warnings: readonly string[];
}

/** More than the 40 s after which a node that is silent is lost; in the long form the ten minutes that are claimed. */
const awayMs = effort(45_000, 600_000);
/**
 * Long enough for a server that went by what it missed: silence, the seconds in which others are looked for,
 * and an eviction.
 */
const watchedMs = effort(45_000, 120_000);

/** Both outages happen at the same time on the same machine: two clusters there need ranges of their own. */
const otherRanges = ['--cluster-cidr', '10.44.0.0/16', '--service-cidr', '10.45.0.0/16'];

/**
 * Two nodes with four pods each, which tolerate no lost node at all or have probes, and pods of a Deployment,
 * a StatefulSet and a DaemonSet; the server is killed, or stands still, and comes back.
 */
export async function goThroughOutage(how: 'away' | 'still'): Promise<Outage> {
  const house = await createChaosHouse(how, how === 'away' ? [] : otherRanges);
  let story: Chronicle | undefined;
  try {
    const nodes = [house.nodeName, `${house.nodeName}-b`];
    for (const node of nodes) house.startAgent(node);
    for (const node of nodes) await eventually(`${node} is ready`, () => house.nodeIsReady(node).catch(() => undefined));
    const pods = nodes.flatMap((node, at) => podsOn(node, `p${at}`));
    for (const pod of pods) await house.client.pods.create(pod);
    await createWorkloads(house.client);
    const names = await namesOfAll(house.client, pods.length + podsOfWorkloads);
    for (const name of names) await house.until(name, 'is ready', (pod) => untouched(pod).ready);
    const before = await look(house, nodes, names);
    story = await startChronicle(house.client);
    const beganAt = Date.now();
    if (how === 'away') await house.killServer();
    else house.signalServer('SIGSTOP');
    await delay(awayMs);
    if (how === 'away') await house.startServer();
    else house.signalServer('SIGCONT');
    const away = Date.now() - beganAt;
    await delay(watchedMs);
    const after = await look(house, nodes, names);
    return { awayMs: away, before, after, harmed: harmIn(story, nodes, names), warnings: await warningsOf(house) };
  } finally {
    house.signalServer('SIGCONT');
    await story?.close();
    await house.close();
  }
}

function podsOn(nodeName: string, prefix: string): Pod[] {
  // A machine that is busy with other tests takes more than the second that a probe has by default.
  const probe: Probe = { timeoutSeconds: 60, handler: { exec: { command: ['true'] } }, periodSeconds: 2 };
  const impatient = [taints.unreachable, taints.notReady].map((key) => ({ key, effect: 'NoExecute', tolerationSeconds: 0 }));
  const made = (name: string, main: Partial<Container>, tolerations: object[]) =>
    podOf(`${prefix}-${name}`, stay, main, { nodeName, tolerations });
  return [
    made('plain', {}, []),
    made('impatient', {}, impatient),
    made('probed', { livenessProbe: probe, readinessProbe: probe }, impatient),
    made('tolerant', {}, [{ operator: 'Exists' }]),
  ];
}

/** A Deployment and a StatefulSet of one pod each, and a DaemonSet with one on each of the two nodes. */
const podsOfWorkloads = 4;

async function createWorkloads({ deployments, statefulSets, daemonSets }: Client): Promise<void> {
  const made = (name: string) => {
    const { spec } = podOf(name, stay);
    const labels = { workload: name };
    return {
      metadata: { namespace, name },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: spec! } },
    };
  };
  await deployments.create(made('web'));
  await statefulSets.create(made('db'));
  await daemonSets.create(made('log'));
}

/** The names of all pods, when there are as many as expected. */
async function namesOfAll({ pods }: Client, count: number): Promise<string[]> {
  return eventually(`${count} pods`, async () => {
    const { items } = await pods.list({ namespace });
    return items.length === count ? items.map(({ metadata }) => metadata?.name ?? '').toSorted() : undefined;
  });
}

async function look(house: ChaosHouse, nodes: readonly string[], names: readonly string[]): Promise<Sight[]> {
  const containers = (await Promise.all(nodes.map(containersOf))).flat();
  const sights = names.map(async (name) => {
    const pod = await house.client.pods.get({ namespace, name });
    const { ready, restarts } = untouched(pod);
    const ids = containers.filter((each) => each.pod === name && each.state === 'running').map(({ id }) => id);
    return { name, uid: pod.metadata?.uid ?? '', ready, restarts, ids: ids.toSorted() };
  });
  return Promise.all(sights);
}

async function warningsOf({ client }: ChaosHouse): Promise<string[]> {
  const { items } = await client.events.list({ namespace });
  const warnings = items.filter(({ type }) => type === 'Warning');
  return warnings.map(({ involvedObject, reason, message, count }) => `${involvedObject?.name} ${reason} ${count}: ${message}`);
}

function harmIn(story: Chronicle, nodes: readonly string[], names: readonly string[]): string[] {
  const possible = [
    ...nodes.flatMap((node) => ['Unknown', ...lostTaints].map((what) => `node ${node} ${what}`)),
    ...names.flatMap((name) => [`pod ${name} deleting`, `pod ${name} gone`]),
  ];
  const strangers = [...story.pods.keys()].filter((name) => !names.includes(name)).map((name) => `pod ${name} made`);
  return [...possible.filter((what) => story.has(what)), ...strangers];
}

const lostTaints = [taints.unreachable, taints.notReady].flatMap((key) => [`${key}:NoSchedule`, `${key}:NoExecute`]);
