import { type ApiError, permissionDenied } from '../../api/errors/index.ts';
import type { PersistentVolume, Pod } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import { nodeOfVolume } from '../../api/kinds/storage-class/local-path.ts';
import { annotations, finalizers } from '../../api/meta/well-known.ts';
import { groups, type Identity, isMaster, nodeNameOf } from './identity.ts';

/** What a call wants to do. */
export interface Access {
  readonly verb:
    | 'create'
    | 'update'
    | `update-${string}`
    | 'patch'
    | `patch-${string}`
    | 'delete'
    | 'delete-collection'
    | 'bind'
    | 'evict'
    | 'finalize'
    | 'logs'
    | 'exec'
    | 'attach'
    | 'port-forward'
    | 'read-files'
    | 'write-files';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The kinds of which a node writes only the object that has its own name. */
const OWN_NAME = ['Node', 'Lease', 'NodeMetrics'];
/** What a node does to the pods that run on it; it makes none but mirrors of its own. */
const POD_VERBS: readonly Access['verb'][] = ['create', 'update-status', 'patch-status', 'delete'];

/**
 * Who may write what, and who may look into containers. Everybody known may do everything, but a node writes only its own Node, Lease
 * and NodeMetrics, events, mirror pods, the status and the end of pods, and the end of its own volumes, and reaches into no pod through the API.
 * Throws PERMISSION_DENIED.
 */
export function authorize(identity: Identity, access: Access): void {
  if (isMaster(identity) || !identity.groups.includes(groups.nodes)) return;
  const node = nodeNameOf(identity);
  if (OWN_NAME.includes(access.kind) && node !== undefined && access.name === node) return;
  if (access.kind === 'Event' && access.verb !== 'delete-collection') return;
  if (access.kind === 'Pod' && POD_VERBS.includes(access.verb)) return;
  if (access.kind === 'PersistentVolume' && access.verb === 'patch') return;
  throw denied(identity, access);
}

/**
 * The second half of `authorize`, for what only the object itself tells: a node writes only to pods that are bound to it, and to volumes that only it
 * has, are on their way out and wait for it. Throws PERMISSION_DENIED.
 */
export function authorizeChange(identity: Identity, access: Access, previous: ApiObject): void {
  const isVolume = access.kind === 'PersistentVolume';
  if ((access.kind !== 'Pod' && !isVolume) || isMaster(identity) || !identity.groups.includes(groups.nodes)) return;
  const node = nodeNameOf(identity);
  const owner = isVolume ? awaitedNode(previous) : (previous as Pod).spec?.nodeName;
  if (node === undefined || owner !== node) throw denied(identity, access);
}

function awaitedNode(volume: PersistentVolume): string | undefined {
  const { deletionTimestamp, finalizers: present } = volume.metadata ?? {};
  return deletionTimestamp && present?.includes(finalizers.localPath) ? nodeOfVolume(volume) : undefined;
}

/**
 * The second half of `authorize` for what is new: the agent of a node, and nobody else, makes mirror pods, on its node alone. Throws
 * PERMISSION_DENIED.
 */
export function authorizeCreate(identity: Identity, { kind, name }: Access, object: ApiObject): void {
  if (kind !== 'Pod' || isMaster(identity)) return;
  const pod = object as Pod;
  const refuse = (why: string) => permissionDenied(`pods "${name}" is forbidden: ${why}`);
  if (!identity.groups.includes(groups.nodes)) {
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

/** A backup holds every Secret: for administrators only. Throws PERMISSION_DENIED. */
export function authorizeBackup(identity: Identity): void {
  if (!isMaster(identity)) throw permissionDenied(`user "${identity.user}" may not back up the store: only administrators may`);
}

function denied(identity: Identity, access: Access): ApiError {
  return permissionDenied(`user "${identity.user}" may not ${access.verb} ${access.kind.toLowerCase()} "${access.name}"`);
}
