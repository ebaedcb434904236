import type { NetworkPolicy } from '../../generated/types.ts';

/** A sentence for each port that no connection can have. */
export function sctpWarnings({ spec = {} }: NetworkPolicy): string[] {
  return (['ingress', 'egress'] as const).flatMap((direction) =>
    (spec[direction] ?? []).flatMap(({ ports = [] }, i) =>
      ports.flatMap(({ protocol }, k) =>
        protocol === 'SCTP'
          ? [`spec.${direction}[${i}].ports[${k}].protocol is not acted on: SCTP is not carried by Berth's network`]
          : [],
      ),
    ),
  );
}
