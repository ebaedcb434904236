import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { keepPolicies, readKeptPolicies } from './kept-policies.ts';
import type { KnownPolicies } from './policy-feed.ts';

let nodeDir: string;
beforeEach(() => {
  nodeDir = mkdtempSync(join(tmpdir(), 'berth-policies-'));
});
afterEach(() => rmSync(nodeDir, { recursive: true, force: true }));

const known: KnownPolicies = {
  policies: [{ metadata: { namespace: 'a', name: 'p' }, spec: { podSelector: {} } }],
  slices: [{ metadata: { namespace: 'a', name: 's' }, pods: [{ uid: 'u', podIPs: ['10.42.0.2'] }] }],
  pods: [['u', { namespace: 'a', labels: { app: 'web' }, ports: [] }]],
};

it('writes what has changed within 5 s, for the agent alone, and reads it back', async () => {
  const [clock, ending] = [createFakeClock(), new AbortController()];
  const kept = keepPolicies({ nodeDir, known: () => known, clock, logger: createFakeLogger() });
  const ended = kept.run(ending.signal);
  kept.changed();
  await clock.advance(5_000);
  await expect.poll(() => readKeptPolicies(nodeDir)).toEqual(known);
  expect(statSync(join(nodeDir, 'network-policies.json')).mode & 0o777).toBe(0o600);
  ending.abort();
  await ended;
});

it.each([
  ['nothing', undefined],
  ['half of a file', '{"policies":[]'],
  ['something else', '{"policies":{}}'],
])('knows nothing when there is %s', async (_, text) => {
  if (text !== undefined) writeFileSync(join(nodeDir, 'network-policies.json'), text);
  expect(await readKeptPolicies(nodeDir)).toBeUndefined();
});
