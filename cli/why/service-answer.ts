import type { ContainerPort, EndpointSlice, NetworkPolicy, Pod, Service, ServicePort } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { isControlPlane } from '../../api/meta/control-plane.ts';
import { formatLabels } from '../../api/meta/labels.ts';
import { isBalancedHere, loadBalancerCondition } from '../../api/meta/load-balancers.ts';
import type { Tree } from '../describe/json.ts';
import { groupTroubles } from '../workload/troubles.ts';
import { closedDoors } from './closed-doors.ts';
import type { WhyAnswer, WhyObstacle } from './workload-facts.ts';

/** What an answer about a service is made of. */
export interface ServiceFacts {
  readonly service: Service;
  /** All pods of its namespace, typed and as JSON, in one order. */
  readonly pods: readonly Pod[];
  readonly trees: readonly Tree[];
  /** Its own. */
  readonly slices: readonly EndpointSlice[];
  /** Of its namespace. */
  readonly policies: readonly NetworkPolicy[];
  readonly now: number;
}

/** Whether a service has endpoints, and why not. Pure. */
export function answerOfService({ service, pods, trees, slices, policies, now }: ServiceFacts): WhyAnswer {
  const { metadata = {}, spec = {} } = service;
  const answer = (state: WhyAnswer['state'], said: string, obstacles: WhyObstacle[] = [], notes: string[] = []): WhyAnswer => ({
    kind: 'Service',
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    state,
    headline: `service ${metadata.namespace}/${metadata.name} ${said}.`,
    obstacles,
    notes,
  });
  if (spec.type === 'ExternalName') return answer('up', `stands for the name ${spec.externalName}, and has no pods`);
  const { selector = {} } = spec;
  if (isControlPlane({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' }) && Object.keys(selector).length === 0)
    return answer('up', 'stands for the API server, to which each agent leads the pods of its node, and has no endpoints');
  const shows = `"berth get endpointslices -l kubernetes.io/service-name=${metadata.name}" shows them`;
  const waits = addressObstacles(service);
  if (Object.keys(selector).length === 0) {
    const state = waits.length > 0 ? 'stuck' : 'up';
    return answer(state, `has no selector: its endpoints are those that a user writes (${shows})`, waits);
  }
  const matched = pods.flatMap((pod, i) => (matches(selector, pod) && !isFinished(pod) ? [{ pod, tree: trees[i] ?? {} }] : []));
  const words = formatLabels(selector);
  if (matched.length === 0) return answer('stuck', 'has no endpoints', [nothingMatches(selector, words, pods), ...waits]);
  const left = leftOut(service, matched, slices);
  const serving = matched.filter(({ pod }) => isServing(service, pod) && !left.includes(pod));
  const selected = matched.map(({ pod }) => pod);
  const obstacles = [...waits, ...portObstacles(service, selected), ...unreached(left), ...troubles(matched, now)];
  const notes = [...closedDoors(policies, selected), ...portNotes(service, selected)];
  const counts = `${serving.length} of ${matched.length} pods with ${words} serve`;
  if (lacksAllPorts(service, selected))
    return answer('stuck', `has no endpoints: none of ${matched.length} pods with ${words} has its port`, obstacles, notes);
  if (serving.length === 0) return answer('stuck', `has no endpoint that serves: ${counts}`, obstacles, notes);
  if (obstacles.length === 0) return answer('up', `has endpoints: ${counts}`, [], notes);
  const isStuck = obstacles.some(({ isPassing = false }) => !isPassing);
  return answer(isStuck ? 'stuck' : 'up', `has endpoints, but not all is well: ${counts}`, obstacles, notes);
}

function matches(selector: Readonly<Record<string, string>>, { metadata }: Pod): boolean {
  return Object.entries(selector).every(([key, value]) => metadata?.labels?.[key] === value);
}

function isServing({ spec }: Service, pod: Pod): boolean {
  return pod.status?.podIP
    ? spec?.publishNotReadyAddresses === true || (isPodReady(pod) && !pod.metadata?.deletionTimestamp)
    : false;
}

/** Pods that would serve, and stand in no slice. While there is no slice at all the controllers are behind. */
function leftOut(service: Service, matched: readonly { readonly pod: Pod }[], slices: readonly EndpointSlice[]): Pod[] {
  if (slices.length === 0) return [];
  const listed = new Set(slices.flatMap(({ endpoints = [] }) => endpoints.map(({ targetRef }) => targetRef?.uid)));
  const pods = matched.map(({ pod }) => pod);
  return pods.filter((pod) => isServing(service, pod) && !listed.has(pod.metadata?.uid));
}

function unreached(pods: readonly Pod[]): WhyObstacle[] {
  if (pods.length === 0) return [];
  const what = `${pods.length === 1 ? 'one pod is' : `${pods.length} pods are`} ready, and no endpoint`;
  const [{ metadata, spec, status } = {}] = pods;
  const details = [
    `${metadata?.name} has the address ${status?.podIP} of its engine's network, which other nodes do not reach`,
    `delete it, so that it is made anew in the pods' network; "berth net check ${spec?.nodeName}" says whether its node has one`,
  ];
  return [{ what, pods: pods.map((pod) => pod.metadata?.name ?? ''), details }];
}

/** Why a service of type LoadBalancer has no address at a load balancer, or not the one that it should have. */
function addressObstacles(service: Service): WhyObstacle[] {
  const { spec = {}, status = {} } = service;
  if (spec.type !== 'LoadBalancer') return [];
  const condition = findCondition(status.conditions, loadBalancerCondition);
  const isPending = (status.loadBalancer?.ingress ?? []).length === 0;
  const what = isPending ? 'its EXTERNAL-IP is pending' : 'its EXTERNAL-IP is another than spec.loadBalancerIP';
  if (condition?.status === 'False') return [{ what, pods: [], details: [condition.message ?? ''] }];
  if (!isPending) return [];
  const why = isBalancedHere(service)
    ? 'the controller "load-balancer" has not given it one yet: "berth get leases -n kube-system" shows whether controllers run'
    : `it waits for the load balancer of its class, "${spec.loadBalancerClass}", which is none of Berth's`;
  return [{ what, pods: [], details: [why] }];
}

/** The pod that is nearest says which label differs. */
function nothingMatches(selector: Readonly<Record<string, string>>, words: string, pods: readonly Pod[]): WhyObstacle {
  const live = pods.filter((pod) => !isFinished(pod));
  const agreed = (pod: Pod): number =>
    Object.entries(selector).filter(([key, value]) => pod.metadata?.labels?.[key] === value).length;
  const [near] = live.filter((pod) => agreed(pod) > 0).toSorted((a, b) => agreed(b) - agreed(a));
  const differs = Object.entries(selector).flatMap(([key, value]) => {
    const label = near?.metadata?.labels?.[key];
    if (near === undefined || label === value) return [];
    return [`pod ${near.metadata?.name} comes near, but has ${label === undefined ? `no label ${key}` : `${key}=${label}`}`];
  });
  const none = live.length === 0 ? ['there are no pods in the namespace'] : [];
  const details = [...none, ...differs.slice(0, 1), '"berth get pods --show-labels" shows the labels of all'];
  return { what: `its selector matches no pod: ${words}`, pods: [], details };
}

/** Ports that lead to a name which pods do not have. */
function portObstacles({ spec }: Service, pods: readonly Pod[]): WhyObstacle[] {
  return (spec?.ports ?? []).flatMap((port) => {
    const name = port.targetPort?.type === 1 ? port.targetPort.strVal : undefined;
    const without = name === undefined ? [] : pods.filter((pod) => !portsIn(pod, port).includes(name));
    if (without.length === 0) return [];
    const known = [...new Set(without.flatMap((pod) => portsIn(pod, port)))];
    const has =
      known.length > 0 ? `they have ${known.map((each) => `"${each}"`).join(', ')}` : 'they name no port of that protocol';
    const what = `port ${port.port}/${port.protocol} leads to the port "${name}", which ${without.length} of ${pods.length} pods do not have`;
    return [{ what, pods: without.map(({ metadata }) => metadata?.name ?? ''), details: [has] }];
  });
}

/** Whether each port leads to a name that no pod has: endpoints without a port are none. */
function lacksAllPorts({ spec }: Service, pods: readonly Pod[]): boolean {
  const ports = spec?.ports ?? [];
  return (
    ports.length > 0 &&
    ports.every((port) => {
      const name = port.targetPort?.type === 1 ? port.targetPort.strVal : undefined;
      return name !== undefined && pods.every((pod) => !portsIn(pod, port).includes(name));
    })
  );
}

/** Ports that lead to a number that pods do not declare, though they declare others: that may be a slip. */
function portNotes({ spec }: Service, pods: readonly Pod[]): string[] {
  if (spec?.clusterIP === 'None') return [];
  return (spec?.ports ?? []).flatMap((port) => {
    const target = port.targetPort?.type === 1 ? undefined : port.targetPort?.intVal || port.port;
    const declared = pods.map((pod) => declaredPorts(pod, port).map(({ containerPort }) => containerPort));
    if (target === undefined || declared.some((each) => each.length === 0 || each.includes(target))) return [];
    const known = [...new Set(declared.flat())].join(', ');
    return [
      `port ${port.port}/${port.protocol} leads to port ${target} of the pods, which they do not declare; they declare ${known}`,
    ];
  });
}

/** The names of a pod's ports of a protocol. */
function portsIn(pod: Pod, port: ServicePort): string[] {
  return declaredPorts(pod, port).flatMap(({ name }) => (name ? [name] : []));
}

/** A pod's ports of a protocol. */
function declaredPorts({ spec }: Pod, { protocol = 'TCP' }: ServicePort): ContainerPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(spec?.containers ?? []), ...sidecars]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ protocol: own }) => (own || 'TCP') === protocol);
}

function troubles(matched: readonly { readonly pod: Pod; readonly tree: Tree }[], now: number): WhyObstacle[] {
  const leaving = matched.filter(({ pod }) => pod.metadata?.deletionTimestamp);
  const others = matched.filter(({ pod }) => !pod.metadata?.deletionTimestamp).map(({ tree }) => tree);
  const nameOf = (tree: Tree): string => String((tree.metadata as Tree | undefined)?.name ?? '');
  return [
    ...groupTroubles(others, now).map(({ what, pods, type }): WhyObstacle => {
      const one = nameOf(pods[0] ?? {});
      const details = type === 'starting' ? [] : [`"berth why pod/${one}" and "berth describe pod ${one}" say more`];
      return { what: `${count(pods.length)} ${what}`, pods: pods.map(nameOf), isPassing: type === 'starting', details };
    }),
    ...(leaving.length > 0
      ? [
          {
            what: `${count(leaving.length)} on the way out`,
            pods: leaving.map(({ tree }) => nameOf(tree)),
            isPassing: true,
            details: [],
          },
        ]
      : []),
  ];
}

const count = (pods: number): string => (pods === 1 ? '1 pod' : `${pods} pods`);
