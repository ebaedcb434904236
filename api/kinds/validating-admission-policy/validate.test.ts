import { describe, expect, it } from 'vitest';
import type { ValidatingAdmissionPolicySpec } from '../../generated/types.ts';
import { validateValidatingAdmissionPolicy } from './validate.ts';

const rules = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: '*' };
const whole: ValidatingAdmissionPolicySpec = {
  matchConstraints: { resourceRules: [{ ruleWithOperations: { operations: ['CREATE'], rule: rules } }] },
};
const annotated = (...keys: string[]): ValidatingAdmissionPolicySpec => ({
  ...whole,
  auditAnnotations: keys.map((key) => ({ key, valueExpression: "'x'" })),
});
const wrong = (spec: ValidatingAdmissionPolicySpec) =>
  validateValidatingAdmissionPolicy({ metadata: { name: 'p' }, spec }).map(({ field }) => field);

describe('the rules of policies', () => {
  it.each<[string, ValidatingAdmissionPolicySpec, string[]]>([
    ['annotations alone', annotated('size', 'Other_one.x'), []],
    ['neither rules nor annotations', whole, ['spec.validations']],
    ['a key with a prefix', annotated('example.com/size'), ['spec.auditAnnotations[0].key']],
    ['a key of another shape', annotated('-size'), ['spec.auditAnnotations[0].key']],
    ['a key twice', annotated('size', 'size'), ['spec.auditAnnotations[1].key']],
  ])('judge %s', (_, spec, fields) => {
    expect(wrong(spec)).toEqual(fields);
  });
});
