import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { isQuantity } from '../../api/meta/quantity.ts';

export interface QuotaFlags {
  readonly hard?: string;
  readonly scopes?: string;
}

/** What `create quota` makes. */
export function quotaObject(name: string, { hard, scopes }: QuotaFlags): JsonObject {
  const named = scopes?.split(',');
  if (named?.some((scope) => scope === ''))
    throw badRequest('--scopes takes names with commas between, e.g. BestEffort,NotTerminating');
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name },
    spec: { ...(hard && { hard: parseAmounts('--hard', hard) }), ...(named && { scopes: named }) },
  };
}

/** Reads "cpu=1,memory=1Gi". Throws INVALID_ARGUMENT. */
export function parseAmounts(flag: string, text: string): Record<string, string> {
  const amounts = text.split(',').map((each): [string, string] => {
    const [name = '', amount, ...more] = each.split('=');
    if (name === '' || amount === undefined || more.length > 0)
      throw badRequest(`${flag} takes RESOURCE=AMOUNT,..., not "${each}"`);
    if (!isQuantity(amount)) throw badRequest(`${flag}: "${amount}" is no amount of ${name}; write e.g. 500m, 2 or 1Gi`);
    return [name, amount];
  });
  return Object.fromEntries(amounts);
}
