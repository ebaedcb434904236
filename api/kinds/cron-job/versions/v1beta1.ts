import { olderVersion } from '../../older-version.ts';
import { cronJob } from '../kind.ts';

/** The same fields with the same meaning. */
export const cronJobV1beta1 = olderVersion(cronJob, { apiVersion: 'batch/v1beta1', deprecated: ['1.21', '1.25'] });
