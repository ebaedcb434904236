import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { keepServices, readKeptServices } from './kept-services.ts';
import type { KnownServices } from './service-feed.ts';

let nodeDir: string;
beforeEach(() => {
  nodeDir = mkdtempSync(join(tmpdir(), 'berth-services-'));
});
afterEach(() => rmSync(nodeDir, { recursive: true, force: true }));

const known = (name: string): KnownServices => ({
  services: [{ metadata: { namespace: 'a', name }, spec: { clusterIP: '10.43.0.9' } }],
  slices: [{ metadata: { namespace: 'a', name: `${name}-1` }, addressType: 'IPv4' }],
});

function start(folder = nodeDir) {
  const [clock, logger, ending] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const world = { now: known('web'), clock, logger };
  const kept = keepServices({ nodeDir: folder, known: () => world.now, clock, logger });
  const ended = kept.run(ending.signal);
  const end = async () => {
    ending.abort();
    await ended;
  };
  return Object.assign(world, { kept, end });
}
const read = () => readKeptServices(nodeDir);

it('writes what has changed within 30 s, for the agent alone, and reads it back', async () => {
  const { kept, clock, end } = start();
  kept.changed();
  await clock.advance(30_000);
  await expect.poll(read).toEqual(known('web'));
  expect(statSync(join(nodeDir, 'services.json')).mode & 0o777).toBe(0o600);
  await end();
});

it('writes at the end what has changed since, and nothing when nothing has', async () => {
  const world = start();
  await world.end();
  expect(await read()).toBeUndefined();
  const other = start();
  other.kept.changed();
  other.now = known('db');
  await other.end();
  expect(await read()).toEqual(known('db'));
});

it('has no timer while nothing changes', async () => {
  const { kept, clock, end } = start();
  await clock.advance(60_000);
  expect(clock.pending).toBe(0);
  kept.changed();
  await expect.poll(() => clock.pending).toBe(1);
  await clock.advance(30_000);
  await expect.poll(read).toEqual(known('web'));
  await expect.poll(() => clock.pending).toBe(0);
  await end();
});

it('tries a failed write again, and says once why', async () => {
  const folder = join(nodeDir, 'missing');
  const { kept, clock, logger, end } = start(folder);
  kept.changed();
  for (let time = 1; time <= 3; time++) {
    await clock.advance(30_000);
    await expect.poll(() => clock.pending).toBe(1);
  }
  expect(logger.lines.map(({ message }) => message)).toEqual([expect.stringMatching(/cannot be kept .*ENOENT/)]);
  mkdirSync(folder);
  await clock.advance(30_000);
  await expect.poll(() => readKeptServices(folder)).toEqual(known('web'));
  await end();
});

it.each([
  ['cut off', '{"services":[{"meta'],
  ['empty', ''],
  ['null', 'null'],
  ['of another shape', '{"services":{},"slices":[]}'],
  ['of things without a name', '{"services":[null],"slices":[]}'],
])('reads nothing from a file that is %s', async (_, text) => {
  writeFileSync(join(nodeDir, 'services.json'), text);
  expect(await read()).toBeUndefined();
});
