import type { Container, Lifecycle, Pod, PodSpec, Probe, Quantity, Toleration } from '../../generated/types.ts';
import { defaultSchedulerName, taints } from '../../meta/well-known.ts';
import { defaultPodLevelRequests } from './resources.ts';
import { defaultVolume } from './volume-defaults.ts';

const NODE_LOST_SECONDS = 300;

/** Everything that Kubernetes fills in before a pod is stored. */
export function defaultPod(pod: Pod): void {
  pod.spec ??= {};
  const spec = pod.spec;
  defaultPodSpec(spec);
  spec.enableServiceLinks ??= true;
  spec.topologySpreadConstraints?.forEach((constraint) => {
    constraint.nodeAffinityPolicy ||= 'Honor';
    constraint.nodeTaintsPolicy ||= 'Ignore';
  });
  for (const container of allContainers(spec)) {
    defaultAmounts(container.resources);
    if (spec.hostNetwork === true) defaultHostPorts(container);
  }
  defaultPodLevelRequests(spec);
  tolerateLostNode(spec, {});
}

/** The part of it that templates of pods get as well; the rest is filled in when a pod is made of one. */
export function defaultPodSpec(spec: PodSpec): void {
  spec.restartPolicy ||= 'Always';
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.schedulerName ||= defaultSchedulerName;
  spec.terminationGracePeriodSeconds ??= 30;
  spec.securityContext ??= {};
  // The older name of the account follows the newer one.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) spec.serviceAccountName = spec.serviceAccount = account;
  spec.volumes?.forEach(defaultVolume);
  for (const container of allContainers(spec)) defaultContainer(container);
}

/** The fields that plain and ephemeral containers share. */
type AnyContainer = Omit<Container, 'restartPolicyRules'>;

function allContainers({ initContainers = [], containers = [], ephemeralContainers = [] }: PodSpec): AnyContainer[] {
  const ephemeral = ephemeralContainers.flatMap(({ ephemeralContainerCommon }) => ephemeralContainerCommon ?? []);
  return [...initContainers, ...containers, ...ephemeral];
}

function defaultContainer(container: AnyContainer): void {
  container.imagePullPolicy ||= pullPolicyFor(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.resources ??= {};
  container.ports?.forEach((port) => {
    port.protocol ||= 'TCP';
  });
  container.env?.forEach(({ valueFrom }) => {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1';
    if (valueFrom?.resourceFieldRef) valueFrom.resourceFieldRef.divisor ??= { string: '0' };
  });
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) if (probe) defaultProbe(probe);
  if (container.lifecycle) defaultLifecycle(container.lifecycle);
}

/**
 * "Always" for the tag "latest" and for no tag, which means it; "IfNotPresent" for everything that names its version.
 */
export function pullPolicyFor(image: string): 'Always' | 'IfNotPresent' {
  const name = image.slice(image.lastIndexOf('/') + 1);
  if (name.includes('@')) return 'IfNotPresent';
  const colon = name.indexOf(':');
  return colon < 0 || name.slice(colon + 1) === 'latest' ? 'Always' : 'IfNotPresent';
}

/** In the network of the machine each port is one of the machine. */
function defaultHostPorts({ ports }: AnyContainer): void {
  ports?.forEach((port) => {
    port.hostPort ||= port.containerPort ?? 0;
  });
}

interface Amounts {
  limits?: Record<string, Quantity>;
  requests?: Record<string, Quantity>;
}

/** What is limited and not requested is requested in full. */
function defaultAmounts(resources: Amounts | undefined): void {
  if (!resources?.limits) return;
  const requests = { ...resources.requests };
  for (const name in resources.limits) requests[name] ??= resources.limits[name]!;
  resources.requests = requests;
}

function defaultProbe(probe: Probe): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  const { httpGet, grpc } = probe.handler ?? {};
  if (httpGet) defaultHttpGet(httpGet);
  if (grpc) grpc.service ??= '';
}

function defaultHttpGet(action: { path?: string; scheme?: string }): void {
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}

function defaultLifecycle(lifecycle: Lifecycle): void {
  for (const handler of [lifecycle.postStart, lifecycle.preStop]) if (handler?.httpGet) defaultHttpGet(handler.httpGet);
}

/** A pod stays five minutes on a node that is lost, unless it, or the server, says otherwise. */
export function tolerateLostNode(
  spec: PodSpec,
  seconds: { readonly notReady?: number | undefined; readonly unreachable?: number | undefined },
): void {
  const { notReady = NODE_LOST_SECONDS, unreachable = NODE_LOST_SECONDS } = seconds;
  const tolerations = spec.tolerations ?? [];
  for (const [key, tolerationSeconds] of [
    [taints.notReady, notReady],
    [taints.unreachable, unreachable],
  ] as const) {
    if (tolerations.some((toleration) => toleratesNoExecute(toleration, key))) continue;
    tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds });
  }
  spec.tolerations = tolerations;
}

function toleratesNoExecute({ key, effect }: Toleration, taint: string): boolean {
  return (!key || key === taint) && (!effect || effect === 'NoExecute');
}
