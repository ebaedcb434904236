import { olderVersion } from '../../older-version.ts';
import { horizontalPodAutoscaler } from '../kind.ts';

/** The same fields with the same meaning. */
export const horizontalPodAutoscalerV2beta2 = olderVersion(horizontalPodAutoscaler, {
  apiVersion: 'autoscaling/v2beta2',
  deprecated: ['1.23', '1.26'],
});
