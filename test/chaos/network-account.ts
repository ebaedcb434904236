import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AddressRange, addressNumber, isInRange } from '../../api/meta/address-range.ts';
import { run } from '../e2e/installation.ts';

/** Everything of the machine that the routed network leaves traces in, by name: two accounts are compared. */
export interface NetworkAccount {
  readonly links: readonly string[];
  readonly addresses: readonly string[];
  /** Of all tables, and the entries of neighbours. */
  readonly routes: readonly string[];
  /** Tables, chains, rules and elements of nftables, and the rules of iptables. */
  readonly rules: readonly string[];
  readonly namespaces: readonly string[];
  /** Settings that the network changes, and gives back. */
  readonly sysctls: readonly string[];
  /** What conntrack remembers of pods and Services. */
  readonly connections: readonly string[];
  /** Names in the agent's folder. */
  readonly files: readonly string[];
  /** Addresses of pods in what the agent keeps there, which it writes with a delay of half a minute. */
  readonly kept: readonly string[];
}

export interface NetworkAccountOptions {
  /** The agent's own folder. */
  readonly nodeDir: string;
  /** What the node's pods have addresses of. */
  readonly pods: AddressRange;
  readonly services: AddressRange;
  /** Whether what the agent keeps counts. */
  readonly withKept: boolean;
}

export async function takeNetworkAccount({ nodeDir, pods, services, withKept }: NetworkAccountOptions): Promise<NetworkAccount> {
  // The first is the range's own, the second the gateway's.
  const isOfPod = (address: string): boolean => {
    const at = addressNumber(address) ?? -1;
    return isInRange(pods, at) && at > pods.first + 1;
  };
  const isOfService = (address: string): boolean => isInRange(services, addressNumber(address) ?? -1);
  const [links, addresses, routes, neighbours, rules, iptables, flows] = await Promise.all([
    lines('ip', '-oneline', 'link'),
    lines('ip', '-oneline', '-4', 'address'),
    lines('ip', '-4', 'route', 'show', 'table', 'all'),
    lines('ip', '-4', 'neighbour', 'show', 'nud', 'permanent'),
    lines('nft', '-s', 'list', 'ruleset'),
    lines('iptables-save'),
    lines('conntrack', '-L', '-f', 'ipv4'),
  ]);
  const files = filesBelow(nodeDir);
  const namesOf = (line: string): string => line.match(/^\d+: ([^:@]+)/)?.[1] ?? line;
  return {
    links: links.map(namesOf),
    addresses: addresses.map((line) => line.split(/\s+/).slice(1, 4).join(' ')),
    routes: [...routes, ...neighbours],
    // A table that is built anew has another number. What is in sets stands in lines of several.
    rules: [...rules, ...iptables.filter((line) => line.startsWith('-'))]
      .flatMap((line) => line.replaceAll(/(berth[\w-]*_)\d+\b/g, '$1N').split(/[,{}]/))
      // The port of the way to the API server is any that was free.
      .map((part) => part.trim().replace(/(10\.43\.0\.1 \. tcp \. 443 .* \. )\d+$/, '$1PORT'))
      .filter(Boolean),
    // The engine removes the files later, and keeps that of the machine's own.
    namespaces: readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => /^nsfs \/run\/docker\/netns\/(?!default )/.test(line)),
    sysctls: readSysctls(routes),
    connections: flows
      .map((line) => line.replace(/^(\w+\s+\d+ )\d+ /, '$1'))
      .filter((line) => addressesIn(line).some((each) => isOfPod(each) || isOfService(each))),
    files: files.filter((path) => !path.endsWith('.json')),
    kept: withKept
      ? files
          .filter((path) => path.endsWith('.json'))
          .flatMap((path) => addressesIn(readFileSync(join(nodeDir, path), 'utf8')).filter(isOfPod))
      : [],
  };
}

/** What there is that was not there before: a line each. What went is no leak: others use the machine as well. */
export function leaksBetween(before: NetworkAccount, now: NetworkAccount): string[] {
  return (Object.keys(before) as (keyof NetworkAccount)[]).flatMap((name) =>
    without(now[name], before[name]).map((each) => `${name}: ${each}`),
  );
}

/** What came or went, but connections, which end by themselves, and what the agent writes with a delay. */
export function differencesBetween(before: NetworkAccount, now: NetworkAccount): string[] {
  const lasting = (account: NetworkAccount): NetworkAccount => ({ ...account, connections: [], kept: [] });
  return [...leaksBetween(before, now), ...leaksBetween(lasting(now), lasting(before)).map((each) => `gone: ${each}`)];
}

/** What of others uses the machine's network: network namespaces, and containers but those of one node. */
export async function othersHere(nodeName: string): Promise<string[]> {
  const own = `label=io.berth.node=${nodeName}`;
  const [namespaces, all, ours] = await Promise.all([
    lines('ip', 'netns', 'list'),
    lines('docker', 'ps', '-q'),
    lines('docker', 'ps', '-q', '--filter', own),
  ]);
  return [...namespaces, ...all.filter((id) => !ours.includes(id))];
}

/** Of the machine, of links that it has by itself, and of those that are to come. */
function readSysctls(routes: readonly string[]): string[] {
  const uplinks = routes.flatMap((line) => /^default .*dev (\S+)/.exec(line)?.[1] ?? []);
  const ofLinks = ['all', 'default', 'lo', ...new Set(uplinks)].flatMap((link) =>
    ['rp_filter', 'route_localnet', 'arp_ignore', 'accept_local', 'forwarding'].map((name) => `net/ipv4/conf/${link}/${name}`),
  );
  return ['net/ipv4/ip_forward', ...ofLinks].map((name) => `${name} = ${readFileSync(`/proc/sys/${name}`, 'utf8').trim()}`);
}

/** The lines of one list that another does not have; a line that stands twice counts twice. */
function without(list: readonly string[], others: readonly string[]): string[] {
  const rest = new Map<string, number>();
  for (const each of others) rest.set(each, (rest.get(each) ?? 0) + 1);
  return list.filter((each) => {
    const left = rest.get(each) ?? 0;
    rest.set(each, left - 1);
    return left <= 0;
  });
}

const addressesIn = (text: string): string[] => text.match(/\b\d+\.\d+\.\d+\.\d+\b/g) ?? [];

const filesBelow = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];

async function lines(program: string, ...args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}
