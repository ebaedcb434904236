import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../client/index.ts';
import { type Outcome, run } from '../e2e/installation.ts';
import { connectAdmin } from './processes.ts';

const tree = fileURLToPath(new URL('../..', import.meta.url));
/** Of this machine's own, or of the host's on which the test runs. What is left of an earlier run is found there. */
const disks = join(tmpdir(), 'berth-chaos-cluster');

/**
 * Hosts of a test's own, made by hack/cluster, each with an engine. Berth's server runs on h1; the others have joined
 * with the line that it printed.
 */
export interface Cluster {
  /** As the administrator, from outside of all hosts. */
  readonly client: Client;
  /** `hack/cluster VERB HOST`. */
  hack(verb: 'cut' | 'heal' | 'kill-host' | 'start', host: string): Promise<void>;
  /** Runs a shell script on the router, which clusters with two links have. */
  router(script: string): Promise<void>;
  /** Runs a command line of Berth on a host; never throws on a bad exit code. */
  berth(host: string, ...args: readonly string[]): Promise<Outcome>;
  /** Runs any command on a host; never throws on a bad exit code. */
  exec(host: string, ...args: readonly string[]): Promise<Outcome>;
  /** Starts a command on a host. The test ends it by closing its standard input; it shares the test's stderr. */
  start(host: string, ...args: readonly string[]): ChildProcessByStdio<Writable, Readable, null>;
  /** Lets another agent join, beside that of the host, under a name and with a data directory of its own. */
  joinBeside(host: string, nodeName: string): Promise<void>;
  /** Ends such an agent. */
  leave(host: string, nodeName: string): Promise<void>;
  /**
   * The ids of a pod's containers on a host, its sandbox among them, that run. The engine is asked: it answers also
   * while the host is cut off.
   */
  containers(host: string, pod: string): Promise<string[]>;
  close(): Promise<void>;
}

/** `count` hosts, all ready; `serverFlags` are of the server's `up`. What an earlier run has left is removed first. */
export const createCluster = (count: number, ...serverFlags: readonly string[]): Promise<Cluster> =>
  createClusterWith({ count, serverFlags });

export interface ClusterOptions {
  readonly count: number;
  /** Of the server's `up`. */
  readonly serverFlags?: readonly string[];
  /** With 2, h2 is on another link than h1 and h3, with a router between. */
  readonly links?: 1 | 2;
}

/** The same, on one link or on two. */
export async function createClusterWith({ count, serverFlags = [], links = 1 }: ClusterOptions): Promise<Cluster> {
  // Each has a set of its own: hosts of one link are not those of two.
  const set = links === 2 ? 7 : 8;
  const address = `10.117.${set}.1`;
  const command = [`BERTH_CLUSTER=${set}`, `BERTH_CLUSTER_DIR=${disks}`, join(tree, 'hack/cluster')];
  const cluster = (...args: readonly string[]) => run('env', [...command, ...args], '');
  const must = async (outcome: Promise<Outcome>): Promise<string> => {
    const { code, stdout, stderr } = await outcome;
    if (code !== 0) throw new Error(`it ended with ${code}: ${stderr || stdout}`);
    return stdout;
  };
  const berth = (host: string, ...args: readonly string[]) => cluster('exec', host, join(tree, 'bin/berth'), ...args);
  const folderOf = (nodeName: string): string => `/var/lib/berth/${nodeName}`;
  await must(cluster('down'));
  const line = await found().catch(async (error: unknown) => {
    await cluster('down');
    throw error;
  });
  const client = await connectAdmin(join(disks, `${set}/h1/berth`), `${address}:7443`);

  /** Returns the words of the line that a host joins with. Each host has a configuration of its own. */
  async function found(): Promise<string[]> {
    await must(cluster('up', String(count), '--links', String(links)));
    await must(berth('h1', 'up', '--detach', '--advertise', address, ...serverFlags));
    const [, ...words] = (await must(berth('h1', 'token', 'create'))).trim().split(' ');
    const others = Array.from({ length: count - 1 }, (_, index) => `h${index + 2}`);
    await Promise.all(others.map((host) => must(berth(host, ...words, '--detach'))));
    return words;
  }

  return {
    client,
    berth,
    exec: (host, ...args) => cluster('exec', host, ...args),
    start: (host, ...args) => spawn('env', [...command, 'exec', host, ...args], { stdio: ['pipe', 'pipe', 'inherit'] }),
    hack: async (verb, host) => void (await must(cluster(verb, host))),
    router: async (script) => void (await must(cluster('exec', 'router', 'sh', '-ec', script))),
    async joinBeside(host, nodeName) {
      const own = ['--node-name', nodeName, '--data-dir', folderOf(nodeName), '--metrics-address', 'off'];
      await must(berth(host, ...line, '--detach', ...own));
    },
    leave: async (host, nodeName) => void (await must(berth(host, 'down', '--data-dir', folderOf(nodeName)))),
    async containers(host, pod) {
      const found = ['ps', '--no-trunc', '--filter', `label=io.berth.pod.name=${pod}`, '--format', '{{.ID}}'];
      return (await must(cluster('exec', host, 'docker', ...found))).split('\n').filter(Boolean).toSorted();
    },
    async close() {
      client.close();
      await must(cluster('down'));
    },
  };
}
