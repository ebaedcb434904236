import type { Pod } from '../api/generated/types.ts';
import { kinds as apiKinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { tolerateLostNode } from '../api/kinds/pod/defaults.ts';

/** How many seconds a pod that says nothing of it stays on a node that is not ready, or not heard of. */
export interface LostNodeSeconds {
  readonly notReady?: number | undefined;
  readonly unreachable?: number | undefined;
}

export interface ServedKindsOptions {
  /** For tests: other kinds. */
  readonly kinds?: readonly Kind[] | undefined;
  readonly lostNodeSeconds?: LostNodeSeconds | undefined;
}

/** The kinds that the server has, with the defaults that it was told. */
export function servedKinds({ kinds = apiKinds, lostNodeSeconds = {} }: ServedKindsOptions): readonly Kind[] {
  return kinds.map((kind) => (kind.kind === 'Pod' ? withSeconds(kind, lostNodeSeconds) : kind));
}

function withSeconds(kind: Kind, seconds: LostNodeSeconds): Kind {
  return {
    ...kind,
    defaults(object: ApiObject) {
      const pod = object as Pod;
      pod.spec ??= {};
      // First: what is said already is no longer left to the default.
      tolerateLostNode(pod.spec, seconds);
      kind.defaults(pod);
    },
  };
}
