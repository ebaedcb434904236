import { badRequest, conflict, notFound } from '../../../api/errors/index.ts';
import type { BoundObjectReference, Pod } from '../../../api/generated/types.ts';
import { isMirror } from '../../../api/kinds/pod/static-pods.ts';
import { defaultServiceAccount } from '../../../api/meta/well-known.ts';
import type { KindStore, ObjectName } from '../../registry/kind-store.ts';
import type { BoundClaims, NamedObject } from './json-web-token.ts';

export interface BoundStores {
  readonly pods: KindStore;
  readonly secrets: KindStore;
  readonly nodes: KindStore;
}

/**
 * What a token of an account says of the object that it is to be bound to: a pod, a Secret of the account's namespace,
 * or a node. `judge` is shown the pod, if it is one, and throws when the caller may not have the token. Throws
 * NOT_FOUND without the object, ABORTED for another uid, and INVALID_ARGUMENT for other kinds and pods of other
 * accounts.
 */
export async function boundClaims(
  { pods, secrets, nodes }: BoundStores,
  { namespace, name: account }: ObjectName,
  wanted: BoundObjectReference,
  judge: (pod: Pod | undefined) => void,
): Promise<BoundClaims> {
  const { kind = '', apiVersion = '', name = '' } = wanted;
  const kindOf = apiVersion.includes('/') ? '' : kind;
  if (kindOf === 'Pod') {
    const { object, found } = await bound<Pod>(pods, { namespace, name }, wanted, judge);
    checkAccount(object, name, account);
    return { pod: found, ...(await nodeOf(nodes, object)) };
  }
  // A node may request tokens for its pods only.
  judge(undefined);
  if (kindOf === 'Secret') return { secret: (await bound(secrets, { namespace, name }, wanted)).found };
  if (kindOf === 'Node') return { node: (await bound(nodes, { namespace: '', name }, wanted)).found };
  const group = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  const message = `cannot bind token to object of type ${group}, Kind=${kind}`;
  throw badRequest(`a token is bound to a Pod, Secret or Node, not to a ${kind}`, [], { of: 'text', message });
}

async function bound<T extends object>(
  store: KindStore,
  at: ObjectName,
  { uid: wanted }: BoundObjectReference,
  judge: (object: T) => void = () => {},
): Promise<{ readonly object: T; readonly found: NamedObject }> {
  const entry = at.name === '' ? undefined : await store.read(at);
  if (!entry) throw notFound(store.subject(at));
  const object = store.cache.decoder.decode(entry);
  judge(object as T);
  const uid = object.metadata?.uid ?? '';
  if (wanted && wanted !== uid) {
    const inKubernetes = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ ...store.subject(at), resource: store.kind.kind }, `its uid is ${uid}, not ${wanted}`, inKubernetes);
  }
  return { object: object as T, found: { name: at.name, uid } };
}

function checkAccount(pod: Pod, name: string, account: string): void {
  if (accountOf(pod) === account) return;
  const why = isMirror(pod)
    ? `pod "${name}" mirrors a static pod, which has no service account`
    : `pod "${name}" is of the service account "${accountOf(pod)}", not of "${account}"`;
  const message = `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`;
  throw badRequest(why, [], { of: 'text', message });
}

/** Pods that were stored by an older version may not say it. */
const accountOf = (pod: Pod): string => (isMirror(pod) ? '' : pod.spec?.serviceAccountName || defaultServiceAccount);

/** The node of a pod, which a token says as well; only its name where there is no such node. */
async function nodeOf(nodes: KindStore, { spec }: Pod): Promise<Pick<BoundClaims, 'node'>> {
  const name = spec?.nodeName ?? '';
  if (name === '') return {};
  const entry = await nodes.read({ namespace: '', name });
  const uid = entry && nodes.cache.decoder.decode(entry).metadata?.uid;
  return { node: { name, ...(uid && { uid }) } };
}
