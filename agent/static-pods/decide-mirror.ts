import type { Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { mirroredUid } from '../../api/kinds/pod/static-pods.ts';
import { annotations } from '../../api/meta/well-known.ts';

export interface MirrorFacts {
  /** The static pod that a file describes under this name. */
  readonly wanted: Pod | undefined;
  /** What the API has under this name. */
  readonly mirror: Pod | undefined;
  /** The static pod that the mirror shows has not ended yet. */
  readonly leaving: boolean;
  /** Every static pod of this machine is known: what none of them is shown by can go. */
  readonly known: boolean;
  /** The static pod has not ended for good. */
  readonly lives: boolean;
}

/**
 * What becomes of a mirror. A deleted one goes at once and comes again; one of another static pod goes as soon as that
 * has ended; one that says that its pod is over, and it is not, can only be made anew. Pure.
 */
export function decideMirror({ wanted, mirror, leaving, known, lives }: MirrorFacts): 'create' | 'delete' | 'keep' {
  if (mirror === undefined) return wanted === undefined ? 'keep' : 'create';
  if (mirror.metadata?.deletionTimestamp !== undefined) return 'delete';
  if (wanted !== undefined && mirroredUid(mirror) === wanted.metadata?.uid)
    return isFinished(mirror) && lives ? 'delete' : 'keep';
  return leaving || !known ? 'keep' : 'delete';
}

/** The mirror pod of a static pod, owned by the node, as the agent creates it. */
export function computeMirror({ metadata = {}, spec }: Pod, nodeUid: string): Pod {
  const { name, namespace, labels, annotations: own, uid = '' } = metadata;
  const owner = { apiVersion: 'v1', kind: 'Node', name: spec?.nodeName ?? '', uid: nodeUid, controller: true };
  return {
    metadata: {
      ...(name && { name }),
      ...(namespace && { namespace }),
      ...(labels && { labels }),
      annotations: { ...own, [annotations.configMirror]: uid },
      ownerReferences: [owner],
    },
    ...(spec && { spec }),
  };
}

/**
 * A static pod with what the API says of it: its status, so that an agent that starts again goes on from it, and
 * conditions that others write. That it is over only this machine can say.
 */
export function withMirror(pod: Pod, mirror: Pod | undefined): Pod {
  if (mirror === undefined || mirroredUid(mirror) !== pod.metadata?.uid) return pod;
  const { startTime } = mirror.status ?? {};
  const status = isFinished(mirror) ? { ...pod.status, ...(startTime && { startTime }) } : mirror.status;
  const { resourceVersion } = mirror.metadata ?? {};
  return {
    ...pod,
    metadata: { ...pod.metadata, ...(resourceVersion && { resourceVersion }) },
    ...(status && { status }),
  };
}
