import type { Pod } from '../../api/generated/types.ts';
import { controlPlaneName, controlPlaneService } from '../../api/meta/control-plane.ts';

/** What resolv.conf(5) says. */
export interface Resolver {
  readonly nameservers: readonly string[];
  readonly searches: readonly string[];
  /** As they stand there: "ndots:5", "edns0". */
  readonly options: readonly string[];
}

/** What the resolver of a pod is, and what Kubernetes' bounds left out of it, in its words. */
export interface PodResolver {
  readonly text: string;
  readonly problems: readonly string[];
}

const most = { nameservers: 3, searches: 32, searchLine: 2048 } as const;

export function parseResolvConf(text: string): Resolver {
  const words = text
    .split('\n')
    .map((line) =>
      line
        .replace(/[#;].*$/, '')
        .trim()
        .split(/\s+/),
    )
    .filter(([key = '']) => key !== '');
  const last = (keys: readonly string[]) =>
    words
      .filter(([key = '']) => keys.includes(key))
      .at(-1)
      ?.slice(1) ?? [];
  return {
    nameservers: words.filter(([key]) => key === 'nameserver').flatMap(([, server]) => server ?? []),
    searches: last(['search', 'domain']),
    options: words.filter(([key]) => key === 'options').flatMap(([, ...options]) => options),
  };
}

/** Where the names of the cluster are answered. */
export interface ClusterNames {
  readonly nameservers: readonly string[];
  /** "cluster.local". */
  readonly domain: string;
  /** The address of the API server's Service. */
  readonly controlPlane: string;
}

/**
 * The resolv.conf of a pod's containers; undefined where the engine's will do, which is the machine's, in the machine's
 * network. Where nothing answers the cluster's names, ClusterFirst means Default. Pure.
 */
export function computeResolvConf(pod: Pod, machine: Resolver, cluster?: ClusterNames): PodResolver | undefined {
  const { dnsPolicy, dnsConfig, hostNetwork } = pod.spec ?? {};
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  const isEmpty = nameservers.length + searches.length + options.length === 0;
  const isInCluster = cluster !== undefined && isClusterFirst(pod);
  if (dnsPolicy !== 'None' && isEmpty && !isInCluster && hostNetwork === true) return undefined;
  const own = hostNetwork === true ? machine : reachable(machine, cluster);
  const names = isInCluster ? { ...cluster, nameservers: besides(cluster.nameservers, nameservers) } : undefined;
  const first = names ? inCluster(names, own, pod.metadata?.namespace ?? '') : own;
  const base = dnsPolicy === 'None' ? { nameservers: [], searches: [], options: [] } : first;
  const written = options.map(({ name = '', value }) => (value === undefined || value === '' ? name : `${name}:${value}`));
  const merged = {
    nameservers: unique([...base.nameservers, ...nameservers]),
    searches: unique([...base.searches, ...searches]),
    options: mergeOptions(base.options, written),
  };
  const fit = bounded(merged);
  return { text: print(fit), problems: problemsOf(merged, fit) };
}

/** Where a pod reaches the API server, by name where its resolver knows the cluster's names. Pure. */
export function computeApiAddress(pod: Pod, cluster: ClusterNames | undefined): string | undefined {
  if (cluster === undefined) return undefined;
  return `${isClusterFirst(pod) ? controlPlaneName : cluster.controlPlane}:${controlPlaneService.port}`;
}

/** A pod in the machine's network has to say that it means the cluster's names, as in Kubernetes. */
function isClusterFirst({ spec: { dnsPolicy = 'ClusterFirst', hostNetwork } = {} }: Pod): boolean {
  return dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && hostNetwork !== true);
}

/**
 * In Kubernetes the cluster has one name server, so that a pod may name two: what the cluster has besides gives way to
 * them.
 */
function besides(servers: readonly string[], own: readonly string[]): readonly string[] {
  const others = own.filter((server) => !servers.includes(server)).length;
  return servers.slice(0, Math.max(1, most.nameservers - others));
}

/** Kubernetes' search path, and after it the machine's. A name with fewer dots is looked for below each of them. */
function inCluster({ nameservers, domain }: ClusterNames, machine: Resolver, namespace: string): Resolver {
  const searches = [`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...machine.searches];
  return { nameservers, searches, options: ['ndots:5'] };
}

/**
 * Name servers at the machine's own loopback address are not there in another network. Where there is no other, the
 * node's own resolver asks them.
 */
function reachable(machine: Resolver, cluster: ClusterNames | undefined): Resolver {
  const left = machine.nameservers.filter((server) => !server.startsWith('127.') && server !== '::1');
  return { ...machine, nameservers: left.length > 0 ? left : (cluster?.nameservers ?? []) };
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)];
}

/** The pod's word on an option replaces the machine's. */
function mergeOptions(base: readonly string[], own: readonly string[]): string[] {
  const byName = new Map([...base, ...own].map((option) => [option.split(':', 1)[0], option]));
  return [...byName.values()];
}

function bounded({ nameservers, searches, options }: Resolver): Resolver {
  const fitting: string[] = [];
  for (const domain of searches.slice(0, most.searches)) {
    if ([...fitting, domain].join(' ').length > most.searchLine) break;
    fitting.push(domain);
  }
  return { nameservers: nameservers.slice(0, most.nameservers), searches: fitting, options };
}

function problemsOf(wanted: Resolver, fit: Resolver): string[] {
  const problems: string[] = [];
  if (wanted.nameservers.length > fit.nameservers.length) {
    const line = fit.nameservers.join(' ');
    problems.push(`Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${line}`);
  }
  if (wanted.searches.length > fit.searches.length) {
    const line = fit.searches.join(' ');
    problems.push(`Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${line}`);
  }
  return problems;
}

function print({ nameservers, searches, options }: Resolver): string {
  const search = searches.length === 0 ? [] : [`search ${searches.join(' ')}`];
  const option = options.length === 0 ? [] : [`options ${options.join(' ')}`];
  return [...search, ...nameservers.map((server) => `nameserver ${server}`), ...option, ''].join('\n');
}
