import { cronJobV1beta1 } from './cron-job/versions/v1beta1.ts';
import { endpointSliceV1beta1 } from './endpoint-slice/versions/v1beta1.ts';
import { eventsV1Event } from './event/versions/events-v1.ts';
import { horizontalPodAutoscalerV1 } from './horizontal-pod-autoscaler/versions/v1.ts';
import { horizontalPodAutoscalerV2beta2 } from './horizontal-pod-autoscaler/versions/v2beta2.ts';
import type { Kind } from './kind.ts';
import { podDisruptionBudgetV1beta1 } from './pod-disruption-budget/versions/v1beta1.ts';

/** Every version that is served besides the stored one, of each kind the preferred first. */
export const olderVersions: readonly Kind[] = [
  cronJobV1beta1,
  horizontalPodAutoscalerV1,
  horizontalPodAutoscalerV2beta2,
  endpointSliceV1beta1,
  podDisruptionBudgetV1beta1,
  eventsV1Event,
];

/** Those of one of Berth's own kinds, by its name. */
export function olderVersionsOf(name: string): readonly Kind[] {
  return olderVersions.filter((version) => version.conversion?.stored.kind === name);
}

/** The kind as it is stored. */
export function storedKind(kind: Kind): Kind {
  return kind.conversion?.stored ?? kind;
}
