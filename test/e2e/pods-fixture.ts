import { createInstallation, eventually, hangsAfterMs, type Installation, run } from './installation.ts';

export const image = 'berth/busybox:latest';

/** A pod in Kubernetes' JSON, as far as the tests read it. */
export interface PodJson {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName?: string; readonly priority?: number; readonly preemptionPolicy?: string };
  readonly status: {
    readonly phase: string;
    readonly reason?: string;
    readonly podIP?: string;
    readonly hostIP?: string;
    readonly qosClass?: string;
    readonly conditions?: readonly ConditionJson[];
    readonly initContainerStatuses?: readonly ContainerJson[];
    readonly containerStatuses?: readonly ContainerJson[];
  };
}

interface ConditionJson {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface ContainerJson {
  readonly name: string;
  readonly ready: boolean;
  readonly started?: boolean;
  readonly restartCount: number;
  readonly containerID?: string;
  readonly state: StateJson;
  readonly lastState?: StateJson;
}

interface StateJson {
  readonly waiting?: { reason: string; message?: string };
  readonly running?: { startedAt: string };
  readonly terminated?: { exitCode: number; reason: string; message?: string; startedAt?: string; finishedAt?: string };
}

/** An installation with what the pods' tests do over and over. */
export interface PodHouse {
  readonly berth: Installation;
  /** Applies objects; fails the test when one is refused. */
  apply(...objects: object[]): Promise<void>;
  pod(name: string): Promise<PodJson>;
  /** Waits until `check` is true of the pod. All who wait share one question to the server. */
  until(name: string, what: string, check: (pod: PodJson) => boolean, timeoutMs?: number): Promise<PodJson>;
  running(name: string): Promise<PodJson>;
  /** The columns of `get pods` for one pod. */
  row(name: string): Promise<{ ready: string; status: string; restarts: number }>;
  exec(pod: string, ...command: string[]): Promise<string>;
  sh(pod: string, script: string, container?: string): Promise<string>;
  events(pod: string): Promise<readonly EventJson[]>;
}

export interface EventJson {
  readonly involvedObject: { readonly name: string };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
}

export async function createPodHouse(name: string, ...flags: string[]): Promise<PodHouse> {
  const berth = await createInstallation(name);
  await berth.up(...flags);
  return housed(berth);
}

/** The same, for an installation that is up. */
export function housed(berth: Installation): PodHouse {
  let question: Promise<readonly PodJson[]> | undefined;
  const pods = () => {
    question ??= berth.reader
      .list('Pod')
      .then((items) => items as unknown as readonly PodJson[])
      .finally(() => {
        question = undefined;
      });
    return question;
  };
  const until: PodHouse['until'] = async (podName, what, check, timeoutMs = hangsAfterMs) => {
    let last: PodJson | undefined;
    try {
      return await eventually(
        `pod ${podName} ${what}`,
        async () => {
          last = (await pods()).find((each) => each.metadata.name === podName);
          return last !== undefined && check(last) ? last : undefined;
        },
        timeoutMs,
      );
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}; its status: ${JSON.stringify(last?.status)}`);
    }
  };
  return {
    berth,
    async apply(...objects) {
      const { code, stderr } = await berth.berth(
        ['apply', '-f', '-'],
        objects.map((each) => JSON.stringify(each)).join('\n---\n'),
      );
      if (code !== 0) throw new Error(`apply: ${stderr}`);
    },
    pod: async (podName) => (await berth.reader.get('Pod', podName)) as unknown as PodJson,
    until,
    running: (podName) => until(podName, 'is ready', isReady),
    async row(podName) {
      const line = (await berth.ok('get', 'pod', podName)).trim().split('\n')[1] ?? '';
      const [, ready = '', status = '', restarts = ''] = line.split(/ +/);
      return { ready, status, restarts: Number(restarts) };
    },
    exec: (podName, ...command) => berth.ok('exec', podName, '--', ...command),
    sh: (podName, script, container) =>
      berth.ok('exec', podName, ...(container === undefined ? [] : ['-c', container]), '--', 'sh', '-c', script),
    async events(podName) {
      const events = (await berth.reader.list('Event')) as unknown as readonly EventJson[];
      return events.filter(({ involvedObject }) => involvedObject.name === podName);
    },
  };
}

export function isReady(pod: PodJson): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True';
}

export function conditionOf(pod: PodJson, type: string) {
  return pod.status.conditions?.find((condition) => condition.type === type);
}

/** The status of a container: of the only one, or of the one with this name. */
export function containerOf(pod: PodJson, name?: string): ContainerJson {
  const list = pod.status.containerStatuses ?? [];
  const found = name === undefined ? list[0] : list.find((each) => each.name === name);
  if (found === undefined) throw new Error(`pod ${pod.metadata.name} has no status of container ${name ?? 'at all'}`);
  return found;
}

/** A container of the test image that runs a script. */
export function script(text: string, more: object = {}): object {
  return { name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', text], ...more };
}

/** Stays until it is told to end, and then ends at once. */
export const stay = 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done';

/** The same, with a file that says when the trap is set: a TERM before that is lost. */
export const listening = 'trap "exit 0" TERM; touch /tmp/listens; while :; do sleep 1000 & wait; done';
/** In the same container: waits until then. */
export const untilItListens = 'until [ -e /tmp/listens ]; do sleep 0.1; done';

export function podOf(name: string, containers: readonly object[], spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { terminationGracePeriodSeconds: 1, ...spec, containers },
  };
}

export function configMap(name: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

export function secret(name: string, stringData: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

/** What the engine itself says of a container. */
export async function inspect(containerID: string | undefined): Promise<{
  HostConfig: { LogConfig: object; Memory: number; NanoCpus: number; CpuQuota: number; CpuShares: number };
  State: { Status: string };
}> {
  const { stdout } = await run('docker', ['inspect', (containerID ?? '').replace('docker://', '')]);
  return JSON.parse(stdout)[0];
}
