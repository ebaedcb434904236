import { compareVersions } from '../../api/kinds/custom-resource-definition/meaning.ts';
import type { ServedGroups } from '../http/discovery/discovery.ts';
import type { Resource } from '../http/subresources.ts';
import { priorityOfGroup, priorityOfVersion } from './local-groups.ts';
import type { RemoteGroup, RemoteGroups } from './remote-groups.ts';

type Versions = ReadonlyMap<string, readonly Resource[]>;

/**
 * What the server serves and what extension servers serve, as discovery tells of it: by what these said last, so that
 * none of them is waited for. Groups of theirs stand where their priority puts them.
 */
export function mergedGroups(served: ServedGroups, remote: RemoteGroups): ServedGroups {
  if (remote.size === 0) return served;
  const byGroup = new Map<string, RemoteGroup[]>();
  for (const each of remote) byGroup.set(each.group, [...(byGroup.get(each.group) ?? []), each]);
  const merged: { readonly group: string; readonly priority: number; readonly versions: Versions }[] = [];
  for (const [group, versions] of served) {
    const theirs = byGroup.get(group) ?? [];
    merged.push({ group, priority: priorityOfGroup(group), versions: withVersions(group, versions, theirs, remote) });
  }
  for (const [group, theirs] of [...byGroup].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (served.has(group)) continue;
    const priority = Math.max(...theirs.map(({ spec }) => spec.groupPriorityMinimum ?? 0));
    const at = merged.findIndex((each) => each.priority < priority);
    const versions = withVersions(group, new Map(), theirs, remote);
    merged.splice(at < 0 ? merged.length : at, 0, { group, priority, versions });
  }
  return new Map(merged.map(({ group, versions }) => [group, versions]));
}

function withVersions(group: string, own: Versions, theirs: readonly RemoteGroup[], remote: RemoteGroups): Versions {
  if (theirs.length === 0) return own;
  const all = new Map(
    [...own].map(([version, resources]) => [version, { resources, priority: priorityOfVersion(group, version) }]),
  );
  for (const each of theirs)
    all.set(each.version, { resources: remote.contentsOf(each).resources, priority: each.spec.versionPriority ?? 0 });
  const sorted = [...all].sort(([a, { priority: of }], [b, { priority: other }]) => other - of || compareVersions(a, b));
  return new Map(sorted.map(([version, { resources }]) => [version, resources]));
}

/** Whether what discovery tells of a version is not what its server says now. */
export function isStale(remote: RemoteGroups, group: string, version: string): boolean {
  const found = remote.find(group, version);
  return found !== undefined && !remote.contentsOf(found).isCurrent;
}
