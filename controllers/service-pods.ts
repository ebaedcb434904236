import type { Node, Pod, Service } from '../api/generated/types.ts';
import { objectKey } from '../api/meta/key.ts';
import type { Informer, Lister } from '../client/index.ts';
import { changesOf, type Source } from './controller.ts';
import { hasOtherRanges } from './node-pod-ranges.ts';

type Labels = Readonly<Record<string, string>>;

const pair = (namespace: string, key: string, value: string): string => `${namespace}/${key}=${value}`;

/** Services by one term of their selector, so that a pod finds those that may select it by its labels. */
export const serviceIndexers = {
  term({ metadata, spec }: Service): readonly string[] {
    const [first] = Object.entries(spec?.selector ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return first ? [pair(metadata?.namespace ?? '', ...first)] : [];
  },
};

function selects({ spec }: Service, labels: Labels): boolean {
  return Object.entries(spec?.selector ?? {}).every(([key, value]) => labels[key] === value);
}

/** Whether the pods of a service are found by a selector; else its endpoints come from elsewhere. */
export function hasSelector({ spec }: Service): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0;
}

/** The pods that a service selects, by name. `pods` has the index "namespace". */
export function podsOfService(pods: Pick<Lister<Pod>, 'byIndex'>, service: Service): Pod[] {
  if (!hasSelector(service)) return [];
  return pods
    .byIndex('namespace', service.metadata?.namespace ?? '')
    .filter(({ metadata }) => selects(service, metadata?.labels ?? {}))
    .toSorted((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
}

/** The keys of the services that select a pod. `services` has `serviceIndexers`. */
export function servicesOfPod(services: Pick<Lister<Service>, 'byIndex'>, { metadata }: Pod): string[] {
  const { labels = {}, namespace = '' } = metadata ?? {};
  return Object.entries(labels).flatMap(([key, value]) =>
    services
      .byIndex('term', pair(namespace, key, value))
      .filter((service) => selects(service, labels))
      .map(objectKey),
  );
}

/** Wakes the services of pods. Of updates only those that change what services look at. */
export function servedPodChanges(pods: Informer<Pod>, services: Pick<Lister<Service>, 'byIndex'>): Source {
  return changesOf(pods, (pod) => servicesOfPod(services, pod), { matters: (next, old) => facts(next) !== facts(old) });
}

/**
 * Wakes the services of pods on a node that gets other ranges: only pods with an address in them are endpoints. `pods`
 * has the index "node".
 */
export function servedNodeChanges(
  nodes: Informer<Node>,
  pods: Pick<Lister<Pod>, 'byIndex'>,
  services: Pick<Lister<Service>, 'byIndex'>,
): Source {
  const servicesOn = ({ metadata }: Node): string[] =>
    pods.byIndex('node', metadata?.name ?? '').flatMap((pod) => servicesOfPod(services, pod));
  return changesOf(nodes, servicesOn, { matters: hasOtherRanges });
}

function facts({ metadata, spec, status }: Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const { uid, labels, deletionTimestamp } = metadata ?? {};
  const { phase, podIP, podIPs, hostIP } = status ?? {};
  return JSON.stringify([uid, labels, deletionTimestamp !== undefined, spec?.nodeName, phase, ready, podIP, podIPs, hostIP]);
}
