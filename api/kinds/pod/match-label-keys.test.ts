import { describe, expect, it } from 'vitest';
import { pod } from '../../../test/builders/index.ts';
import type { LabelSelector, Pod, PodAffinityTerm } from '../../generated/types.ts';
import { pod as kind } from './kind.ts';

const webOf = (term: PodAffinityTerm) =>
  pod('p')
    .labels({ app: 'web', version: '2' })
    .spec({
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', ...term }] } },
    })
    .build();
const selectorOf = ({ spec }: Pod): LabelSelector | undefined =>
  spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.[0]?.labelSelector;
const created = (built: Pod): Pod => {
  kind.lifecycle?.prepareForCreate?.(built);
  return built;
};
const broken = (built: Pod) =>
  [...kind.validate(built), ...(kind.validateCreate?.(built) ?? [])].map(({ field, description }) => `${field}: ${description}`);
const at = 'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]';

describe('matchLabelKeys and mismatchLabelKeys', () => {
  const given = { labelSelector: { matchLabels: { app: 'web' } }, matchLabelKeys: ['version', 'absent'] };

  it('become requirements of the selector when the pod is created, for the labels that it has', () => {
    expect(selectorOf(created(webOf(given)))).toEqual({
      matchLabels: { app: 'web' },
      matchExpressions: [{ key: 'version', operator: 'In', values: ['2'] }],
    });
    const other = { labelSelector: {}, mismatchLabelKeys: ['version'] };
    expect(selectorOf(created(webOf(other)))?.matchExpressions).toEqual([{ key: 'version', operator: 'NotIn', values: ['2'] }]);
  });

  it('are merged in the terms of preferences and in spread constraints too', () => {
    const podAffinityTerm = { topologyKey: 'zone', ...given };
    const built = created(
      pod('p')
        .labels({ version: '2' })
        .spec({
          affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }] } },
          topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', ...given }],
        })
        .build(),
    );
    const merged = [{ key: 'version', operator: 'In', values: ['2'] }];
    const [preferred] = built.spec?.affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    expect(preferred?.podAffinityTerm?.labelSelector?.matchExpressions).toEqual(merged);
    expect(built.spec?.topologySpreadConstraints?.[0]?.labelSelector?.matchExpressions).toEqual(merged);
  });

  it('change nothing when a pod is created from one that was read back', () => {
    const once = created(webOf(given));
    expect(created(structuredClone(once)).spec).toEqual(once.spec);
    expect(kind.validateCreate?.(once)).toEqual([]);
  });

  it.each<[string, PodAffinityTerm, string]>([
    ['without a selector', { matchLabelKeys: ['version'] }, `${at}.matchLabelKeys: forbidden: must not be specified`],
    [
      'one of both',
      { ...given, mismatchLabelKeys: ['version'] },
      `${at}.mismatchLabelKeys[0]: invalid value "version": exists in both matchLabelKeys and mismatchLabelKeys`,
    ],
    [
      'one that the selector names',
      { ...given, matchLabelKeys: ['app'] },
      `${at}.matchLabelKeys[0]: invalid value "app": exists in both matchLabelKeys and labelSelector`,
    ],
    ['one that is no label', { ...given, matchLabelKeys: ['-'] }, `${at}.matchLabelKeys[0]: invalid value "-"`],
  ])('may not be %s', (_, term, violation) => {
    expect(broken(created(webOf(term))).join('\n')).toContain(violation);
  });
});

it('thousands of keys are compared with thousands of expressions without comparing each with each', () => {
  const keys = Array.from({ length: 3_000 }, (_, at) => `k${at}`);
  const built = webOf({ labelSelector: {}, matchLabelKeys: keys });
  built.metadata!.labels = Object.fromEntries(keys.map((key) => [key, 'v']));
  let reads = 0;
  const get = (of: object, name: string): unknown => {
    reads++;
    return Reflect.get(of, name);
  };
  selectorOf(built)!.matchExpressions = keys.map((key) => new Proxy({ key, operator: 'Exists' }, { get }));
  created(built);
  expect(kind.validateCreate?.(built)).toHaveLength(3_000);
  expect(reads).toBeLessThan(50_000);
});
