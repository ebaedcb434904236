import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDockerRuntime } from '../../agent/runtime/docker/docker-runtime.ts';
import { createEngine, type Engine, type EngineCall } from '../../agent/runtime/docker/engine.ts';
import type { RuntimeEvent } from '../../agent/runtime/runtime.ts';
import { createFixture, type RuntimeFixture, testImage } from './runtime-fixture.ts';

let f: RuntimeFixture;
const proxies: EngineProxy[] = [];

beforeAll(async () => {
  f = await createFixture('events');
});
afterAll(async () => {
  for (const proxy of proxies) proxy.stop();
  await f?.cleanUp();
});

/** Stands between the runtime and the engine, so that the connection can be cut or hung without touching the engine. */
interface EngineProxy {
  readonly socketPath: string;
  start(): Promise<void>;
  stop(): void;
  hang(): void;
}

function createProxy(): EngineProxy {
  const socketPath = join(tmpdir(), `berth-proxy-${randomUUID().slice(0, 8)}.sock`);
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let hanging = false;
  const proxy: EngineProxy = {
    socketPath,
    start: () =>
      new Promise((resolve) => {
        server = createServer((from) => {
          sockets.add(from);
          from.on('error', () => {});
          if (hanging) return;
          const to = connect('/var/run/docker.sock');
          sockets.add(to);
          to.on('error', () => {});
          from.pipe(to).pipe(from);
        }).listen(socketPath, resolve);
      }),
    stop() {
      server?.close();
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    hang() {
      for (const socket of sockets) socket.unpipe().pause();
      hanging = true;
    },
  };
  proxies.push(proxy);
  return proxy;
}

/** Collects events until one pleases. */
function collector(events: AsyncIterable<RuntimeEvent>) {
  const seen: RuntimeEvent[] = [];
  const waiting = new Set<() => void>();
  const done = (async () => {
    for await (const event of events) {
      seen.push(event);
      for (const wake of waiting) wake();
    }
  })();
  return {
    seen,
    done,
    until: (pleases: (event: RuntimeEvent) => boolean, from = 0) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (!seen.slice(from).some(pleases)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

describe('events', () => {
  it('name the pod and container of what happens, this node only, and end when aborted', async () => {
    const abort = new AbortController();
    const watched = collector(f.runtime.events(abort.signal));
    // A first container may start before the stream is there; the second cannot.
    const early = await f.runShell('exit 0');
    await watched.until((event) => event.podUid === early.podUid);
    const other = await createFixture('elsewhere');
    const stranger = await other.runShell('exit 0');
    await other.cleanUp();
    const app = await f.runShell('sleep 1000');
    await f.runtime.remove(app.id);
    await watched.until((event) => event.containerId === app.id);
    abort.abort();
    await watched.done;
    expect(watched.seen.map((event) => event.podUid)).not.toContain(stranger.podUid);
  });

  it('come back after the connection was lost, and name every pod that there is', async () => {
    const proxy = createProxy();
    await proxy.start();
    const warnings: string[] = [];
    const docker = createDockerRuntime({
      nodeName: f.nodeName,
      socketPath: proxy.socketPath,
      warn: (text) => warnings.push(text),
    });
    const abort = new AbortController();
    const quiet = await f.runShell('sleep 1000');
    const watched = collector(docker.runtime.events(abort.signal));
    const loud = await f.runShell('sleep 1');
    await watched.until((event) => event.podUid === loud.podUid);
    proxy.stop();
    const before = watched.seen.length;
    await expect(docker.runtime.list()).rejects.toMatchObject({ code: 'unavailable' });
    const missed = await f.runShell('sleep 1000');
    await proxy.start();
    await watched.until((event) => event.podUid === quiet.podUid, before);
    await watched.until((event) => event.podUid === missed.podUid, before);
    expect((await docker.runtime.list()).map(({ id }) => id)).toContain(missed.id);
    expect(warnings.length).toBeGreaterThan(0);
    abort.abort();
    await watched.done;
    docker.close();
  });
});

describe('an engine that hangs', () => {
  it('makes a call fail in time instead of holding its caller', async () => {
    const proxy = createProxy();
    await proxy.start();
    const docker = createDockerRuntime({ nodeName: f.nodeName, socketPath: proxy.socketPath, timeoutMs: 300 });
    await docker.runtime.list();
    proxy.hang();
    await expect(docker.runtime.list()).rejects.toMatchObject({ code: 'timeout' });
    await expect(docker.runtime.version()).rejects.toMatchObject({ code: 'timeout' });
    docker.close();
  });

  it('that is not there is unavailable', async () => {
    const docker = createDockerRuntime({ nodeName: f.nodeName, socketPath: join(tmpdir(), 'no-such-engine.sock') });
    await expect(docker.runtime.version()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a list where nothing has changed', () => {
  it('costs one call, however many containers there are', async () => {
    const calls: string[] = [];
    const engine = counted(createEngine(), calls);
    const docker = createDockerRuntime({ nodeName: f.nodeName, engine });
    // The first sandbox finds out what this machine allows, and an image is looked for before it is used.
    await docker.runtime.runSandbox(f.sandbox());
    await docker.images.find(testImage);
    calls.length = 0;
    const pod = await docker.runtime.runSandbox(f.sandbox());
    const app = await docker.runtime.runContainer(f.container(pod));
    expect(calls.map((call) => call.replace(/[0-9a-f]{64}/, 'ID'))).toEqual([
      'POST /containers/create',
      'POST /containers/ID/start',
      'GET /containers/ID/json',
      'POST /containers/create',
      'POST /containers/ID/start',
      'GET /containers/ID/json',
    ]);
    await docker.runtime.list();
    calls.length = 0;
    const first = await docker.runtime.list();
    expect(calls).toEqual(['GET /containers/json']);
    expect(first.find(({ id }) => id === app.id)).toEqual(app);
    await f.runtime.stop(app.id, 0);
    calls.length = 0;
    expect((await docker.runtime.list()).find(({ id }) => id === app.id)).toMatchObject({ state: 'exited', exitCode: 137 });
    expect(calls).toEqual(['GET /containers/json', `GET /containers/${app.id}/json`]);
    docker.close();
  });
});

function counted(engine: Engine, calls: string[]): Engine {
  return {
    ...engine,
    call: <T>(call: EngineCall) => {
      calls.push(`${call.method} ${call.path}`);
      return engine.call<T>(call);
    },
  };
}
