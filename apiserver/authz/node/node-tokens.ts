import { permissionDenied } from '../../../api/errors/index.ts';
import type { Pod, TokenRequestSpec } from '../../../api/generated/types.ts';
import { type Identity, isMaster, isNode, nodeNameOf } from '../../authn/identity.ts';

/**
 * Checks a node's request for a service account token, as in Kubernetes: the token must be bound, by uid, to a pod on
 * this node (the issuer checks that the pod uses the account), and its audiences must be those of the pod's volumes. A
 * stolen node certificate therefore yields only tokens that the node's pods have anyway. Throws PERMISSION_DENIED.
 */
export function checkNodeToken(identity: Identity, spec: TokenRequestSpec, pod: Pod | undefined): void {
  if (isMaster(identity) || !isNode(identity)) return;
  const node = nodeNameOf(identity);
  const refuse = (why: string) => permissionDenied(`node "${node}" cannot get the token: ${why}`);
  if (!pod) throw refuse('it is not bound to a pod');
  const { name = '' } = pod.metadata ?? {};
  // Which uid it has is not said before it is clear that the pod is the node's.
  if (node === undefined || pod.spec?.nodeName !== node)
    throw refuse(`it is bound to the pod "${name}", which does not run on this node`);
  if (!spec.boundObjectRef?.uid) throw refuse(`it is bound to the pod "${name}" without a uid`);
  const named = audiencesOf(pod);
  const asked = spec.audiences?.length ? spec.audiences : [''];
  const other = asked.find((audience) => !named.has(audience));
  if (other !== undefined)
    throw refuse(`no volume of the pod "${name}" shows a token for ${other === '' ? 'the API server' : `"${other}"`}`);
}

/** The audiences of the tokens in the pod's volumes; "" is the API server. */
function audiencesOf({ spec }: Pod): Set<string> {
  const sources = (spec?.volumes ?? []).flatMap(({ volumeSource }) => volumeSource?.projected?.sources ?? []);
  return new Set(sources.flatMap(({ serviceAccountToken: token }) => (token ? [token.audience ?? ''] : [])));
}
