import { describe, expect, it } from 'vitest';
import { conflict, permissionDenied } from '../../api/errors/index.ts';
import type { ResourceQuota, ResourceQuotaSpec } from '../../api/generated/types.ts';
import type { InformerHandler } from '../../client/index.ts';
import { givesRoom, RefusedCreates } from './refused-creates.ts';

const quota = (hard: string, used?: string, spec: ResourceQuotaSpec = {}): ResourceQuota => ({
  metadata: { namespace: 'team', name: 'q' },
  spec: { hard: { pods: { string: hard } }, ...spec },
  status: { ...(used !== undefined && { used: { pods: { string: used } } }) },
});

describe('a quota gives room', () => {
  it.each<[string, ResourceQuota, ResourceQuota, boolean]>([
    ['when it is raised', quota('2', '2'), quota('3', '2'), true],
    ['when less is in use', quota('2', '2'), quota('2', '1'), true],
    ['when it bounds something no more', quota('2', '2'), { ...quota('2', '2'), spec: {} }, true],
    ['when it counts others', quota('2', '2'), quota('2', '2', { scopes: ['BestEffort'] }), true],
    ['not when more is in use', quota('2', '1'), quota('2', '2'), false],
    ['not when it is lowered', quota('3', '2'), quota('2', '2'), false],
    ['not when nothing is new', quota('2', '2'), quota('2', '2'), false],
    ['not when its first report comes', quota('2'), quota('2', '1'), false],
  ])('%s', (_title, old, next, expected) => expect(givesRoom(next, old)).toBe(expected));
});

function createRefused() {
  let handler: InformerHandler<ResourceQuota> = {};
  const addHandler = (added: InformerHandler<ResourceQuota>) => {
    handler = added;
    return () => {};
  };
  const refused = new RefusedCreates({ waitForSync: async () => {}, addHandler });
  const woken: string[] = [];
  refused.connect((key) => woken.push(key));
  return {
    refused,
    woken,
    update: (next: ResourceQuota, old: ResourceQuota) => handler.onUpdate?.(next, old),
    remove: (old: ResourceQuota) => handler.onDelete?.(old),
  };
}

const refusal = permissionDenied('exceeded quota');

it('owners that were refused are woken when a quota of their namespace gives room, and no others', () => {
  const { refused, woken, update, remove } = createRefused();
  refused.note('team/a', refusal);
  refused.note('team/b', refusal);
  refused.note('other/c', refusal);
  refused.note('team/d', conflict({}, 'too late'));
  refused.note('team/b');
  update(quota('2', '2'), quota('2', '1'));
  expect(woken).toEqual([]);
  update(quota('3', '2'), quota('2', '2'));
  expect(woken).toEqual(['team/a']);
  remove(quota('3'));
  expect(woken).toEqual(['team/a', 'team/a']);
});

it('an owner is woken at once when a quota gave room while its creates were under way', () => {
  const { refused, woken, update } = createRefused();
  const before = refused.rooms;
  update(quota('3', '2'), quota('2', '2'));
  refused.note('team/a', refusal, before);
  expect(woken).toEqual(['team/a']);
  refused.note('team/a', refusal, refused.rooms);
  expect(woken).toEqual(['team/a']);
});
