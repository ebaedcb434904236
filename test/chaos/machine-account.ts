import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { containersOf, type Outcome, run } from '../e2e/installation.ts';

/** Everything on the machine that pods leave traces in, by name: two accounts are compared. */
export interface Account {
  readonly containers: string[];
  readonly networks: string[];
  /** Ends of containers on the engine's bridge. */
  readonly endpoints: string[];
  readonly links: string[];
  readonly mounts: string[];
  readonly volumes: string[];
  /** Of pods, below the data directory. */
  readonly folders: string[];
  /** Of pods, in the file system in memory that they share. */
  readonly memory: string[];
  /** Rules of the firewall and proxies of the engine for host ports. */
  readonly ports: string[];
}

export interface AccountOptions {
  readonly dataDir: string;
  readonly nodeName: string;
  readonly hostPorts: readonly number[];
  /** Of an engine with a network namespace of its own: runs a program in there. */
  readonly inside?: ((program: string, ...args: readonly string[]) => Promise<Outcome>) | undefined;
  /** Folders besides the data directory and the engine's, below which what is mounted counts. */
  readonly roots?: readonly string[] | undefined;
}

/**
 * The layer below a container's own, which the engine mounts for a moment to put /etc/hosts and the like in place. An
 * engine that is killed in this moment leaves it mounted and knows of no container (Docker 20.10); no pod uses it.
 */
const leftByEngine = /\/overlay2\/[0-9a-f]{64}-init\/merged$/;

export async function takeAccount({ dataDir, nodeName, hostPorts, inside, roots: more = [] }: AccountOptions): Promise<Account> {
  const there = inside ?? ((program: string, ...args: readonly string[]) => run(program, args));
  const [containers, networks, endpoints, links, volumes, rules, engineRoots] = await Promise.all([
    containersOf(nodeName),
    lines('docker', 'network', 'ls', '--format', '{{.Name}}'),
    lines('docker', 'network', 'inspect', 'bridge', '--format', '{{range .Containers}}{{println .EndpointID}}{{end}}'),
    linesOf('ip link', there('ip', '-o', 'link')),
    lines('docker', 'volume', 'ls', '--format', '{{.Name}}'),
    linesOf('iptables', there('iptables', '-t', 'nat', '-S')),
    lines('docker', 'info', '--format', '{{.DockerRootDir}}'),
  ]);
  // Whatever else is mounted on the machine meanwhile is not ours.
  const roots = [dataDir, ...(inside === undefined ? ['/run/docker', '/var/run/docker'] : []), ...engineRoots, ...more];
  const ofNode = join(dataDir, 'node', nodeName);
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => roots.some((root) => path.startsWith(`${root}/`)) && !leftByEngine.test(path))
    // The mount for memory volumes stays from the node's first pod on; the volumes in it are counted.
    .filter((path) => path !== join(ofNode, 'memory'));
  return {
    containers: containers.map(({ pod, container, state }) => `${pod}/${container} ${state}`).sort(),
    networks,
    endpoints,
    links: links.flatMap((line) => /^\d+: ((?:veth|bth)[^@:]*)/.exec(line)?.[1] ?? []),
    mounts: mounts.sort(),
    volumes,
    folders: namesIn(join(ofNode, 'pods')),
    memory: namesIn(join(ofNode, 'memory')),
    ports: [...rules, ...proxies()].filter((line) => hostPorts.some((port) => line.includes(` ${port} `))),
  };
}

/** How much there is of each, for people to read. */
export function countsOf(account: Account): string {
  return Object.entries(account)
    .map(([name, list]) => `${name} ${list.length}`)
    .join(', ');
}

/** Fails with what came and what went between two accounts. */
export function expectUnchanged(before: Account, now: Account): void {
  const changes = (Object.keys(before) as (keyof Account)[]).flatMap((name) => [
    ...without(now[name], before[name]).map((each) => `${name}: ${each} came`),
    ...without(before[name], now[name]).map((each) => `${name}: ${each} went`),
  ]);
  if (changes.length > 0) throw new Error(changes.join('\n'));
}

/** The lines of one list that another does not have; a line that stands twice counts twice. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const rest = [...others];
  return lines.filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

function proxies(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandOf)
    .filter((line) => line.includes('docker-proxy'));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

const lines = (program: string, ...args: readonly string[]): Promise<string[]> =>
  linesOf(`${program} ${args.join(' ')}`, run(program, args));

async function linesOf(what: string, outcome: Promise<Outcome>): Promise<string[]> {
  const { code, stdout, stderr } = await outcome;
  if (code !== 0) throw new Error(`${what} ended with ${code}: ${stderr}`);
  return stdout.split('\n').filter(Boolean).sort();
}
