import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Logger } from 'pino';
import type { ConfigMap, Service } from '../api/generated/types.ts';
import { kubernetesService } from '../api/meta/control-plane.ts';
import { serviceLabels } from '../api/meta/service-names.ts';
import { clusterInfo, namespaces } from '../api/meta/well-known.ts';
import { bracketed, isEverywhere, isLoopback, splitListen } from './listen-address.ts';
import type { HeldCertificates } from './pki/held-certificates.ts';
import type { AnyObject } from './registry/any-object.ts';
import { keepOwnObjects, type OwnObject, type Wanted } from './registry/keepers/own-objects.ts';
import type { Registry } from './registry/registry.ts';

/** Where Kubernetes' HTTP API is served, as other machines know it. */
export interface DoorPlace {
  readonly address: string;
  readonly port: number;
  /** Whether it answers there: a door that is for programs of its own machine does not. */
  readonly isReady: boolean;
}

const mark: Readonly<Record<string, string>> = { component: 'apiserver', provider: kubernetesService.name };
const role = 'kubeadm:bootstrap-signer-clusterinfo';

/**
 * Where the door is, from where it listens, the advertised address and the machine's own ones. Pure. Endpoints have no
 * loopback addresses: a door that listens at one is told of at an address of its machine, as not ready.
 */
export function decideDoorPlace(listen: string, advertised: string | undefined, own: readonly string[]): DoorPlace | undefined {
  const { host, port } = splitListen(listen);
  if (advertised !== undefined && isIP(advertised) && !isLoopback(advertised))
    return { address: advertised, port, isReady: true };
  if (isIP(host) && !isLoopback(host) && !isEverywhere(host)) return { address: host, port, isReady: true };
  const [address] = own;
  return address === undefined ? undefined : { address, port, isReady: isEverywhere(host) };
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list = []) =>
    list.flatMap(({ address, family, internal }) => (family === 'IPv4' && !internal ? [address] : [])),
  );
}

/** The kubeconfig of ConfigMap cluster-info, as kubeadm has it: without users. */
export function clusterInfoText(server: string, authorities: string): string {
  const trusted = Buffer.from(authorities).toString('base64');
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${trusted}
    server: ${server}
  name: ""
contexts: null
current-context: ""
kind: Config
preferences: {}
users: null
`;
}

export interface KeepDoorPlaceOptions {
  readonly registry: Registry;
  /** Where the door listens, HOST:PORT; undefined: nowhere. */
  readonly listen: string | undefined;
  readonly advertised: string | undefined;
  readonly certificates: Pick<HeldCertificates, 'trusted' | 'observe'>;
  readonly log: Logger;
}

/**
 * Keeps what says where Kubernetes' HTTP API is: Endpoints and EndpointSlice of the Service `kubernetes`, and the
 * ConfigMap cluster-info with the right to read it. Agents lead pods there by themselves, and need none of it.
 */
export async function keepDoorPlace(
  options: KeepDoorPlaceOptions,
  signal: AbortSignal,
): Promise<{ readonly ended: Promise<unknown> }> {
  const { registry, certificates, log } = options;
  const { namespace, name } = kubernetesService;
  const endpoints = await keepOwnObjects(
    {
      ...{ registry, log, what: 'the endpoints of the API server', objects: endpointObjects(options) },
      dependsOn: [{ kind: 'Service', namespace, name }],
    },
    signal,
  );
  const objects = clusterInfoObjects(options);
  const info = await keepOwnObjects({ registry, log, what: 'the ConfigMap cluster-info', objects }, signal);
  const leave = certificates.observe(info.wake);
  return { ended: Promise.all([endpoints.ended, info.ended]).finally(leave) };
}

function endpointObjects({ registry, listen, advertised }: KeepDoorPlaceOptions): OwnObject[] {
  const { namespace, name, portName } = kubernetesService;
  /** A Service of that name that a user made has the user's endpoints. */
  const isServed = async (): Promise<boolean> => {
    const store = registry.stores.get('Service');
    const entry = await store?.read({ namespace, name });
    const { metadata } = entry && store ? (store.cache.decoder.decode(entry) as Service) : {};
    return metadata?.labels?.provider === mark.provider;
  };
  const kept =
    (labels: Readonly<Record<string, string>>, fieldsOf: (place: DoorPlace) => object): OwnObject['wanted'] =>
    async (stored) => {
      const place = listen === undefined ? undefined : decideDoorPlace(listen, advertised, ownAddresses());
      if (place && (await isServed())) return { labels: { ...mark, ...labels }, fields: fieldsOf(place) };
      return isMarked(stored) ? 'none' : 'leave';
    };
  return [
    {
      ...{ kind: 'Endpoints', namespace, name },
      wanted: kept({ [serviceLabels.skipMirror]: 'true' }, ({ address, port, isReady }) => ({
        subsets: [
          {
            [isReady ? 'addresses' : 'notReadyAddresses']: [{ ip: address }],
            ports: [{ name: portName, port, protocol: 'TCP' }],
          },
        ],
      })),
    },
    {
      ...{ kind: 'EndpointSlice', namespace, name },
      wanted: kept({ [serviceLabels.serviceName]: name }, ({ address, port, isReady }) => ({
        addressType: isIP(address) === 6 ? 'IPv6' : 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: isReady } }],
        ports: [{ name: portName, port, protocol: 'TCP' }],
      })),
    },
  ];
}

function clusterInfoObjects({ listen, advertised, certificates }: KeepDoorPlaceOptions): OwnObject[] {
  const namespace = namespaces.public;
  const { configMap, key } = clusterInfo;
  const group = 'rbac.authorization.k8s.io';
  const always =
    (fields: object): OwnObject['wanted'] =>
    () => ({ labels: mark, fields });
  const configMapOf = (stored: ConfigMap | undefined): Wanted => {
    if (listen === undefined) return isMarked(stored) ? 'none' : 'leave';
    const place = decideDoorPlace(listen, advertised, []);
    const { host, port } = splitListen(listen);
    const url = bracketed(place?.address ?? (isEverywhere(host) ? (ownAddresses()[0] ?? host) : host));
    const text = clusterInfoText(`https://${url}:${place?.port ?? port}`, certificates.trusted());
    return { labels: mark, fields: { data: { ...stored?.data, [key]: text } } };
  };
  return [
    { kind: 'ConfigMap', namespace, name: configMap, wanted: configMapOf },
    {
      ...{ kind: 'Role', namespace, name: role },
      wanted: always({ rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: [configMap] }] }),
    },
    {
      ...{ kind: 'RoleBinding', namespace, name: role },
      wanted: always({
        roleRef: { apiGroup: group, kind: 'Role', name: role },
        subjects: [{ kind: 'Group', apiGroup: group, name: 'system:authenticated' }],
      }),
    },
  ];
}

const isMarked = (stored: AnyObject | undefined): boolean =>
  Object.entries(mark).every(([key, value]) => stored?.metadata?.labels?.[key] === value);
