import { groupOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { KindStores } from '../registry/kind-stores.ts';
import { virtualResources, virtualSubresources } from './virtual-resources.ts';

type ServedStores = Pick<KindStores, 'versionsOf'> & Iterable<{ readonly id: string; readonly kind: Kind }>;

interface Resource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const parts = ['get', 'patch', 'update'];

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

/** The served versions of each group but the core, the preferred ones first. */
function groupsOf(stores: ServedStores): Map<string, readonly string[]> {
  const groups = new Map<string, Set<string>>();
  for (const { id, kind } of stores) {
    const group = groupOf(kind.apiVersion);
    if (group === '') continue;
    const versions = groups.get(group) ?? new Set();
    for (const each of [kind.apiVersion, ...stores.versionsOf(id)]) versions.add(versionOf(each));
    groups.set(group, versions);
  }
  for (const { apiVersion } of virtualResources) {
    const group = groupOf(apiVersion);
    if (group !== '') groups.set(group, (groups.get(group) ?? new Set()).add(versionOf(apiVersion)));
  }
  return new Map([...groups].sort().map(([group, versions]) => [group, [...versions].sort(compareVersions)]));
}

/** What /api answers. */
export const coreVersions = (address: string): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

/** What /apis answers. */
export function groupList(stores: ServedStores): object {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...groupsOf(stores)].map((entry) => groupObject(entry)) };
}

/** What /apis/GROUP answers; undefined for a group that there is not. */
export function apiGroup(stores: ServedStores, group: string): object | undefined {
  const versions = groupsOf(stores).get(group);
  return versions && { kind: 'APIGroup', apiVersion: 'v1', ...groupObject([group, versions]) };
}

function groupObject([name, versions]: readonly [string, readonly string[]]) {
  const named = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: named, preferredVersion: named[0] };
}

/** What /api/v1 and /apis/GROUP/VERSION answer; undefined where nothing is served in that version. */
export function resourceList(stores: ServedStores, groupVersion: string): object | undefined {
  const resources = resourcesOf(stores, groupVersion);
  return resources.length === 0 ? undefined : { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function resourcesOf(stores: ServedStores, groupVersion: string): Resource[] {
  const found: Resource[] = [];
  for (const { id, kind } of stores)
    if (kind.apiVersion === groupVersion || stores.versionsOf(id).includes(groupVersion)) found.push(...resourcesOfKind(kind));
  for (const { apiVersion, resource: name, singular: singularName, namespaced, kind, verbs } of virtualResources)
    if (apiVersion === groupVersion) found.push({ name, singularName, namespaced, kind, verbs });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function resourcesOfKind(kind: Kind): Resource[] {
  const { plural, singular, namespaced, shortNames, categories = [], hasStatus, scale, subresources = {} } = kind;
  const part = (name: string, more: Partial<Resource> = {}): Resource => ({
    ...{ name: `${plural}/${name}`, singularName: '', namespaced, kind: kind.kind, verbs: parts },
    ...more,
  });
  const own = groupOf(kind.apiVersion) === '' ? (virtualSubresources[plural] ?? []) : [];
  return [
    {
      ...{ name: plural, singularName: singular, namespaced, kind: kind.kind, verbs },
      ...(shortNames.length > 0 ? { shortNames } : {}),
      ...(categories.length > 0 ? { categories } : {}),
    },
    ...(hasStatus ? [part('status')] : []),
    ...(scale ? [part('scale', { group: 'autoscaling', version: 'v1', kind: 'Scale' })] : []),
    ...Object.keys(subresources).map((name) => part(name)),
    ...own.map(({ name, ...more }) => part(name, { ...more, verbs: ['create'] })),
  ];
}
