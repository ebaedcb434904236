import { describe, expect, it } from 'vitest';
import { groupOf } from '../api/kinds/identity.ts';
import { kindNamed, kinds } from '../api/kinds/index.ts';
import { controllerRules } from './main.ts';

/** What of a resource is no kind of its own. */
const others: Readonly<Record<string, readonly string[]>> = { 'certificates.k8s.io': ['signers'] };

describe("the controllers' rules", () => {
  it('are those of a valid role', () => {
    const role = { metadata: { name: 'controllers' }, rules: [...controllerRules] };
    expect(kindNamed('ClusterRole').validate(role)).toEqual([]);
  });

  it('name resources that there are, and nothing of all resources but scales', () => {
    for (const { apiGroups = [], resources = [] } of controllerRules)
      for (const group of apiGroups)
        for (const resource of resources) {
          if (group === '*') expect(resource).toBe('*/scale');
          else {
            const known = kinds.filter(({ apiVersion }) => groupOf(apiVersion) === group).map(({ plural }) => plural);
            expect([...known, ...(others[group] ?? [])], `${group} ${resource}`).toContain(resource.split('/')[0]);
          }
        }
  });
});
