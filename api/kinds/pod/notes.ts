import type { Container, ContainerPort, NodeSelectorTerm, Pod, PodSpec } from '../../generated/types.ts';
import { noteFraction, noteFractions } from '../fractional-bytes.ts';

// What is accepted as in Kubernetes and most often a mistake: a sentence each, in Kubernetes' words where it has some,
// that begins with the path.

export function podNotes(pod: Pod): string[] {
  const spec = pod.spec ?? {};
  const containers = containersOf(spec);
  return [
    ...olderLabels(spec),
    ...olderAnnotations(pod, containers),
    ...selectorsOfNoPod(spec),
    ...duplicates('spec.hostAliases', 'ip', spec.hostAliases?.map(({ ip = '' }) => ip) ?? []),
    ...pullSecrets(spec),
    ...fractionalBytes(
      spec,
      containers.filter(({ list }) => list !== 'ephemeralContainers'),
    ),
    ...containers.flatMap(hiddenVariables),
    ...samePorts(containers),
  ];
}

/** Runs for every pod that is written: texts are made where there is something to say, and no lists on the way. */
interface Placed {
  readonly list: string;
  readonly i: number;
  readonly container: Container;
}

const placeOf = ({ list, i }: Placed): string => `spec.${list}[${i}]`;

function containersOf(spec: PodSpec): Placed[] {
  const found: Placed[] = [];
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const)
    for (const [i, container] of spec[list]?.entries() ?? []) found.push({ list, i, container: container as Container });
  return found;
}

const older: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
]);

/** Labels of nodes that have newer names. */
function olderLabels({ nodeSelector = {}, affinity = {}, topologySpreadConstraints = [] }: PodSpec): string[] {
  const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution: preferred } =
    affinity.nodeAffinity ?? {};
  const at = 'spec.affinity.nodeAffinity';
  const wanted = `${at}.preferredDuringSchedulingIgnoredDuringExecution`;
  const needed = `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
  return [
    ...Object.keys(nodeSelector).flatMap((key) => (older.has(key) ? [`spec.nodeSelector[${key}]: ${older.get(key)}`] : [])),
    ...(required?.nodeSelectorTerms ?? []).flatMap((term, i) => olderKeys(`${needed}[${i}]`, term)),
    ...(preferred ?? []).flatMap(({ preference = {} }, i) => olderKeys(`${wanted}[${i}].preference`, preference)),
    ...topologySpreadConstraints.flatMap(({ topologyKey = '' }, i) =>
      olderKey(`spec.topologySpreadConstraints[${i}].topologyKey`, topologyKey),
    ),
  ];
}

const olderKeys = (at: string, { matchExpressions = [] }: NodeSelectorTerm): string[] =>
  matchExpressions.flatMap(({ key = '' }, i) => olderKey(`${at}.matchExpressions[${i}].key`, key));

const olderKey = (at: string, key: string): string[] => (older.has(key) ? [`${at}: ${key} is ${older.get(key)}`] : []);

const withoutEffect: ReadonlyMap<string, string> = new Map([
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
]);
const SECCOMP = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_OF = 'container.seccomp.security.alpha.kubernetes.io/';
const NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** Annotations that have become fields. */
function olderAnnotations({ metadata, spec }: Pod, containers: readonly Placed[]): string[] {
  const { annotations } = metadata ?? {};
  // All of them are of these domains.
  if (!annotations || !Object.keys(annotations).some((key) => key.includes('.alpha.kubernetes.io/'))) return [];
  const note = (key: string, text: string): string[] =>
    Object.hasOwn(annotations, key) ? [`metadata.annotations[${key}]: ${text}`] : [];
  const hasProfile = spec?.securityContext?.seccompProfile !== undefined;
  return [
    ...[...withoutEffect].flatMap(([key, text]) => note(key, text)),
    ...(hasProfile ? [] : note(SECCOMP, NO_SECCOMP)),
    ...containers.flatMap(({ container: { name = '', securityContext } }) =>
      securityContext?.seccompProfile ? [] : note(`${SECCOMP_OF}${name}`, NO_SECCOMP),
    ),
  ];
}

const NO_POD = 'a null labelSelector results in matching no pod';

/** Terms without a selector, which choose no pods at all. */
function selectorsOfNoPod({ topologySpreadConstraints = [], affinity = {} }: PodSpec): string[] {
  const spread = topologySpreadConstraints.flatMap(({ labelSelector }, i) =>
    labelSelector ? [] : [`spec.topologySpreadConstraints[${i}].labelSelector: ${NO_POD}`],
  );
  const terms = (['podAffinity', 'podAntiAffinity'] as const).flatMap((name) => {
    const at = `spec.affinity.${name}`;
    const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution: wanted } =
      affinity[name] ?? {};
    return [
      ...(required ?? []).flatMap(({ labelSelector }, i) =>
        labelSelector ? [] : [`${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: ${NO_POD}`],
      ),
      ...(wanted ?? []).flatMap(({ podAffinityTerm }, i) =>
        podAffinityTerm?.labelSelector
          ? []
          : [`${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: ${NO_POD}`],
      ),
    ];
  });
  return [...spread, ...terms];
}

function duplicates(at: string, name: string, values: readonly string[]): string[] {
  const seen = new Set<string>();
  return values.flatMap((value, i) => {
    if (seen.has(value)) return [`${at}[${i}].${name}: duplicate ${name} "${value}"`];
    seen.add(value);
    return [];
  });
}

/** Templates leave entries without a name behind. */
function pullSecrets({ imagePullSecrets = [] }: PodSpec): string[] {
  const at = 'spec.imagePullSecrets';
  const names = imagePullSecrets.map(({ name = '' }) => name);
  const nameless = names.flatMap((name, i) => (name ? [] : [`${at}[${i}].name: invalid empty name "", the entry has no effect`]));
  return [...duplicates(at, 'name', names), ...nameless];
}

/** "128m" of memory is 0.128 bytes, and most often "128Mi" was meant. */
function fractionalBytes(spec: PodSpec, containers: readonly Placed[]): string[] {
  const notes: string[] = [];
  for (const placed of containers) noteFractions(notes, () => `${placeOf(placed)}.resources`, placed.container.resources);
  for (const [i, { volumeSource }] of (spec.volumes ?? []).entries())
    noteFraction(notes, () => `spec.volumes[${i}].emptyDir.sizeLimit`, volumeSource?.emptyDir?.sizeLimit?.string);
  return notes;
}

/** A variable that comes twice, and does not build on its first value. */
function hiddenVariables(placed: Placed): string[] {
  const { env = [] } = placed.container;
  const notes: string[] = [];
  const seen = new Set<string>();
  env.forEach(({ name = '', value = '' }, i) => {
    const before = `$(${name})`;
    if (!seen.has(name)) seen.add(name);
    else if (value === before || !value.includes(before))
      notes.push(`${placeOf(placed)}.env[${i}]: hides previous definition of "${name}", which may be dropped when using apply`);
  });
  return notes;
}

interface PlacedPort {
  readonly at: string;
  readonly port: ContainerPort;
}

/** Of one port many others may be the same: more are not compared. */
const MOST_COMPARED = 16;

/** The same port of several entries. */
function samePorts(containers: readonly Placed[]): string[] {
  const byPort = new Map<string, PlacedPort[]>();
  const notes: string[] = [];
  for (const placed of containers)
    for (const [i, port] of placed.container.ports?.entries() ?? []) {
      const at = `${placeOf(placed)}.ports[${i}]`;
      const key = `${port.containerPort}/${port.protocol || 'TCP'}`;
      const others = byPort.get(key);
      if (!others) byPort.set(key, [{ at, port }]);
      else {
        for (const other of others) notes.push(...portNote(at, port, other));
        if (others.length < MOST_COMPARED) others.push({ at, port });
      }
    }
  return notes;
}

function portNote(at: string, { hostIP = '', hostPort = 0 }: ContainerPort, { at: there, port }: PlacedPort): string[] {
  const { hostIP: otherIp = '', hostPort: otherPort = 0 } = port;
  if (hostIP === otherIp && hostPort === otherPort) return [`${at}: duplicate port definition with ${there}`];
  if (hostPort === 0 || otherPort === 0) return [`${at}: overlapping port definition with ${there}`];
  const isOneOpen = (hostIP === '') !== (otherIp === '');
  return hostPort === otherPort && isOneOpen ? [`${at}: dangerously ambiguous port definition with ${there}`] : [];
}
