import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** What a peer answers: `text` of a server ("e1 192.0.2.2"), or the code of an error. */
export interface PeerAnswer {
  readonly text?: string;
  readonly error?: string;
  /** Until the answer or error. */
  readonly ms?: number;
  readonly answers?: Readonly<Record<string, number>>;
  readonly errors?: Readonly<Record<string, number>>;
  readonly us?: readonly (readonly number[])[];
}

/** A program in a namespace (service-peer.js). */
export interface Peer {
  ask(op: string, request?: object): Promise<PeerAnswer>;
}

/** Network namespaces of one test; root is needed. `close` removes all of them. */
export interface ServiceNetwork {
  readonly node: Peer;
  /** A machine outside of the cluster, 192.0.2.2. */
  readonly client: Peer;
  /** Pods of the node: 10.42.0.11, 10.42.0.12, ... */
  readonly pods: readonly Peer[];
  /** What runs a program in the node's namespace. */
  readonly prefix: readonly string[];
  inNode(...command: string[]): string;
  inPod(index: number, ...command: string[]): string;
  close(): Promise<void>;
}

export const nodeAddress = '192.0.2.1';
export const clientAddress = '192.0.2.2';
export const podAddress = (index: number): string => `10.42.0.${11 + index}`;

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const names = /^bst(\d+)-/;

/** A node with pods behind routed links, and a client whose default route is the node. `program`: service-peer.js. */
export async function createServiceNetwork(program: string, podCount = 3): Promise<ServiceNetwork> {
  removeLeftBehind();
  const name = (of: string): string => `bst${process.pid}-${of}`;
  const [node, client] = [name('node'), name('client')];
  const pods = Array.from({ length: podCount }, (_, index) => name(`e${index + 1}`));
  const peers: ChildProcess[] = [];
  const close = async (): Promise<void> => {
    for (const peer of peers) peer.kill('SIGKILL');
    for (const each of [node, client, ...pods]) if (existsSync(`/run/netns/${each}`)) ip('netns', 'del', each);
  };
  try {
    for (const each of [node, client, ...pods]) {
      ip('netns', 'add', each);
      ip('-n', each, 'link', 'set', 'lo', 'up');
    }
    connectClient(node, client);
    for (const [index, pod] of pods.entries()) connectPod(node, pod, index);
    const setting = (key: string, value: number) => `echo ${value} > /proc/sys/net/ipv4/${key}`;
    const settings = [setting('ip_forward', 1), setting('conf/all/route_localnet', 1), setting('conf/all/rp_filter', 0)];
    ip('netns', 'exec', node, 'sh', '-ec', settings.join('\n'));
    const start = (namespace: string): Peer => startPeer(namespace, program, peers);
    return {
      node: start(node),
      client: start(client),
      pods: pods.map(start),
      prefix: ['ip', 'netns', 'exec', node],
      inNode: (...command) => ip('netns', 'exec', node, ...command),
      inPod: (index, ...command) => ip('netns', 'exec', pods[index] ?? '', ...command),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function connectClient(node: string, client: string): void {
  ip('-n', node, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', client);
  for (const [namespace, address, other] of [
    [node, nodeAddress, clientAddress],
    [client, clientAddress, nodeAddress],
  ] as const) {
    ip('-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', namespace, 'link', 'set', 'eth0', 'up');
    ip('-n', namespace, 'route', 'add', 'default', 'via', other);
  }
}

function connectPod(node: string, pod: string, index: number): void {
  const link = `pod${index + 1}`;
  ip('-n', node, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pod);
  ip('-n', node, 'address', 'add', '169.254.1.1/32', 'dev', link);
  ip('-n', node, 'link', 'set', link, 'up');
  ip('-n', pod, 'address', 'add', `${podAddress(index)}/32`, 'dev', 'eth0');
  ip('-n', pod, 'link', 'set', 'eth0', 'up');
  ip('-n', pod, 'route', 'add', '169.254.1.1', 'dev', 'eth0');
  ip('-n', pod, 'route', 'add', 'default', 'via', '169.254.1.1');
  ip('-n', node, 'route', 'add', `${podAddress(index)}/32`, 'dev', link);
}

function startPeer(namespace: string, program: string, peers: ChildProcess[]): Peer {
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, program], { stdio: ['pipe', 'pipe', 'inherit'] });
  peers.push(child);
  const waiting = new Map<number, (answer: PeerAnswer) => void>();
  let serial = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, ...answer } = JSON.parse(line);
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  child.on('close', () => {
    for (const answer of waiting.values()) answer({ error: 'PEER ENDED' });
  });
  return {
    ask(op, request = {}) {
      const id = ++serial;
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        child.stdin.write(`${JSON.stringify({ id, op, ...request })}\n`);
      });
    },
  };
}

/** Namespaces of a test that was killed. */
function removeLeftBehind(): void {
  for (const line of ip('netns', 'list').split('\n')) {
    const name = line.split(' ')[0] ?? '';
    const pid = names.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) ip('netns', 'del', name);
  }
}
