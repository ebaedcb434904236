import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node } from '../../api/generated/types.ts';
import { createInformer } from '../../client/index.ts';
import { node } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { computeRate, computeZoneState, defaultEvictionRates } from './zone-state.ts';
import { createZones } from './zones.ts';

const counts = fc.record({ ready: fc.nat(200), lost: fc.nat(200) });

describe('the rate of a zone', () => {
  it('is none where three or more, and more than the threshold, of a small zone are lost, and where everything is', () => {
    fc.assert(
      fc.property(counts, fc.boolean(), (zone, allFull) => {
        const rate = computeRate(zone, allFull, defaultEvictionRates);
        const { ready, lost } = zone;
        const much = ready > 0 && lost > 2 && lost / (ready + lost) >= 0.55;
        expect(rate).toBe(allFull || (much && ready + lost <= 50) ? 0 : much ? 0.01 : 0.1);
      }),
    );
  });

  it.each([
    [0, 0, 'normal'],
    [1, 0, 'normal'],
    [0, 1, 'full'],
    [1, 2, 'normal'],
    [2, 3, 'partial'],
    [3, 3, 'normal'],
  ] as const)('follows its state: %i ready and %i lost are %s', (ready, lost, state) => {
    expect(computeZoneState({ ready, lost }, defaultEvictionRates)).toBe(state);
  });
});

const names = Array.from({ length: 8 }, (_, i) => `n${i}`);
const step = fc.oneof(
  fc.record({ type: fc.constantFrom('lose' as const, 'heal' as const, 'ask' as const), at: fc.nat(names.length - 1) }),
  fc.record({ type: fc.constant('wait' as const), at: fc.integer({ min: 1, max: 15_000 }) }),
);

/**
 * Plays the steps; tells when nodes were given up that were not before. Woken nodes ask again,
 * as the controller has them do.
 */
async function play(steps: readonly { readonly type: string; readonly at: number }[]): Promise<number[]> {
  const [clock, logger] = [createFakeClock(), createFakeLogger()];
  const client = createFakeResourceClient<Node>({ kind: 'Node', objects: names.map((name) => node(name).build()) });
  const nodes = createInformer<Node>({ client, name: 'nodes', clock, logger });
  const zones = createZones({ nodes, rates: defaultEvictionRates, clock, logger, resumed: () => {} });
  const given = new Set<string>();
  const lost = new Set<string>();
  const times: number[] = [];
  const look = (name: string): void => {
    if (!lost.has(name)) return;
    const may = zones.mayGiveUp(client.stored(name)!, given.has(name));
    if (may && !given.has(name)) times.push(clock.now());
    if (may) given.add(name);
    else given.delete(name);
    // No node of a small zone is given up while more than half of the zone is lost.
    if (may) expect(lost.size <= 2 || lost.size / names.length < 0.55).toBe(true);
  };
  const disconnect = zones.connect((name) => queueMicrotask(() => look(name)));
  const stop = new AbortController();
  const running = nodes.run(stop.signal);
  await settle();
  for (const { type, at } of steps) {
    const name = names[at] ?? '';
    if (type === 'wait') await clock.advance(at);
    else if (type === 'ask') look(name);
    else {
      const ready = type === 'heal';
      if (ready) given.delete(name);
      if (ready) lost.delete(name);
      else lost.add(name);
      client.put(node(name).ready(ready).build());
    }
    await settle();
  }
  disconnect();
  stop.abort();
  await running;
  return times;
}

describe('nodes of a zone', () => {
  it('are never given up faster than one in ten seconds, and never while too many are lost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const times = await play(steps);
        for (let i = 1; i < times.length; i++) expect(times[i]! - times[i - 1]!).toBeGreaterThanOrEqual(10_000);
      }),
      { numRuns: 60 },
    );
  });
});
