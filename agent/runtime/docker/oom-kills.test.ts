import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createDockerRuntime } from './docker-runtime.ts';
import { createEngine, type Engine, type EngineCall } from './engine.ts';
import { createInventory } from './inventory.ts';
import { labelsOf } from './labels.ts';
import { createOomKills, killedContainers } from './oom-kills.ts';

const id = 'ab'.repeat(32);
const other = 'cd'.repeat(32);
const report = (path: string, prefix = '6,992,686299432,-') =>
  `${prefix};oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${other},mems_allowed=0,oom_memcg=${path},task_memcg=${path},task=tail,pid=9,uid=0\n`;

/** A log that records are appended to, as the kernel does. */
function createLog() {
  const records: (string | Error)[] = [];
  return {
    records,
    close: () => {},
    read() {
      const next = records.shift();
      if (next instanceof Error) throw next;
      return next;
    },
  };
}

describe("a record of the kernel's log", () => {
  it.each([
    ['under the cgroupfs driver', `/docker/${id}`],
    ['under the systemd driver', `/system.slice/docker-${id}.scope`],
    ['in a cgroup that the container made itself', `/docker/${id}/child`],
  ])('names the container whose process is killed %s', (_, path) => {
    expect(killedContainers(report(path))).toEqual([id]);
  });

  it('says nothing when it is no such report, or not the kernel wrote it', () => {
    expect(killedContainers('6,1,2,-;Memory cgroup out of memory: Killed process 9 (tail)\n')).toEqual([]);
    expect(killedContainers(report(`/docker/${id}`, '12,992,686299432,-'))).toEqual([]);
    expect(killedContainers(report('/user.slice'))).toEqual([]);
  });
});

describe('kills for memory', () => {
  it('are known from what the kernel wrote before and after, and from what the engine says', () => {
    const log = createLog();
    log.records.push('6,1,2,-;something else\n', report(`/docker/${id}`));
    const kills = createOomKills(log);
    expect([kills.has(id), kills.has(other)]).toEqual([true, false]);
    log.records.push(report(`/docker/${other}`));
    expect(kills.has(other)).toBe(true);
    expect(kills.has('noted')).toBe(false);
    kills.note('noted');
    expect(kills.has('noted')).toBe(true);
  });

  it('are what the engine says alone where the log cannot be read', () => {
    const log = createLog();
    log.records.push(Object.assign(new Error('EACCES'), { code: 'EACCES' }), report(`/docker/${id}`));
    const kills = createOomKills(log);
    expect([kills.has(id), kills.has(id)]).toEqual([false, false]);
    kills.note(id);
    expect(kills.has(id)).toBe(true);
  });
});

describe('a container that the engine calls failed', () => {
  const identity = {
    podUid: 'u',
    podName: 'web',
    podNamespace: 'default',
    containerName: 'app',
    attempt: 0,
    specHash: 'abc',
    gracePeriodSeconds: 1,
  };
  const labels = labelsOf('n1', identity);
  const times = { StartedAt: '2026-01-01T00:00:01Z', FinishedAt: '2026-01-01T00:00:02Z' };
  const inspection = (state: object) => ({
    Id: id,
    Created: '2026-01-01T00:00:00Z',
    Image: 'sha256:1',
    Config: { Image: 'app:1', Labels: labels, Tty: false },
    State: { Status: 'exited', OOMKilled: false, Pid: 0, Error: '', ...times, ...state },
  });
  /** An engine that has this container only, and writes these events. */
  const engineWith = (state: object, events: readonly object[] = []): Engine => ({
    ...createEngine({ socketPath: '/nowhere' }),
    call: async <T>({ path }: EngineCall) =>
      (path === '/containers/json' ? [{ Id: id, State: 'exited', Labels: labels }] : inspection(state)) as T,
    stream: async () => Readable.from(events.map((event) => Buffer.from(`${JSON.stringify(event)}\n`))),
  });

  it.each([
    ['was killed for memory when the kernel says so', { ExitCode: 137 }, id, true],
    ['was not when the kernel says nothing of it', { ExitCode: 137 }, other, false],
    ['was not when it ended well', { ExitCode: 0 }, id, false],
    ['was when only the engine says so', { ExitCode: 137, OOMKilled: true }, other, true],
  ])('%s', async (_, state, killed, expected) => {
    const inventory = createInventory(engineWith(state), 'n1', { oomKills: { has: (each) => each === killed } });
    expect(await inventory.observe(id)).toMatchObject({ oomKilled: expected });
  });

  it('was killed for memory when the engine says so only after the end', async () => {
    const event = { Action: 'oom', Actor: { ID: id, Attributes: labels }, timeNano: Date.parse(times.StartedAt) * 1e6 };
    const engine = engineWith({ ExitCode: 137 }, [event]);
    const { runtime } = createDockerRuntime({ nodeName: 'n1', engine, oomKills: createOomKills(createLog()) });
    expect(await runtime.list('u')).toMatchObject([{ oomKilled: false }]);
    const abort = new AbortController();
    for await (const { podUid } of runtime.events(abort.signal)) {
      expect(podUid).toBe('u');
      break;
    }
    abort.abort();
    expect(await runtime.list('u')).toMatchObject([{ oomKilled: true }]);
  });
});
