import { objectForbidden } from '../../api/errors/index.ts';
import type { Node, Pod } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { isMirror } from '../../api/kinds/pod/static-pods.ts';
import type { Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** Reads a node, never older than the last acknowledged write. */
export type NodeReader = (name: string) => Eventually<Node | undefined>;

/**
 * As in Kubernetes, where it is a rule for nodes: a mirror pod is owned by its node alone, so that it goes with it.
 * Here it holds for every writer, because an agent may come with an administrator's certificate.
 */
export function mirrorPods(readNode: NodeReader): Admission {
  const checkOwner = async (pod: Pod): Promise<void> => {
    const nodeName = pod.spec?.nodeName ?? '';
    // Says of itself what is missing.
    if (nodeName === '') return;
    const problem = wrongOwner(pod, nodeName, await readNode(nodeName));
    if (problem !== undefined) throw objectForbidden('pods', pod.metadata?.name ?? '', problem);
  };
  return {
    reads: { Pod: ['Node'] },
    create: (kind, object) => (isKind(kind, 'Pod') && isMirror(object as Pod) ? checkOwner(object as Pod) : undefined),
  };
}

function wrongOwner({ metadata }: Pod, nodeName: string, node: Node | undefined): string | undefined {
  const owners = metadata?.ownerReferences ?? [];
  const [owner] = owners;
  const only = `node "${nodeName}" can only create pods with`;
  if (owners.length > 1) return `${only} a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName)
    return `${only} an owner reference set to itself`;
  if (owner.controller !== true) return `${only} a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `node "${nodeName}" must not set blockOwnerDeletion on an owner reference`;
  if (node === undefined) return `node "${nodeName}" not found`;
  if (owner.uid !== node.metadata?.uid)
    return `${only} an owner reference set to itself: its uid is ${node.metadata?.uid}, not ${owner.uid}`;
  return undefined;
}
