import { isDeepStrictEqual } from 'node:util';
import { type ApiError, failedPrecondition, objectForbidden, permissionDenied } from '../../../api/errors/index.ts';
import type { Event, Lease, Node, PersistentVolume, Pod } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { mayLabelItself } from '../../../api/kinds/node/own-labels.ts';
import { isMirror } from '../../../api/kinds/pod/static-pods.ts';
import { nodeOfVolume } from '../../../api/kinds/storage-class/local-path.ts';
import { addressLeaseMs, addressLeaseSeconds, hasLoadBalancerLabel } from '../../../api/meta/load-balancers.ts';
import { areTooFarApart, versionSkew } from '../../../api/meta/version-skew.ts';
import { annotations, finalizers, namespaces } from '../../../api/meta/well-known.ts';
import { type Identity, isBootstrapper, isMaster, isNode, nodeNameOf } from '../../authn/identity.ts';
import { serverVersion } from '../../server-version.ts';
import type { Access } from '../attributes.ts';

/** Labels that say where pods may go and that the node itself must not give itself, as in Kubernetes. */
const RESTRICTED_LABELS = 'node-restriction.kubernetes.io/, and of kubernetes.io but those that say what a machine is';

/**
 * The part of the node authorizer that depends on the stored object: a node changes only pods that are bound to it,
 * events that it reported, and terminating local volumes that wait for it. Throws PERMISSION_DENIED.
 */
export function checkNodeChange(identity: Identity, access: Access, previous: ApiObject): void {
  if (isMaster(identity) || !isNode(identity)) return;
  const owner = owners[access.kind];
  if (!owner) return;
  const node = nodeNameOf(identity);
  if (node === undefined || owner(previous) !== node) throw denied(identity, access);
}

const owners: Readonly<Record<string, (object: ApiObject) => string | undefined>> = {
  Pod: (pod: Pod) => pod.spec?.nodeName,
  PersistentVolume: awaitedNode,
  Event: ({ source, reportingInstance }: Event) => source?.host || reportingInstance,
};

function awaitedNode(volume: PersistentVolume): string | undefined {
  const { deletionTimestamp, finalizers: present } = volume.metadata ?? {};
  return deletionTimestamp && present?.includes(finalizers.localPath) ? nodeOfVolume(volume) : undefined;
}

/**
 * The third: what a node may make of its own Node. Where pods may go is not the node's to say. Throws
 * PERMISSION_DENIED; FAILED_PRECONDITION for an agent of a version that does not go with `server`, this program's. Only
 * one that comes new is refused: when the server goes on to another version, the agents that it has are let be.
 */
export function checkNodeNext(identity: Identity, { kind, name, namespace, verb }: Access, change: NodeChange): void {
  const { next, previous, server } = change;
  if (isMaster(identity) || !isNode(identity)) return;
  if (kind === 'Pod' && verb.endsWith('-status')) checkPodMetadata(name, next, previous);
  if (kind === 'Event' && !isDeepStrictEqual(next.metadata?.finalizers ?? [], previous.metadata?.finalizers ?? []))
    throw objectForbidden('events', name, 'a node cannot change finalizers of events');
  if (kind === 'Lease' && namespace === namespaces.system) checkAddressLease(identity, name, change);
  if (kind !== 'Node') return;
  const [after, before] = [next as Node, previous as Node];
  checkAgentVersion(name, after, before, server);
  const refuse = (what: string) => forbidNode(name, `change its own ${what}`);
  // With an owner that is not there the node would be collected, and come back without its taints; a finalizer would
  // keep it.
  for (const field of ['ownerReferences', 'finalizers'] as const)
    if (!isDeepStrictEqual(after.metadata?.[field] ?? [], before.metadata?.[field] ?? [])) throw refuse(field);
  if (!isDeepStrictEqual(after.spec ?? {}, before.spec ?? {})) throw refuse('spec (taints, unschedulable)');
  if (!isDeepStrictEqual(restrictedLabels(after), restrictedLabels(before)))
    throw refuse(`labels of ${RESTRICTED_LABELS} (${changedKey(restrictedLabels(after), restrictedLabels(before))})`);
}

/** The clocks of machines do not run alike: no node that waits as long as it must is refused. */
const clockSlackMs = 100;

/**
 * A node takes the Lease of an address for itself when it is free or has run out, renews it and gives it back, and
 * changes nothing else of it. It holds none of an address that it may not announce.
 */
function checkAddressLease(identity: Identity, name: string, { next, previous, quietMs = 0, hasService }: NodeChange): void {
  const refuse = (what: string) => objectForbidden('leases.coordination.k8s.io', name, `a node cannot ${what}`);
  const node = nodeNameOf(identity);
  const { holderIdentity = '', leaseDurationSeconds = 0 } = (next as Lease).spec ?? {};
  const { spec: before = {} } = previous as Lease;
  const isOwn = before.holderIdentity === node;
  if (holderIdentity !== '' && holderIdentity !== node) throw refuse('give it to another node');
  if (holderIdentity === '' && !isOwn) throw refuse('give back what it does not hold');
  const leftMs = addressLeaseMs(before) - quietMs;
  if (before.holderIdentity && !isOwn && leftMs > clockSlackMs)
    throw refuse(`take it from node "${before.holderIdentity}" before it has run out, in ${Math.ceil(leftMs)} ms`);
  if (holderIdentity !== '' && !hasLoadBalancerLabel(previous as Lease))
    throw refuse(`hold it: the address is outside of the pool or no longer a service's`);
  if (holderIdentity !== '' && !hasService) throw refuse('hold it: no service of type LoadBalancer has the address');
  const { most } = addressLeaseSeconds;
  if (leaseDurationSeconds > most) throw refuse(`hold it for more than ${most} s (spec.leaseDurationSeconds)`);
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    const [after, before] = [next, previous].map(({ metadata }) => Object.entries(metadata?.[field] ?? {}));
    if (!isDeepStrictEqual(after, before)) throw refuse(`change its ${field}`);
  }
}

function checkAgentVersion(name: string, after: Node, before: Node | undefined, server = serverVersion()): void {
  const agent = after.status?.nodeInfo?.kubeletVersion ?? '';
  if (agent === (before?.status?.nodeInfo?.kubeletVersion ?? '') || !areTooFarApart(agent, server)) return;
  throw failedPrecondition(
    versionSkew,
    `the agent of node "${name}" is Berth ${agent.replace(/^v/, '')} and the server ${server}: they may be one minor version apart at most; install the server's version on that machine`,
    { kind: 'Node', name },
  );
}

/**
 * Through the status of its pods a node says nothing of their labels, as in Kubernetes, by which others choose them,
 * nor of what keeps them.
 */
function checkPodMetadata(name: string, next: ApiObject, previous: ApiObject): void {
  for (const field of ['labels', 'finalizers'] as const)
    if (!isDeepStrictEqual(next.metadata?.[field], previous.metadata?.[field]))
      throw objectForbidden('pods', name, `a node cannot update ${field} through pod status`);
}

/** How a Node is to change. */
export interface NodeChange {
  readonly next: ApiObject;
  readonly previous: ApiObject;
  readonly server?: string;
  /** Of the Lease of an address: how long nothing was written to it, by the server's clock. */
  readonly quietMs?: number;
  /** Of the Lease of an address: whether a Service of type LoadBalancer has the address. */
  readonly hasService?: boolean;
}

function changedKey(after: Record<string, string>, before: Record<string, string>): string {
  return Object.keys({ ...after, ...before }).find((key) => after[key] !== before[key]) ?? '';
}

function restrictedLabels({ metadata }: ApiObject): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata?.labels ?? {}).filter(([key]) => !mayLabelItself(key)));
}

/**
 * The same for what is new: only the agent of a node makes mirror pods, on its node alone, and no node labels itself
 * with what is restricted. Throws PERMISSION_DENIED; FAILED_PRECONDITION as checkNodeNext.
 */
export function checkNodeCreate(identity: Identity, { kind, name }: Access, object: ApiObject): void {
  if (isMaster(identity)) return;
  const [restricted] = kind === 'Node' && isNode(identity) ? Object.keys(restrictedLabels(object)) : [];
  if (restricted !== undefined) throw forbidNode(name, `give itself labels of ${RESTRICTED_LABELS} (${restricted})`);
  if (kind === 'Node' && isNode(identity)) {
    const tie = tieOf(object);
    if (tie) throw forbidNode(name, `give itself ${tie}`);
    // With a range of its own choice a node would take over others' addresses.
    const { podCIDR, podCIDRs = [] } = (object as Node).spec ?? {};
    if (podCIDR || podCIDRs.length > 0) throw forbidNode(name, 'give itself spec.podCIDR');
    checkAgentVersion(name, object as Node, undefined);
  }
  // Requests expire; what is tied would stay, and they are counted for all nodes together.
  if (kind === 'CertificateSigningRequest' && (isNode(identity) || isBootstrapper(identity))) {
    const tie = tieOf(object);
    if (tie) throw objectForbidden('certificatesigningrequests.certificates.k8s.io', name, `a node may not give it ${tie}`);
  }
  // In every namespace a node makes mirror pods and events: with finalizers they would keep it from being deleted.
  if (isNode(identity) && (kind === 'Pod' || kind === 'Event') && (object.metadata?.finalizers ?? []).length > 0)
    throw objectForbidden(`${kind.toLowerCase()}s`, name, `a node may not give it finalizers`);
  if (kind !== 'Pod') return;
  const pod = object as Pod;
  const refuse = (why: string) => objectForbidden('pods', name, why);
  if (!isNode(identity)) {
    if (isMirror(pod))
      throw refuse(`it has the annotation "${annotations.configMirror}", which only the agent of a node may set`);
    return;
  }
  const node = nodeNameOf(identity);
  if (!isMirror(pod))
    throw refuse(`pod does not have "${annotations.configMirror}" annotation, node "${node}" can only create mirror pods`);
  if (node === undefined || pod.spec?.nodeName !== node)
    throw refuse(`node "${node}" can only create pods with spec.nodeName set to itself`);
}

const forbidNode = (name: string, what: string): ApiError =>
  objectForbidden('nodes', name, `node "${name}" may not ${what}: that is for administrators`);

/** What ties an object to others, if anything does. */
function tieOf({ metadata }: ApiObject): 'ownerReferences' | 'finalizers' | undefined {
  return (['ownerReferences', 'finalizers'] as const).find((field) => (metadata?.[field] ?? []).length > 0);
}

function denied(identity: Identity, access: Access): ApiError {
  return permissionDenied(`user "${identity.user}" may not ${access.verb} ${access.kind.toLowerCase()} "${access.name}"`);
}
