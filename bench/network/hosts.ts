import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { type Client, connect, type Pod } from '../../client/index.ts';
import { launcher } from '../berth.ts';
import { nftOf } from '../process-costs.ts';

/** Where this tree is; the benchmarks run in its dist/. */
const tree = fileURLToPath(new URL('../../..', import.meta.url));
const hackCluster = join(tree, 'hack/cluster');
/** A set of hosts that no test has. */
const set = '6';
const disks = join(tmpdir(), 'berth-bench-cluster');
const environment = { ...process.env, BERTH_CLUSTER: set, BERTH_CLUSTER_DIR: disks };
export const image = 'berth/busybox:latest';
const patienceMs = 120_000;

export const hosts = ['h1', 'h2'] as const;
export type Host = (typeof hosts)[number];
export const addressOf = (host: Host): string => `10.117.${set}.${host[1]}`;
/** The machine itself, among its hosts. */
export const machineAddress = `10.117.${set}.254`;
export const namespace = 'default';

/** Two hosts of hack/cluster with Berth and the routed network; the server runs on h1. */
export interface BenchHosts {
  readonly client: Client;
  /** Runs a shell script on a host; throws with what it said when it fails. */
  run(host: Host, script: string): Promise<string>;
  /** Starts a program on a host; it ends with the hosts. */
  start(host: Host, ...command: readonly string[]): ChildProcess;
  /** Creates a pod, and returns when it is ready. */
  runPod(pod: Pod): Promise<RunningPod>;
  /** Process ids, as this machine numbers them, of the agent of a host and the nft processes that it keeps. */
  agentOf(host: Host): Promise<{ readonly agent: number; readonly nft: readonly number[] }>;
}

export interface RunningPod {
  readonly address: string;
  /** Put before a command that is to run in the pod's network, on its host. */
  readonly inside: string;
}

/** Runs `measure` on hosts that are removed afterwards. `prepare` is a script for each before Berth is there. */
export async function onHosts<T>(measure: (hosts: BenchHosts) => Promise<T>, prepare?: (host: Host) => string): Promise<T> {
  const cluster = (...args: readonly string[]): string =>
    execFileSync(hackCluster, args, { env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const berth = (host: Host, ...args: readonly string[]): string => cluster('exec', host, launcher, ...args);
  cluster('down');
  const children: ChildProcess[] = [];
  let client: Client | undefined;
  try {
    cluster('up', String(hosts.length));
    for (const host of hosts) if (prepare) cluster('exec', host, 'sh', '-ec', prepare(host));
    const routed = ['--detach', '--pod-network', 'routed'];
    berth('h1', 'up', ...routed, '--advertise', addressOf('h1'));
    const [, ...line] = berth('h1', 'token', 'create').trim().split(' ');
    berth('h2', ...line, ...routed);
    client = connectTo(join(disks, set, 'h1/berth/pki'));
    return await measure(benchHosts(client, children));
  } finally {
    client?.close();
    for (const child of children) child.kill('SIGKILL');
    cluster('down');
  }
}

function connectTo(pki: string): Client {
  const read = (name: string): string => readFileSync(join(pki, name), 'utf8');
  const admin = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
  return connect({ address: `${addressOf('h1')}:7443`, ...admin, userAgent: 'berth-bench' });
}

function benchHosts(client: Client, children: ChildProcess[]): BenchHosts {
  const run = async (host: Host, script: string): Promise<string> => {
    const options = { env: environment, encoding: 'utf8', maxBuffer: 64e6 } as const;
    return (await promisify(execFile)(hackCluster, ['exec', host, 'sh', '-ec', script], options)).stdout;
  };
  return {
    client,
    run,
    start(host, ...command) {
      const child = spawn(hackCluster, ['exec', host, ...command], { env: environment, stdio: ['pipe', 'pipe', 'inherit'] });
      children.push(child);
      return child;
    },
    async runPod(pod) {
      const [name = '', host] = [pod.metadata?.name, pod.spec?.nodeName as Host];
      await client.pods.create(pod);
      const ready = await until(`pod ${name} is ready`, async () => {
        const found = await client.pods.get({ namespace, name });
        return isPodReady(found) ? found : undefined;
      });
      const find = `docker ps -q --filter label=io.berth.pod.name=${name} | head -1`;
      const pid = (await run(host, `docker inspect --format '{{.State.Pid}}' $(${find})`)).trim();
      return { address: ready.status?.podIP ?? '', inside: `nsenter --net=/proc/${pid}/ns/net` };
    },
    async agentOf(host) {
      // Both in the namespaces of the host, whose processes this machine sees under other numbers.
      const init = readFileSync(`/run/berth-cluster/${set}/${host}.pid`, 'utf8').trim();
      const found = (await promisify(execFile)('pgrep', ['--ns', init, '--nslist', 'pid', '-f', '/bin/berth agent'])).stdout;
      const agent = found
        .split('\n')
        .map(Number)
        .find((pid) => pid > 0 && programOf(pid) === 'node');
      if (agent === undefined) throw new Error(`no agent runs on host ${host}`);
      const nft = nftOf(agent);
      if (nft.length === 0) throw new Error(`the agent of host ${host} keeps no nft process`);
      return { agent, nft };
    },
  };
}

const programOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]?.split('/').at(-1) ?? '';

/** A pod of one container on a host; `more` is put into the container. */
export const podOn = (host: Host, name: string, command: readonly string[], more: object = {}): Pod => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: {
    nodeName: host,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: [...command], ...more }],
  },
});

/** Throws when that takes longer than two minutes. */
export async function until<T>(what: string, check: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`it took longer than ${patienceMs / 1_000} s until ${what}`);
    await delay(100);
  }
}

/** A program beside the benchmarks, in the tree: it is not compiled. */
export const programPath = (name: string): string => join(tree, 'bench/network/programs', name);
/** What a pod needs to run this machine's Node.js and programs of the tree, at the same paths. */
export const nodeMounts = ((): { volumes: object[]; volumeMounts: object[] } => {
  const paths = { '/usr': '/usr', '/lib': '/usr/lib', '/lib64': '/usr/lib64', [tree]: tree };
  return {
    volumes: Object.values(paths).map((path, index) => ({ name: `v${index}`, volumeSource: { hostPath: { path } } })),
    volumeMounts: Object.keys(paths).map((mountPath, index) => ({ name: `v${index}`, mountPath, readOnly: true })),
  };
})();
