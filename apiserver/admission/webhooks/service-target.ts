import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EndpointSlice, Service, ServiceReference, WebhookClientConfig } from '../../../api/generated/types.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { slicesOf } from '../../registry/service-slices.ts';
import { WebhookFailure } from './review.ts';
import type { WebhookTarget } from './webhook-client.ts';

/** A port of a pod that serves a webhook; without a pod, of an address. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  readonly pod: { readonly node: string; readonly namespace: string; readonly name: string; readonly uid: string } | undefined;
}

export interface ServiceDeps {
  readonly services: KindStore;
  readonly slices: KindStore;
  readonly random: () => number;
  /** Connects to a port of a pod through the agent of its node: the server's machine needs no way to the pods. */
  connectPod(endpoint: Endpoint & { readonly pod: NonNullable<Endpoint['pod']> }, signal: AbortSignal): Promise<Duplex>;
}

/** How a webhook is reached: by its URL, or by its Service, whose certificate is for NAME.NAMESPACE.svc. */
export function webhookTarget({ url, service, caBundle }: WebhookClientConfig, deps: ServiceDeps): WebhookTarget {
  const ca = caBundle && caBundle.length > 0 ? Buffer.from(caBundle) : undefined;
  if (!service) return { url: url ?? '', ca };
  const { namespace = '', name = '', path = '', port = 443 } = service;
  const at = `https://${name}.${namespace}.svc:${port}/${path.replace(/^\//, '')}`;
  return { url: at, ca, dial: (signal) => dialService(service, deps, signal) };
}

async function dialService(reference: ServiceReference, deps: ServiceDeps, signal: AbortSignal): Promise<Duplex> {
  const endpoint = await findEndpoint(reference, deps);
  const { pod } = endpoint;
  if (pod) return deps.connectPod({ ...endpoint, pod }, signal);
  const socket = connect({ host: endpoint.address, port: endpoint.port, signal });
  await once(socket, 'connect', { signal });
  return socket;
}

/** One of the ready endpoints, by chance. Throws WebhookFailure when there is none. */
export async function findEndpoint(
  { namespace = '', name = '', port = 443 }: ServiceReference,
  deps: ServiceDeps,
): Promise<Endpoint> {
  const { services, slices, random } = deps;
  const entry = await services.read({ namespace, name });
  if (!entry) throw new WebhookFailure(`service "${name}" in namespace "${namespace}" not found`);
  const { spec } = services.cache.decoder.decode(entry) as Service;
  const servicePort = spec?.ports?.find((each) => each.port === port);
  if (!servicePort) throw new WebhookFailure(`service "${name}" in namespace "${namespace}" has no port ${port}`);
  const all = slicesOf(slices, { namespace, name }).flatMap((each) => endpointsOf(each, servicePort.name ?? '', namespace));
  const chosen = all[Math.floor(random() * all.length)];
  if (!chosen) throw new WebhookFailure(`no endpoints available for service "${name}" in namespace "${namespace}"`);
  return chosen;
}

function endpointsOf({ endpoints = [], ports = [] }: EndpointSlice, portName: string, namespace: string): Endpoint[] {
  const port = ports.find((each) => (each.name ?? '') === portName)?.port;
  if (port === undefined) return [];
  return endpoints.flatMap(({ addresses = [], conditions, targetRef, nodeName: node }) => {
    const [address] = addresses;
    if (address === undefined || conditions?.ready === false) return [];
    const { kind, name, uid } = targetRef ?? {};
    const pod = kind === 'Pod' && name && uid && node ? { node, namespace, name, uid } : undefined;
    return [{ address, port, pod }];
  });
}
