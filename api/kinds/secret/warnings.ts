import type { Secret } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { secretFields } from './fields.ts';
import { accountAnnotation, accountTokenType } from './validate.ts';

const ofFields = fieldWarnings('berth.core.v1.Secret', secretFields);

/** What Berth does not do with a Secret: nothing writes a token into one, as Kubernetes' controller of tokens does. */
export function secretWarnings(secret: Secret): string[] {
  const warnings = ofFields(secret);
  if (secret.type !== accountTokenType || hasToken(secret)) return warnings;
  const account = secret.metadata?.annotations?.[accountAnnotation] ?? 'ACCOUNT';
  return [...warnings, `type is not acted on: no token is put into a secret; make one with "create token ${account}"`];
}

const hasToken = ({ data = {}, stringData = {} }: Secret): boolean =>
  [data, stringData].some((values) => Object.hasOwn(values, 'token'));
