import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../api/generated/types.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { createRecord } from './pod-record.ts';
import { createTerminationMessages } from './termination-messages.ts';

const file: Container = { name: 'app', terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' };
const logs: Container = { ...file, terminationMessagePolicy: 'FallbackToLogsOnError' };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-words-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A pod whose container "app" has ended, after it left this in its file, with this log. */
async function end(options: {
  container?: Container;
  wrote?: string | Buffer;
  log?: string;
  ended?: Partial<ObservedContainer>;
  others?: number;
}) {
  const { container = file, wrote = '', log = '', others = 0 } = options;
  const more = Array.from({ length: others }, (_, i) => ({ ...file, name: `other-${i}` }));
  const pod: Pod = { metadata: { uid: 'u', name: 'web' }, spec: { containers: [container, ...more] } };
  const asked: unknown[] = [];
  const messages = createTerminationMessages({
    podDir: (uid) => join(folder, uid),
    access: {
      async *logs(_id, { tailLines }) {
        asked.push(tailLines);
        if (log === 'away') throw new RuntimeError('unavailable', 'the engine is away');
        for (let at = 0; at < log.length; at += 1000) yield Buffer.from(log.slice(at, at + 1000));
      },
    },
    logger: createFakeLogger(),
  });
  const mount = await messages.prepare(pod, container, 0);
  if (mount !== undefined && wrote !== '') writeFileSync(mount.hostPath, wrote);
  const record = createRecord('u', pod);
  const ended = {
    id: 'c',
    podUid: 'u',
    containerName: 'app',
    attempt: 0,
    state: 'exited',
    exitCode: 1,
    error: '',
    ...options.ended,
  };
  record.containers.set('c', ended as ObservedContainer);
  const collect = async () => {
    await messages.collect(record);
    return record.messages.get('c');
  };
  return { pod, messages, mount, record, asked, collect };
}

describe('the file for the last words of a container', () => {
  it('is empty, open to every user, and mounted where the container says', async () => {
    const { mount } = await end({ container: { ...file, terminationMessagePath: '/tmp/words' } });
    expect(mount).toMatchObject({ containerPath: '/tmp/words', readOnly: false });
    expect(statSync(mount!.hostPath).mode & 0o777).toBe(0o666);
    expect(readFileSync(mount!.hostPath, 'utf8')).toBe('');
  });

  it('is made anew for each attempt, and those of attempts that are gone are removed', async () => {
    const { messages, pod, mount } = await end({ wrote: 'old' });
    for (const attempt of [1, 2, 3]) await messages.prepare(pod, file, attempt);
    expect(readdirSync(dirname(mount!.hostPath))).toEqual(['2', '3']);
    const again = await messages.prepare(pod, file, 3);
    expect(readFileSync(again!.hostPath, 'utf8')).toBe('');
  });

  it('is none where the container wants none, or where it cannot be made', async () => {
    expect((await end({ container: { ...file, terminationMessagePath: '' } })).mount).toBeUndefined();
    writeFileSync(join(folder, 'u2'), '');
    const messages = createTerminationMessages({
      podDir: () => join(folder, 'u2'),
      access: { logs: async function* () {} },
      logger: createFakeLogger(),
    });
    expect(await messages.prepare({}, file, 0)).toBeUndefined();
  });
});

describe('the last words of a container', () => {
  it('are what is in the file, whatever its exit code, and are read once', async () => {
    const h = await end({ wrote: 'bye\n', ended: { exitCode: 0 } });
    expect(await h.collect()).toBe('bye\n');
    writeFileSync(h.mount!.hostPath, 'later');
    expect(await h.collect()).toBe('bye\n');
    h.record.containers.clear();
    expect(await h.collect()).toBeUndefined();
  });

  it('are the last 4096 bytes of a long file', async () => {
    expect(await (await end({ wrote: `${'a'.repeat(5000)}z` })).collect()).toBe(`${'a'.repeat(4095)}z`);
  });

  it('are cut to an equal share of the 12 KiB of a pod', async () => {
    expect(await (await end({ wrote: 'a'.repeat(4096), others: 5 })).collect()).toBe('a'.repeat(2048));
  });

  it('are the end of the log of one that failed and left no file, if that is its policy', async () => {
    const h = await end({ container: logs, log: `${'l'.repeat(4000)}end` });
    expect(await h.collect()).toBe(`${'l'.repeat(2045)}end`);
    expect(h.asked).toEqual([80]);
  });

  it.each([
    ['with the policy File', { container: file }],
    ['when it ended well', { container: logs, ended: { exitCode: 0 } }],
    ['when it could not be started', { container: logs, ended: { exitCode: 127, error: 'no such file' } }],
    ['when there is something in the file', { container: logs, wrote: 'words' }],
  ])('are not taken from the log %s', async (_, options) => {
    const h = await end({ ...options, log: 'log' });
    expect(await h.collect()).toBe('wrote' in options ? 'words' : '');
    expect(h.asked).toEqual([]);
  });

  it('are waited for while the engine is away', async () => {
    const h = await end({ container: logs, log: 'away' });
    await expect(h.collect()).rejects.toMatchObject({ code: 'unavailable' });
    expect(h.record.messages.size).toBe(0);
  });

  it('are never read through a link', async () => {
    const h = await end({});
    writeFileSync(join(folder, 'secret'), 'secret');
    rmSync(h.mount!.hostPath);
    symlinkSync(join(folder, 'secret'), h.mount!.hostPath);
    expect(await h.collect()).toMatch(/^Error on reading termination log: ELOOP/);
  });

  it('are not asked of one that still runs', async () => {
    const h = await end({ wrote: 'soon', ended: { state: 'running' } });
    expect(await h.collect()).toBeUndefined();
  });
});
