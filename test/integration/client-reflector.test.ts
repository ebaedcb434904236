import type { ChildProcess } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConfigMap } from '../../api/generated/types.ts';
import {
  type Client,
  connect,
  createReflector,
  isAlreadyExists,
  isUnavailable,
  pause,
  type WatchEvent,
} from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { startServer } from './apiserver-harness.ts';
import { killProcess, startServerProcess } from './server-process.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startProcess(dataDir: string, address: string): Promise<ChildProcess> {
  const child = await startServerProcess(dataDir, address);
  cleanups.push(() => killProcess(child));
  return child;
}

/** Creates it, however often the server goes meanwhile. */
async function createSurely(client: Client, name: string): Promise<void> {
  for (;;) {
    try {
      await client.configMaps.create({ metadata: { namespace: 'default', name } });
      return;
    } catch (error) {
      // The attempt before was made, only its answer was lost.
      if (isAlreadyExists(error)) return;
      if (!isUnavailable(error)) throw error;
      await pause(50, new AbortController().signal);
    }
  }
}

/** What a sink is told; each replacement with everything that it holds. */
function follow(client: Client) {
  const seen: string[] = [];
  const logger = createFakeLogger();
  const stop = new AbortController();
  const reflector = createReflector<ConfigMap>({
    name: 'configmaps',
    client: client.configMaps,
    scope: { namespace: 'default' },
    backoff: { initialMs: 20, maxMs: 200 },
    logger,
    sink: {
      replace: (objects) => void seen.push(`REPLACE ${objects.map((object) => object.metadata?.name).join(' ')}`),
      apply: (events: readonly WatchEvent<ConfigMap>[]) =>
        void seen.push(...events.map(({ type, object }) => `${type} ${object.metadata?.name}`)),
    },
  });
  const running = reflector.run(stop.signal);
  cleanups.push(async () => {
    stop.abort();
    await running;
  });
  return { seen, logger };
}

describe('reflector over a real server', () => {
  it('resumes its watch after the server was killed: one list, and then every change once and in order', async () => {
    // Made once in this process, for an address and the credentials.
    const seed = await startServer({ backend: 'lmdb' });
    cleanups.push(seed.remove);
    await seed.stop();
    const client = connect(seed.admin);
    const writer = connect(seed.admin);
    cleanups.push(client.close, writer.close);
    let server = await startProcess(seed.dataDir, seed.info.address);
    await createSurely(writer, 'first');
    const { seen, logger } = follow(client);
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['REPLACE first']);

    const names = Array.from({ length: 30 }, (_, index) => `map-${index}`);
    for (const [index, name] of names.entries()) {
      // A kill costs the server as many versions as it replays at its start:
      // a watcher that was behind has to list again.
      if (index === 10 || index === 20) {
        await expect.poll(() => seen, { timeout: 20_000 }).toContain(`ADDED map-${index - 1}`);
        await killProcess(server);
        server = await startProcess(seed.dataDir, seed.info.address);
      }
      await createSurely(writer, name);
    }
    await expect
      .poll(() => seen, { timeout: 20_000, message: `the reflector's last word: ${JSON.stringify(logger.lines.at(-1))}` })
      .toContain('ADDED map-29');
    expect(seen).toEqual(['REPLACE first', ...names.map((name) => `ADDED ${name}`)]);
    // Where no translation of the sources is cached, each start of the server takes up to 20 s on a loaded machine.
  }, 120_000);
});
