import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node, Pod } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { createCache } from '../cache/cache.ts';
import { createNodeTable } from '../cache/node-table.ts';
import { defaultProfile } from '../profile.ts';
import { podInfo } from './pod-info.ts';
import { createRunner, type Decision } from './runner.ts';

const begin = Date.UTC(2026, 0, 1);

/** What may happen between two attempts, and attempts for pods of few shapes. */
type Step =
  | { readonly kind: 'attempt'; readonly shape: number }
  | { readonly kind: 'node'; readonly which: number; readonly look: number }
  | { readonly kind: 'nodeGone'; readonly which: number }
  | { readonly kind: 'podGone' }
  | { readonly kind: 'later'; readonly ms: number };

const which = fc.integer({ min: 0, max: 5 });
const looks = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 6, maxLength: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('attempt' as const), shape: fc.integer({ min: 0, max: 8 }) }) },
  fc.record({ kind: fc.constant('node' as const), which, look: fc.integer({ min: 0, max: 31 }) }),
  fc.record({ kind: fc.constant('nodeGone' as const), which }),
  fc.constant({ kind: 'podGone' } as const),
  fc.record({ kind: fc.constant('later' as const), ms: fc.integer({ min: 0, max: 200_000 }) }),
);

const changes: readonly ((plain: ReturnType<typeof pod>) => ReturnType<typeof pod>)[] = [
  (plain) => plain,
  (plain) => plain.requests({ cpu: '500m', memory: '1Gi' }),
  (plain) => plain.requests({ cpu: '500m', memory: '1Gi' }).nodeSelector({ disk: 'ssd' }),
  (plain) => plain.requests({ cpu: '500m', memory: '1Gi' }).nodeSelector({ disk: 'tape' }),
  (plain) => plain.requests({ 'example.com/gpu': '1' }),
  (plain) => plain.toleration({ key: 'k', operator: 'Exists' }),
  (plain) => plain.container('main', { ports: [{ containerPort: 1, hostPort: 80, protocol: 'TCP' }] }),
  (plain) => plain.container('main', { image: 'web:1' }),
  (plain) => plain.with(preferSsd),
];

function preferSsd({ spec }: Pod): void {
  const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] };
  spec!.affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } };
}

/** Each bit of `look` is something that a plugin minds. */
function nodeOf(index: number, look: number, now: number, [incarnation, version]: readonly [number, number]): Node {
  const has = (bit: number): boolean => ((look >> bit) & 1) === 1;
  let plain = node(`n${index}`)
    .capacity({ cpu: has(0) ? '2' : '4', memory: '8Gi', pods: '10', 'example.com/gpu': has(1) ? '1' : '0' })
    .labels(has(2) ? { disk: 'ssd' } : {})
    .ready(look !== 31);
  if (has(3)) plain = plain.taint('k', index % 2 === 0 ? 'NoSchedule' : 'PreferNoSchedule');
  if (has(4)) plain = plain.usage({ cpu: '1', memory: '7Gi' }, now);
  const built = plain.build();
  if (has(1)) built.status!.images = [{ names: ['web:1'], sizeBytes: 5e8 }];
  return { ...built, metadata: { ...built.metadata, uid: `n${index}-${incarnation}`, resourceVersion: String(version) } };
}

function wordOf(decision: Decision): string {
  return decision.kind === 'placed' ? `${decision.nodeName} of ${decision.feasible}` : decision.diagnosis.message;
}

describe('a runner that remembers', () => {
  it('decides as one that asks every plugin about every node again', () => {
    fc.assert(
      fc.property(looks, fc.array(step, { minLength: 10, maxLength: 100 }), (first, steps) => {
        let now = begin;
        const cache = createCache({ now: () => now });
        const table = createNodeTable();
        const profile = defaultProfile({ name: 'Bind' });
        const remembering = createRunner({ profile, random: () => 0.5 });
        const placed: Pod[] = [];
        /** How often each node was removed: one that comes again is another. */
        const gone = [0, 0, 0, 0, 0, 0];
        for (const [index, look] of first.entries()) cache.setNode(nodeOf(index, look, now, [0, 1]));
        for (const [time, given] of steps.entries()) {
          if (given.kind === 'later') now += given.ms;
          else if (given.kind === 'node') cache.setNode(nodeOf(given.which, given.look, now, [gone[given.which]!, time + 2]));
          else if (given.kind === 'nodeGone') cache.removeNode(nodeOf(given.which, 0, now, [gone[given.which]!++, 0]));
          else if (given.kind === 'podGone') placed.splice(0, 1).forEach((first) => void cache.removePod(first));
          else {
            const info = podInfo(
              changes[given.shape]!(pod(`p${time}`))
                .uid(`p${time}`)
                .build(),
            );
            cache.sync(table);
            const attempt = { pod: info, nodes: table, now };
            const decision = remembering.decide(attempt);
            expect(wordOf(decision)).toBe(wordOf(createRunner({ profile, random: () => 0.5 }).decide(attempt)));
            if (decision.kind !== 'placed') continue;
            cache.assume(info, decision.nodeName);
            placed.push(info.pod);
          }
        }
      }),
      { numRuns: 200, seed: 6 },
    );
  });
});
