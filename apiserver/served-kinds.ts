import type { Pod } from '../api/generated/types.ts';
import { kinds as apiKinds, isKind } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { tolerateLostNode } from '../api/kinds/pod/defaults.ts';

/** The default toleration, in seconds, for unready and unreachable nodes. */
export interface LostNodeSeconds {
  readonly notReady?: number | undefined;
  readonly unreachable?: number | undefined;
}

export interface ServedKindsOptions {
  /** For tests: other kinds. */
  readonly kinds?: readonly Kind[] | undefined;
  readonly lostNodeSeconds?: LostNodeSeconds | undefined;
}

/** The served kinds, with the configured defaults. */
export function servedKinds({ kinds = apiKinds, lostNodeSeconds = {} }: ServedKindsOptions): readonly Kind[] {
  return kinds.map((kind) => (isKind(kind, 'Pod') ? withSeconds(kind, lostNodeSeconds) : kind));
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
