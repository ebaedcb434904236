import { once } from 'node:events';
import { BlockList, connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { badRequest, notFound, unavailable } from '../../../api/errors/index.ts';
import type { EndpointSlice, Pod, Service } from '../../../api/generated/types.ts';
import { startTimeout } from '../../../api/meta/timeout.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { slicesOf } from '../../registry/service-slices.ts';
import { connectPod } from '../../tunnel/pod-connection.ts';
import { findTarget } from '../../tunnel/stream-target.ts';
import type { TunnelCaller, Tunnels } from '../../tunnel/tunnels.ts';
import type { ProxyName } from './proxy-name.ts';

/** What a request is passed on to. */
export interface ProxyTarget {
  readonly scheme: 'http' | 'https';
  /** ADDRESS:PORT, under which the other side may know itself. */
  readonly host: string;
  /** The address with what it belongs to: a connection to the endpoint is one to no other. */
  readonly endpoint: string;
  /** Opens a connection; the caller closes it. */
  dial(caller: TunnelCaller): Promise<Duplex>;
}

export interface ProxyDeps {
  readonly pods: KindStore;
  readonly services: KindStore;
  readonly slices: KindStore;
  readonly tunnels: Tunnels;
  readonly random: () => number;
}

const defaultPorts = { http: 80, https: 443 } as const;

/** A port of a pod: the given one, the first that a container names, or that of the scheme. */
export async function podTarget(
  { pods, tunnels }: ProxyDeps,
  namespace: string,
  { scheme, name, port }: ProxyName,
): Promise<ProxyTarget> {
  const { node, uid, pod } = await findTarget(pods, { namespace, name });
  const named = pod.spec?.containers?.flatMap(({ ports = [] }) => ports)[0]?.containerPort;
  const number = port === '' ? (named ?? defaultPorts[scheme]) : portNumber(port);
  const host = hostOf(pod.status?.podIP ?? name, number);
  return {
    ...{ scheme, host, endpoint: `${host} ${uid}` },
    dial: (caller) => connectPod(tunnels, { node, namespace, name, uid, port: number }, caller),
  };
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw badRequest(`"${text.slice(0, 100)}" is no port of a pod: give a number from 1 to 65535`);
  return port;
}

const hostOf = (address: string, port: number): string => `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;

/** One of the ready endpoints of a Service, by chance. Throws NOT_FOUND, and UNAVAILABLE as Kubernetes says it. */
export async function serviceTarget(deps: ProxyDeps, namespace: string, { scheme, name, port }: ProxyName): Promise<ProxyTarget> {
  const { services, slices, random } = deps;
  const entry = await services.read({ namespace, name });
  if (!entry) throw notFound({ kind: 'Service', namespace, name });
  const portName = portNameOf(services.cache.decoder.decode(entry) as Service, port);
  await slices.fresh();
  const all = slicesOf(slices, { namespace, name }).flatMap((each) => endpointsOf(each, portName));
  const chosen = all[Math.floor(random() * all.length)];
  if (!chosen) throw unavailable(`no endpoints available for service "${name}"`);
  const host = hostOf(chosen.address, chosen.port);
  const endpoint = `${host} ${chosen.pod?.uid ?? ''}`;
  return { scheme, host, endpoint, dial: (caller) => dialEndpoint(deps, namespace, chosen, caller) };
}

/** Ports of endpoints have the names of the Service's; a number is the port of the Service itself. */
function portNameOf({ metadata, spec }: Service, port: string): string {
  if (!/^\d+$/.test(port)) return port;
  const found = spec?.ports?.find((each) => each.port === Number(port));
  if (!found) throw unavailable(`no service port ${port} found for service "${metadata?.name ?? ''}"`);
  return found.name ?? '';
}

interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** Of a pod. */
  readonly pod: { readonly name: string; readonly uid: string } | undefined;
}

function endpointsOf({ endpoints = [], ports = [] }: EndpointSlice, portName: string): Endpoint[] {
  const port = ports.find((each) => (each.name ?? '') === portName)?.port;
  if (port === undefined) return [];
  return endpoints.flatMap(({ addresses = [], conditions, targetRef }) => {
    const [address] = addresses;
    if (address === undefined || conditions?.ready === false) return [];
    const { kind, name, uid } = targetRef ?? {};
    return [{ address, port, pod: kind === 'Pod' && name && uid ? { name, uid } : undefined }];
  });
}

/** Whether a slice has an endpoint that is ready, with a port of that name. */
export const hasReadyEndpoint = (slice: EndpointSlice, portName: string): boolean => endpointsOf(slice, portName).length > 0;

/**
 * A pod is reached through the agent of its node. What a slice says of it is only believed where the pod says the same:
 * users may write slices. Other addresses are reached from this machine, but as in Kubernetes none that mean something
 * else there than elsewhere.
 */
async function dialEndpoint(
  { pods, tunnels }: ProxyDeps,
  namespace: string,
  { address, port, pod }: Endpoint,
  caller: TunnelCaller,
): Promise<Duplex> {
  if (pod) {
    const entry = await pods.read({ namespace, name: pod.name });
    const found = entry && (pods.cache.decoder.decode(entry) as Pod);
    const node = found?.spec?.nodeName;
    if (!found || !node || found.metadata?.uid !== pod.uid) throw new Error(`pod "${pod.name}" is gone`);
    return connectPod(tunnels, { node, namespace, name: pod.name, uid: pod.uid, port }, caller);
  }
  if (!isProxyable(address)) throw badRequest('address not allowed');
  return connectWithin(() => connect({ host: address, port }), hostOf(address, port), { ms: dialMs, signal: caller.signal });
}

/** As long as Kubernetes dials. */
const dialMs = 30_000;

/** A socket that has connected. Throws where it does not within the time, or before the signal aborts. */
export async function connectWithin(
  open: () => Socket,
  host: string,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<Socket> {
  signal.throwIfAborted();
  const late = startTimeout(ms);
  const socket = open();
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, late.signal]) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw late.signal.aborted ? new Error(`dial tcp ${host}: i/o timeout`) : error;
  } finally {
    late.clear();
  }
}

/** A list for each version: IPv6 has a range that means all of IPv4. */
const refused = { ipv4: new BlockList(), ipv6: new BlockList() } as const;
for (const range of ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3']) refuse('ipv4', range);
for (const range of ['::/127', '::ffff:0:0/96', 'fe80::/10', 'ff00::/8']) refuse('ipv6', range);

function refuse(version: keyof typeof refused, range: string): void {
  const [net = '', bits] = range.split('/');
  refused[version].addSubnet(net, Number(bits), version);
}

/** Not of a loopback, a link, or many: a global address in Go's words, private ones among them. */
export function isProxyable(address: string): boolean {
  const version = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return isIP(address) !== 0 && !refused[version].check(address, version);
}
