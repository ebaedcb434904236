import { createHash } from 'node:crypto';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdSandboxImage, withSandboxImage } from '../../agent/pause/held-image.ts';
import { ownSandboxImage } from '../../agent/pause/sandbox-image.ts';
import type { AttachSession, ExecOptions, ExecSession, LogOptions, ObservedContainer } from '../../agent/runtime/runtime.ts';
import { eventually } from './installation.ts';
import { busyboxLayer, createFixture, type RuntimeFixture, readAll, testImage } from './runtime-fixture.ts';

const plain: LogOptions = { follow: false, tailLines: undefined, sinceTime: undefined, timestamps: false, limitBytes: undefined };
const limit = () => AbortSignal.timeout(60_000);
let f: RuntimeFixture;

beforeAll(async () => {
  f = await createFixture('access');
});
afterAll(() => f?.cleanUp());

const logs = (container: ObservedContainer, options: Partial<LogOptions>) =>
  readAll(f.access.logs(container.id, { ...plain, ...options }, limit()));

async function collectOutput(session: AttachSession): Promise<{ stdout: string; stderr: string }> {
  const parts = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  for await (const { stream, data } of session.output()) parts[stream].push(data);
  const text = (chunks: Uint8Array[]) => Buffer.concat(chunks).toString();
  return { stdout: text(parts.stdout), stderr: text(parts.stderr) };
}

describe('logs', () => {
  it('follow a container to its end, both streams, every byte of it', async () => {
    const app = await f.runShell('seq 1 20000; echo problem >&2; sleep 1; seq 20001 40000');
    const text = await logs(app, { follow: true });
    // Two streams of a container have no order between them.
    const lines = text.split('\n').filter((line) => line !== 'problem');
    expect(lines).toEqual([...Array.from({ length: 40_000 }, (_, i) => String(i + 1)), '']);
    expect(text).toContain('problem\n');
  });

  it('are cut by lines, bytes and time, and show times', async () => {
    const app = await f.runShell('echo one; echo two; sleep 1.2; echo three');
    await logs(app, { follow: true });
    expect(await logs(app, { tailLines: 1 })).toBe('three\n');
    expect(await logs(app, { tailLines: 0 })).toBe('');
    expect(await logs(app, { limitBytes: 6 })).toBe('one\ntw');
    const stamped = (await logs(app, { timestamps: true })).trim().split('\n');
    expect(stamped[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z one$/);
    const third = new Date(stamped[2]?.split(' ')[0] ?? '');
    expect(await logs(app, { sinceTime: new Date(third.getTime() - 100) })).toBe('three\n');
  });

  it('of a terminal come as they are', async () => {
    const app = await f.runShell('echo hi; echo there >&2', { tty: true });
    expect(await logs(app, { follow: true })).toBe('hi\r\nthere\r\n');
  });

  it('come through the engine where its files cannot be read beside it', async () => {
    const app = await f.runShell('sleep 1000');
    const engine = new Docker();
    // One file, which the engine empties when it is full.
    const created = await engine.createContainer({
      Image: testImage,
      Cmd: ['sh', '-c', 'echo one; echo two >&2; sleep 1; echo three'],
      Labels: (await engine.getContainer(app.id).inspect()).Config.Labels,
      HostConfig: { LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } } },
    });
    await created.start();
    const text = await readAll(f.access.logs(created.id, { ...plain, follow: true, timestamps: true }, limit()));
    const [first = '', ...others] = text.trimEnd().split('\n');
    expect(first).toMatch(/^\S+Z (one|two)$/);
    expect(others.map((line) => line.split(' ')[1]).sort()).toEqual([first.endsWith('one') ? 'two' : 'one', 'three'].sort());
    expect(await readAll(f.access.logs(created.id, { ...plain, tailLines: 1 }, limit()))).toBe('three\n');
  });

  it('end when the reader goes away or aborts', async () => {
    const app = await f.runShell('while true; do echo tick; sleep 0.05; done');
    const abort = new AbortController();
    let seen = 0;
    for await (const _ of f.access.logs(app.id, { ...plain, follow: true }, abort.signal)) {
      if (++seen === 3) abort.abort();
    }
    for await (const _ of f.access.logs(app.id, { ...plain, follow: true }, limit())) break;
    expect(seen).toBeGreaterThanOrEqual(3);
  });

  it('of a container that is gone say so', async () => {
    await expect(readAll(f.access.logs('0123456789ab', plain, limit()))).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('exec', () => {
  let app: ObservedContainer;
  beforeAll(async () => {
    app = await f.runShell('sleep 1000');
  });

  const exec = (command: string[], options: Partial<ExecOptions> = {}) =>
    f.access.exec(app.id, { command, tty: false, stdin: false, ...options }, limit());

  const collect = async (session: ExecSession) => ({ ...(await collectOutput(session)), code: await session.exitCode() });

  it('keeps the streams apart and tells the exit code', async () => {
    const session = await exec(['sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(await collect(session)).toEqual({ stdout: 'out\n', stderr: 'err\n', code: 7 });
  });

  it('passes the end of input on without cutting the output', async () => {
    const session = await exec(['sh', '-c', 'cat; sleep 0.5; echo after'], { stdin: true });
    await session.write(Buffer.from('some input\n'));
    await session.closeInput();
    expect(await collect(session)).toEqual({ stdout: 'some input\nafter\n', stderr: '', code: 0 });
  });

  it('carries megabytes through cat both ways without losing a byte', async () => {
    const session = await exec(['cat'], { stdin: true });
    const data = Buffer.alloc(8 * 1024 * 1024, 'The quick brown fox jumps over the lazy dog. ');
    const writing = (async () => {
      for (let at = 0; at < data.length; at += 65_536) await session.write(data.subarray(at, at + 65_536));
      await session.closeInput();
    })();
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of session.output()) {
      hash.update(chunk.data);
      length += chunk.data.length;
    }
    await writing;
    expect(length).toBe(data.length);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(data).digest('hex'));
    expect(await session.exitCode()).toBe(0);
  });

  it('applies back-pressure to the program while the client does not read', async () => {
    const session = await exec(['cat'], { stdin: true });
    const chunk = Buffer.alloc(1024 * 1024);
    let written = 0;
    const writing = (async () => {
      for (; written < 200; written++) await session.write(chunk);
    })().catch(() => {});
    try {
      // It stands still, or it has gone too far.
      let [seen, still] = [-1, 0];
      await eventually('the writer is held back', async () => {
        still = written === seen ? still + 1 : 0;
        seen = written;
        return (written > 0 && still >= 10) || written >= 50 ? true : undefined;
      });
      expect(written).toBeLessThan(50);
    } finally {
      session.close();
      await writing;
    }
  });

  it('gives a terminal of the size asked for', async () => {
    const session = await exec(['sh', '-c', 'read x; stty size; echo "got $x"'], { tty: true, stdin: true });
    await session.resize(123, 45);
    await session.write(Buffer.from('word\n'));
    const { stdout, code } = await collect(session);
    expect(stdout.replaceAll('\r', '')).toBe('word\n45 123\ngot word\n');
    expect(code).toBe(0);
  });

  it('fails cleanly for a command that does not exist and a container that has ended', async () => {
    const session = await exec(['no-such-command']);
    expect((await collect(session)).code).toBe(126);
    const ended = await f.runShell('exit 0');
    await logs(ended, { follow: true });
    await f.runtime.stop(ended.id, 0);
    await expect(f.access.exec(ended.id, { command: ['true'], tty: false, stdin: false }, limit())).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('lets go when aborted', async () => {
    const abort = new AbortController();
    const session = await f.access.exec(app.id, { command: ['sleep', '1000'], tty: false, stdin: false }, abort.signal);
    setTimeout(() => abort.abort(), 50);
    for await (const _ of session.output()) throw new Error('sleep writes nothing');
  });
});

describe('attach from the start', () => {
  const streams = { stdout: true, stderr: true, fromStart: true };
  const attach = ({ id }: ObservedContainer, stdin = true) => f.access.attach(id, { ...streams, stdin }, limit());
  const ended = (container: ObservedContainer) => logs(container, { follow: true });
  const twice = 'echo same; echo same; echo problem >&2; echo problem >&2';
  const both = { stdout: 'same\nsame\n', stderr: 'problem\nproblem\n' };

  it('of a terminal has every byte once, the prompt too, and passes input on', async () => {
    for (const late of [false, true, false, true]) {
      const app = await f.runShell("echo same; echo same; printf '$ '; read x; echo got $x", { tty: true, stdin: true });
      if (late) await eventually('it has written', async () => /same/.test(await logs(app, {})) || undefined);
      const session = await attach(app);
      let text = '';
      for await (const { data } of session.output()) {
        text += Buffer.from(data).toString();
        if (text === 'same\r\nsame\r\n$ ') await session.write(Buffer.from('word\n'));
      }
      expect(text).toBe('same\r\nsame\r\n$ word\r\ngot word\r\n');
    }
  });

  it('keeps the streams apart and passes the end of input on', async () => {
    const app = await f.runShell(`${twice}; cat; echo over`, { stdin: true, stdinOnce: true });
    const session = await attach(app);
    await session.write(Buffer.from('some input\n'));
    await session.closeInput();
    expect(await collectOutput(session)).toEqual({ ...both, stdout: 'same\nsame\nsome input\nover\n' });
  });

  it('of one that has no input, or has ended, comes from the log', async () => {
    const plain = await f.runShell(`${twice}; while [ ! -e /tmp/enough ]; do sleep 0.1; done; echo last`);
    const reading = collectOutput(await attach(plain, false));
    await eventually('it has written', async () => /problem/.test(await logs(plain, {})) || undefined);
    const touch = await f.access.exec(plain.id, { command: ['touch', '/tmp/enough'], tty: false, stdin: false }, limit());
    await collectOutput(touch);
    expect(await reading).toEqual({ ...both, stdout: `${both.stdout}last\n` });

    const over = await f.runShell(twice, { stdin: true });
    await ended(over);
    for (const stdin of [true, false]) expect(await collectOutput(await attach(over, stdin))).toEqual(both);
  });

  it('has all that was written before, however much', async () => {
    const lines = `${Array.from({ length: 100_000 }, (_, i) => i + 1).join('\n')}\n`;
    const app = await f.runShell('seq 1 100000; read x; echo got $x', { stdin: true });
    await eventually('it has written', async () => (await logs(app, { tailLines: 1 })) === '100000\n' || undefined);
    const session = await attach(app);
    await session.write(Buffer.from('word\n'));
    expect((await collectOutput(session)).stdout).toBe(`${lines}got word\n`);
  });

  it('serves several sessions, and lets go when one closes or aborts', async () => {
    const app = await f.runShell(`${twice}; sleep 1000`, { stdin: true });
    const abort = new AbortController();
    const first = await f.access.attach(app.id, { ...streams, stdin: true }, abort.signal);
    const second = await attach(app);
    const read = async (session: AttachSession, enough: () => void) => {
      let length = 0;
      for await (const { data } of session.output()) {
        length += data.length;
        if (length === 26) enough();
      }
      return length;
    };
    const lengths = [read(first, () => abort.abort()), read(second, () => second.close())];
    expect(await Promise.all(lengths)).toEqual([26, 26]);
  });
});

describe('images', () => {
  it('are found by name, short name and id, and not when they are absent', async () => {
    const image = await f.images.find('berth/pause:3');
    expect(image?.names).toContain('berth/pause:3');
    expect(await f.images.find(image?.id ?? '')).toEqual(image);
    expect(await f.images.find('berth/pause')).toBeUndefined();
    expect(await f.images.find('no-such/image:1')).toBeUndefined();
    expect((await f.images.list()).map(({ id }) => id)).toContain(image?.id);
  });

  it('are no sandbox image by having its name: the agent goes on with its own, by id', async () => {
    const held = holdSandboxImage(f.images);
    const own = await held.id();
    const other = await f.images.load(ownSandboxImage, await busyboxLayer(), ['/evil']);
    expect((await f.images.find(ownSandboxImage))?.id).toBe(other.id);
    const sandbox = await withSandboxImage(f.runtime, held).runSandbox(f.sandbox());
    expect([sandbox.state, sandbox.imageId]).toEqual(['running', own]);
    // An agent that starts then takes the name back.
    expect(await holdSandboxImage(f.images).id()).toBe(own);
    expect((await f.images.find(ownSandboxImage))?.id).toBe(own);
    await f.images.remove(other.id);
  });

  it('fail to be pulled with a reason: no such registry, no such name', async () => {
    await expect(f.images.pull('nonexistent.invalid/x', { signal: limit() })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('pull image nonexistent.invalid/x'),
    });
    await expect(f.images.pull('Upper/Case', { signal: limit() })).rejects.toMatchObject({ code: 'image-invalid-name' });
  });
});
