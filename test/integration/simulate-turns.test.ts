import { afterAll, beforeAll, expect, it } from 'vitest';
import { defaultSchedulerName } from '../../api/meta/well-known.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
const stop = new AbortController();
let isAsked = false;
beforeAll(async () => {
  server = await startServer();
  const answer = async () => {
    isAsked = true;
    return { simulation: { pods: [] } };
  };
  void server.client.placements.serve(defaultSchedulerName, answer, { signal: stop.signal }).catch(() => {});
});
afterAll(async () => {
  stop.abort();
  await server.stop();
  await server.remove();
});

it('other calls have their turn while the server completes the pods of a simulation', async () => {
  const containers = Array.from({ length: 30 }, (_, i) => ({ name: `c${i}`, image: 'i', env: [{ name: 'A', value: 'b' }] }));
  const pods = Array.from({ length: 1_000 }, (_, i) => ({
    metadata: { namespace: 'default', name: `p${i}` },
    spec: { containers },
  }));
  const asked = server.client.placements.simulate({ pods });
  const start = performance.now();
  let last = start;
  let longest = 0;
  while (!isAsked) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await asked;
  // Decoding the request is one piece of it, which is far less than half.
  expect(longest / (last - start)).toBeLessThan(0.5);
});
