import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { LifecycleHandler } from '../../api/generated/types.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeCommands, exited } from '../../test/fakes/fake-commands.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createRecord } from '../pod/pod-record.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { createHooks } from './hooks.ts';

function house(hook: LifecycleHandler) {
  const clock = createFakeClock();
  const commands = createFakeCommands();
  const told: string[] = [];
  const logger = createFakeLogger();
  const events = (_pod: unknown, type: string, reason: string, message: string) => told.push(`${type} ${reason}: ${message}`);
  const hooks = createHooks({ commands, events, hostIP: '127.0.0.1', clock, logger });
  const container = { name: 'app', lifecycle: { postStart: hook, preStop: hook } };
  const pod = { metadata: { name: 'web', uid: 'u' }, spec: { hostNetwork: true, containers: [container] } };
  const record = createRecord('u', pod);
  const observed = { id: 'app-0', containerName: 'app', podUid: 'u', state: 'running' } as ObservedContainer;
  record.containers.set('app-0', observed);
  const target = { pod, container, containerId: 'app-0', podIP: '127.0.0.1' };
  const never = new AbortController().signal;
  return {
    clock,
    commands,
    told,
    logger,
    record,
    postStart: (signal = never) => hooks.postStart(target, signal),
    preStop: (seconds: number) => hooks.preStop(record, observed, seconds),
  };
}

const command: LifecycleHandler = { exec: { command: ['drain'] } };

describe('a postStart hook', () => {
  it('runs its command without a bound in time', async () => {
    const h = house(command);
    expect(await h.postStart()).toBe(true);
    expect(h.commands.calls).toEqual([{ id: 'app-0', command: ['drain'], timeoutMs: undefined }]);
  });

  it('that fails gives the reason away and nothing that it said', async () => {
    const h = house(command);
    h.commands.answer(() => exited(3, 'password'));
    expect(await h.postStart()).toBe(false);
    expect(h.told).toEqual(['Warning FailedPostStartHook: PostStartHook failed: the command exited with 3']);
    expect(JSON.stringify(h.logger.lines)).toContain('password');
  });

  it('that cannot be run has failed', async () => {
    const h = house(command);
    h.commands.answer(() => Promise.reject(new RuntimeError('conflict', 'is not running')));
    expect(await h.postStart()).toBe(false);
    expect(h.told).toEqual(['Warning FailedPostStartHook: PostStartHook failed: it could not be run']);
  });

  it('of a container that has ended does not count as failed', async () => {
    const h = house(command);
    const abort = new AbortController();
    h.commands.answer(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new RuntimeError('failed', 'aborted')), { once: true });
        }),
    );
    const done = h.postStart(abort.signal);
    abort.abort();
    await done;
    expect(h.told).toEqual([]);
  });

  it('may ask over HTTP, and any answer will do', async () => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(`${request.method} ${request.url} ${request.headers['x-a']}`);
      response.writeHead(500).end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const port = { type: 0, intVal: (server.address() as AddressInfo).port };
    const httpGet = { path: '/up?x=1', port, scheme: 'HTTP', httpHeaders: [{ name: 'X-A', value: 'b' }] };
    expect(await house({ httpGet }).postStart()).toBe(true);
    // A server without TLS that is asked for it is asked again without.
    expect(await house({ httpGet: { ...httpGet, scheme: 'HTTPS' } }).postStart()).toBe(true);
    server.close();
    expect(paths).toEqual(['GET /up?x=1 b', 'GET /up?x=1 b']);
    const h = house({ httpGet });
    expect(await h.postStart()).toBe(false);
    expect(h.told[0]).toMatch(/PostStartHook failed: dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/);
  });

  it('to an invalid host fails', async () => {
    const h = house({ httpGet: { path: '/', host: 'no host', port: { type: 0, intVal: 1 } } });
    expect(await h.postStart()).toBe(false);
    expect(h.told).toEqual(['Warning FailedPostStartHook: PostStartHook failed: it could not be run']);
  });

  it('of an unknown kind fails', async () => {
    const h = house({ tcpSocket: { port: { type: 0, intVal: 80 } } });
    expect(await h.postStart()).toBe(false);
  });
});

describe('a preStop hook', () => {
  it('takes its time from the grace period', async () => {
    const h = house({ sleep: { seconds: 4 } });
    const left = h.preStop(10);
    await h.clock.advance(4_000);
    expect(await left).toBe(6);
    expect(h.clock.pending).toBe(0);
  });

  it('is given up when the grace period is over; its container still gets a moment', async () => {
    const h = house(command);
    let aborted = false;
    h.commands.answer(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener(
            'abort',
            () => {
              aborted = true;
              reject(new RuntimeError('failed', 'aborted'));
            },
            { once: true },
          );
        }),
    );
    const left = h.preStop(10);
    await h.clock.advance(10_000);
    expect(await left).toBe(2);
    expect(aborted).toBe(true);
    expect(h.told).toEqual([]);
  });

  it('that fails is reported and does not keep the container from stopping', async () => {
    const h = house(command);
    h.commands.answer(() => exited(1));
    expect(await h.preStop(10)).toBe(10);
    expect(h.told).toEqual(['Warning FailedPreStopHook: PreStopHook failed: the command exited with 1']);
  });

  it('runs once, however often its container is told to stop, and a shorter grace period cuts it', async () => {
    const h = house({ sleep: { seconds: 60 } });
    const first = h.preStop(100);
    await h.clock.advance(10_000);
    const second = h.preStop(5);
    await h.clock.advance(5_000);
    expect(await second).toBe(2);
    expect(await first).toBe(85);
    expect(await h.preStop(7)).toBe(7);
    h.commands.answer(() => exited(0));
    expect(h.clock.pending).toBe(0);
  });

  it('does not run without a grace period', async () => {
    const h = house(command);
    expect(await h.preStop(0)).toBe(0);
    await settle();
    expect(h.commands.calls).toEqual([]);
  });

  it('runs again for the next container of that name', async () => {
    const h = house(command);
    await h.preStop(5);
    h.record.containers.clear();
    h.record.containers.set('app-1', { id: 'app-1', containerName: 'app' } as ObservedContainer);
    await h.preStop(5);
    expect(h.commands.calls).toHaveLength(2);
  });
});
