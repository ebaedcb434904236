import { createHash } from 'node:crypto';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { KindStores } from '../../registry/kind-stores.ts';
import { partsOfKind, type Resource, standardVerbs } from '../subresources.ts';
import { virtualResources } from './virtual-resources.ts';

interface ServedStore {
  readonly id: string;
  readonly kind: Kind;
  readonly versions?: { readonly of?: { readonly storage?: string } };
}

export type ServedStores = Pick<KindStores, 'versionsOf' | 'find'> & Iterable<ServedStore>;

/** The resources of each version of each group, groups and versions in the order in which clients look through them. */
export type ServedGroups = ReadonlyMap<string, ReadonlyMap<string, readonly Resource[]>>;

/** What comes first where two groups have a resource of the same name; groups of users follow by their names. */
const groupOrder: readonly string[] = [
  ...['', 'apiregistration.k8s.io', 'apps', 'events.k8s.io', 'authentication.k8s.io', 'authorization.k8s.io'],
  ...['autoscaling', 'batch'],
  ...['certificates.k8s.io', 'networking.k8s.io', 'policy', 'rbac.authorization.k8s.io', 'storage.k8s.io'],
  ...['admissionregistration.k8s.io', 'apiextensions.k8s.io', 'scheduling.k8s.io', 'coordination.k8s.io'],
  ...['node.k8s.io', 'discovery.k8s.io', 'flowcontrol.apiserver.k8s.io'],
];

function compareGroups(a: string, b: string): number {
  const place = (group: string): number => (groupOrder.includes(group) ? groupOrder.indexOf(group) : groupOrder.length);
  return place(a) - place(b) || (a < b ? -1 : 1);
}

/** The newest first: v2, v1, v1beta1, v1alpha1, as Kubernetes orders them. */
const stability = (version: string): readonly number[] => {
  const [, major = '0', level, minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  return [level === undefined ? 2 : level === 'beta' ? 1 : 0, Number(major), Number(minor)];
};

function compareVersions(a: string, b: string): number {
  const [left, right] = [stability(a), stability(b)];
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : right[at]! - left[at]!;
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

/** Every kind in every version that it is served in. */
export function* servedKinds(stores: ServedStores): Generator<Kind> {
  for (const store of stores) yield* versionsOfStore(stores, store);
}

function* versionsOfStore(stores: ServedStores, { id, kind }: ServedStore): Generator<Kind> {
  yield kind;
  for (const apiVersion of stores.versionsOf(id)) {
    const { served, kind: own } = stores.find({ kind: kind.kind, apiVersion }) as { served?: Kind; kind: Kind };
    yield served ?? own;
  }
}

/**
 * Stands for the version that objects are stored in: clients that migrate stored objects wait until it changes.
 * Kubernetes' way of making it, though clients are told to compare it only.
 */
function storageVersionHash({ kind: { apiVersion, kind }, versions }: ServedStore): string {
  const version = versions?.of?.storage || versionOf(apiVersion);
  const text = [groupOf(apiVersion), version, kind].join('/');
  return createHash('sha256').update(text).digest().subarray(0, 8).toString('base64');
}

/** All that is served, as discovery tells of it. Made anew for each answer: kinds come and go. */
export function servedGroups(stores: ServedStores): ServedGroups {
  const all = new Map<string, Resource[]>();
  const add = (groupVersion: string, resources: readonly Resource[]): void => {
    const known = all.get(groupVersion);
    if (known) known.push(...resources);
    else all.set(groupVersion, [...resources]);
  };
  for (const { apiVersion, resource: name, singular: singularName, ...rest } of virtualResources)
    add(apiVersion, [{ name, singularName, ...rest }]);
  const isShadowed = ({ apiVersion, kind }: Kind): boolean =>
    virtualResources.some((each) => each.apiVersion === apiVersion && each.kind === kind);
  for (const store of stores) {
    const hash = storageVersionHash(store);
    for (const kind of versionsOfStore(stores, store)) if (!isShadowed(kind)) add(kind.apiVersion, resourcesOfKind(kind, hash));
  }
  const groups = new Map<string, Map<string, readonly Resource[]>>();
  for (const groupVersion of all.keys()) groups.set(groupOf(groupVersion), new Map());
  const sorted = [...all].sort(([a], [b]) => compareVersions(versionOf(a), versionOf(b)));
  for (const [groupVersion, resources] of sorted)
    groups.get(groupOf(groupVersion))!.set(
      versionOf(groupVersion),
      resources.sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
  return new Map([...groups].sort(([a], [b]) => compareGroups(a, b)));
}

function resourcesOfKind(kind: Kind, storageVersionHash: string): Resource[] {
  const { plural, singular, namespaced, shortNames, categories = [] } = kind;
  return [
    {
      ...{ name: plural, singularName: singular, namespaced, kind: kind.kind, verbs: standardVerbs },
      ...(shortNames.length > 0 ? { shortNames } : {}),
      ...(categories.length > 0 ? { categories } : {}),
      storageVersionHash,
    },
    ...partsOfKind(kind),
  ];
}

/** What /api answers. */
export const coreVersions = (address: string): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

/** What /apis answers. */
export function groupList(served: ServedGroups): object {
  const groups = [...served].filter(([group]) => group !== '').map((entry) => groupObject(entry));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

/** What /apis/GROUP answers; undefined for a group that there is not. */
export function apiGroup(served: ServedGroups, group: string): object | undefined {
  const versions = group === '' ? undefined : served.get(group);
  return versions && { kind: 'APIGroup', apiVersion: 'v1', ...groupObject([group, versions]) };
}

function groupObject([name, versions]: readonly [string, ReadonlyMap<string, unknown>]) {
  const named = [...versions.keys()].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: named, preferredVersion: named[0] };
}

/** What /api/v1 and /apis/GROUP/VERSION answer; undefined where nothing is served in that version. */
export function resourceList(served: ServedGroups, groupVersion: string): object | undefined {
  const resources = served.get(groupOf(groupVersion))?.get(versionOf(groupVersion));
  return resources && { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}
