import type { Job } from '../../api/generated/types.ts';
import { IndexSet } from './index-set.ts';

/** Which rule of the success policy the indexes meet, in Kubernetes' words; undefined: none. */
export function meetsSuccessPolicy({ spec }: Job, succeeded: IndexSet): string | undefined {
  if (succeeded.size === 0) return undefined;
  const at = (spec?.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount;
    const wanted = IndexSet.parse(succeededIndexes, spec?.completions ?? 0);
    const found = wanted.countCommon(succeeded);
    return wanted.size > 0 && (found === wanted.size || (succeededCount !== undefined && found >= succeededCount));
  });
  return at < 0 ? undefined : `Matched rules at index ${at}`;
}
