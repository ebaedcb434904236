import type { Affinity, Container, ContainerStatus, Pod, PodSpec } from '../api/generated/types.ts';
import { equalResources } from '../api/kinds/pod/resize.ts';
import { crossesNamespaces } from '../api/kinds/resource-quota/quota-scopes.ts';
import { createLru } from '../api/meta/lru.ts';

type Asks = Pick<
  PodSpec,
  'containers' | 'initContainers' | 'resources' | 'overhead' | 'priorityClassName' | 'activeDeadlineSeconds'
>;

/** Pods of one template ask for the same, which is kept once; a cluster has fewer templates than this. */
const shared = createLru<Asks>(10_000);

/**
 * What a pod asks for, and what quotas, autoscalers and services read besides: the same value for pods that ask for the
 * same.
 */
export function asksOf({ spec = {} }: Pod): Asks {
  const { containers, initContainers, resources, overhead, priorityClassName, activeDeadlineSeconds } = spec;
  const asks: Asks = {
    ...(containers && { containers: containers.map(askOf) }),
    ...(initContainers && { initContainers: initContainers.map(askOf) }),
    ...(resources && { resources }),
    ...(overhead && { overhead }),
    ...(priorityClassName && { priorityClassName }),
    ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
  };
  const text = JSON.stringify(asks);
  const known = shared.get(text);
  if (known) return known;
  shared.set(text, asks);
  return asks;
}

function askOf({ name, resources, restartPolicy, ports = [] }: Container): Container {
  const { requests, limits } = resources ?? {};
  const named = ports.flatMap(({ name: port, containerPort, protocol }) =>
    port ? [{ name: port, ...(containerPort && { containerPort }), ...(protocol && { protocol }) }] : [],
  );
  return {
    ...(name && { name }),
    ...((requests || limits) && { resources: { ...(requests && { requests }), ...(limits && { limits }) } }),
    ...(restartPolicy && { restartPolicy }),
    ...(named.length > 0 && { ports: named }),
  };
}

/** The rules about other pods of an affinity, where they look at other namespaces. */
export function affinityElsewhere(affinity: Affinity | undefined): Affinity {
  if (!crossesNamespaces(affinity)) return {};
  const { podAffinity, podAntiAffinity } = affinity!;
  return { ...(podAffinity && { podAffinity }), ...(podAntiAffinity && { podAntiAffinity }) };
}

/** What a container was given and has, where that is not what it asks for. */
export function heldOf({ spec = {} }: Pod, { name, allocatedResources, resources }: ContainerStatus): ContainerStatus {
  const ask = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].find((each) => each.name === name);
  const requests = { requests: ask?.resources?.requests ?? {} };
  const differs = (held: Container['resources']): boolean => !equalResources(requests, { requests: held?.requests ?? {} });
  return {
    ...(allocatedResources && differs({ requests: allocatedResources }) && { allocatedResources }),
    ...(resources?.requests && differs(resources) && { resources: { requests: resources.requests } }),
  };
}
