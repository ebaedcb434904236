import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { Secret } from '../../generated/types.ts';
import { isTextTooDeep } from '../../meta/json-depth.ts';
import { validateDataKeys, validateDataSize, validateImmutable } from '../data-keys.ts';
import { accountAnnotation, accountTokenType } from './account-token.ts';

type Rule = (secret: Secret) => FieldViolation[];

const hasKey = (secret: Secret, key: string): boolean => Object.hasOwn(secret.data ?? {}, key);

const requireKeys =
  (...keys: string[]): Rule =>
  (secret) =>
    keys.filter((key) => !hasKey(secret, key)).map((key) => required(`data[${key}]`, `a secret of type ${secret.type} has it`));

const requireJsonObject =
  (key: string): Rule =>
  (secret) => {
    const text = secret.data?.[key]?.toString();
    if (text === undefined) return requireKeys(key)(secret);
    return isJsonObject(text) ? [] : [invalidValue(`data[${key}]`, '(not shown)', 'must be a JSON object')];
  };

/** Or null, which Kubernetes takes for an object without anything in it. */
function isJsonObject(text: string): boolean {
  try {
    const value: unknown = isTextTooDeep(text) ? undefined : JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value);
  } catch {
    return false;
  }
}

const requireOneKey =
  (...keys: string[]): Rule =>
  (secret) =>
    keys.some((key) => hasKey(secret, key))
      ? []
      : keys.map((key) => required(`data[${key}]`, `one of ${keys.join(', ')} must be there`));

const requireAccount: Rule = (secret) =>
  secret.metadata?.annotations?.[accountAnnotation]
    ? []
    : [required(`metadata.annotations[${accountAnnotation}]`, "it names the token's account")];

/** What Kubernetes' types promise to those who read such secrets. */
const rules: Readonly<Record<string, Rule>> = {
  [accountTokenType]: requireAccount,
  'kubernetes.io/dockercfg': requireJsonObject('.dockercfg'),
  'kubernetes.io/dockerconfigjson': requireJsonObject('.dockerconfigjson'),
  'kubernetes.io/basic-auth': requireOneKey('username', 'password'),
  'kubernetes.io/ssh-auth': requireKeys('ssh-privatekey'),
  'kubernetes.io/tls': requireKeys('tls.crt', 'tls.key'),
};

export function validateSecret(secret: Secret): FieldViolation[] {
  return [
    ...validateDataKeys('data', secret.data),
    ...validateDataSize('data', [secret.data]),
    ...(Object.hasOwn(rules, secret.type ?? '') ? rules[secret.type!]!(secret) : []),
  ];
}

export function validateSecretUpdate(next: Secret, previous: Secret): FieldViolation[] {
  const violations = validateImmutable(next, previous, { data: (secret) => secret.data });
  if (next.type !== previous.type) violations.push(forbidden('type', 'cannot change; delete the secret and create it anew'));
  return violations;
}
