import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Tree } from '../describe/json.ts';
import { parseAmounts } from '../generators/quota.ts';
import { containerNames, patchContainers, selectContainers } from './containers.ts';

export interface ResourcesFlags {
  readonly limits?: string;
  readonly requests?: string;
}

/** Reads --limits and --requests. Throws INVALID_ARGUMENT. */
export function parseResources({ limits, requests }: ResourcesFlags): JsonObject {
  if (!limits && !requests) throw badRequest('say what to set: --limits or --requests, e.g. --limits=cpu=200m,memory=512Mi');
  return {
    ...(limits && { limits: parseAmounts('--limits', limits) }),
    ...(requests && { requests: parseAmounts('--requests', requests) }),
  };
}

/** The strategic patch of a pod spec. Throws INVALID_ARGUMENT when no container matches. */
export function resourcesPatch(podSpec: Tree, pattern: string, resources: JsonObject): JsonObject {
  const found = selectContainers(podSpec, pattern);
  if (found.length === 0)
    throw badRequest(`unable to find container named ${pattern}; there are ${containerNames(podSpec) || 'none'}`);
  return patchContainers(found.map((each) => [each, { resources }] as const));
}
