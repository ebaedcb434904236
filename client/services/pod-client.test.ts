import { afterEach, describe, expect, it } from 'vitest';
import { isCancelled, isUnavailable } from '../../api/errors/index.ts';
import { type Script, type ScriptedStream, startScriptedServer } from '../../test/fakes/scripted-server.ts';
import { connect } from '../connect.ts';
import type { ExecStream } from '../pod-streams/pod-streams.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function setup(script: Script) {
  const server = await startScriptedServer(script);
  const client = connect({ address: server.address, ca: server.pki.ca });
  cleanups.push(server.stop, client.close);
  return { client, server };
}

const key = { namespace: 'default', name: 'web' };

async function read(exec: ExecStream): Promise<string[]> {
  const pieces: string[] = [];
  for await (const { stream, data } of exec.output()) pieces.push(`${stream} ${data}`);
  return pieces;
}

describe('pod client', () => {
  it('binds a pod to a node, with its uid as the precondition', async () => {
    const seen: unknown[] = [];
    const { client } = await setup({
      unary: {
        'berth.core.v1.Pods/Bind': (request) => {
          seen.push(request);
          return { metadata: key, spec: { nodeName: 'n1' } };
        },
      },
    });
    expect((await client.pods.bind({ ...key, uid: 'u1' }, 'n1')).spec?.nodeName).toBe('n1');
    expect(seen).toEqual([
      { object: { metadata: { ...key, uid: 'u1' }, target: { kind: 'Node', apiVersion: 'v1', name: 'n1' } } },
    ]);
  });

  it('gives a log piece by piece, until the server ends it', async () => {
    const { client } = await setup({
      streaming: {
        'berth.core.v1.Pods/Logs': (request, call) => {
          expect(request).toEqual({ ...key, options: { container: 'main', follow: true } });
          for (const text of ['one\n', 'two\n']) call.write({ data: Buffer.from(text) });
          call.end();
        },
      },
    });
    const pieces: string[] = [];
    for await (const data of client.pods.logs(key, { container: 'main', follow: true })) pieces.push(String(data));
    expect(pieces).toEqual(['one\n', 'two\n']);
  });
});

describe('exec', () => {
  it('sends the command first, then input and sizes, and gives output and exit code', async () => {
    const frames: unknown[] = [];
    const { client } = await setup({
      duplex: {
        'berth.core.v1.Pods/Exec': (call) =>
          call.onMessage((frame) => {
            frames.push(frame);
            if (!frame.stdinClose) return;
            call.write({ stdout: Buffer.from('out') });
            call.write({ stderr: Buffer.from('err') });
            call.write({ exit: { code: 3 } });
            call.end();
          }),
      },
    });
    const exec = client.pods.exec(key, { command: ['cat'], stdin: true, tty: true });
    await exec.write(Buffer.from('hello'));
    exec.resize(80, 24);
    exec.closeInput();
    expect(await read(exec)).toEqual(['stdout out', 'stderr err']);
    expect(await exec.exitCode()).toBe(3);
    expect(frames).toEqual([
      { start: { ...key, options: { command: ['cat'], stdin: true, tty: true } } },
      { stdin: Buffer.from('hello') },
      { resize: { width: 80, height: 24 } },
      { stdinClose: {} },
    ]);
  });

  it('gives 0 for a command that ended well', async () => {
    const { client } = await setup({
      duplex: {
        'berth.core.v1.Pods/Exec': (call) => {
          call.write({ exit: {} });
          call.end();
        },
      },
    });
    const exec = client.pods.exec(key, { command: ['true'] });
    expect(await read(exec)).toEqual([]);
    expect(await exec.exitCode()).toBe(0);
  });

  it('makes the writer wait for a command that does not read', async () => {
    const total = 200;
    const stalled: ScriptedStream[] = [];
    let received = 0;
    const { client } = await setup({
      unary: { 'berth.core.v1.Pods/Get': () => ({}) },
      duplex: {
        'berth.core.v1.Pods/Exec': (call) => {
          stalled.push(call);
          call.raw.on('error', () => {});
        },
      },
    });
    const exec = client.pods.exec(key, { command: ['cat'], stdin: true });
    let written = 0;
    const writing = (async () => {
      for (; written < total; written++) await exec.write(Buffer.alloc(64 * 1024));
      exec.closeInput();
    })();
    for (let call = 0; call < 50; call++) await client.pods.get(key);
    expect(written).toBeLessThan(100);
    stalled[0]!.onMessage((frame) => {
      if (frame.stdin) received++;
      if (!frame.stdinClose) return;
      stalled[0]!.write({ exit: { code: 0 } });
      stalled[0]!.end();
    });
    expect(await read(exec)).toEqual([]);
    await writing;
    expect(received).toBe(total);
  });

  it('ends output, exit code and waiting writes with UNAVAILABLE when the server goes', async () => {
    const { client, server } = await setup({
      duplex: { 'berth.core.v1.Pods/Exec': (call) => void call.write({ stdout: Buffer.from('a') }) },
    });
    const exec = client.pods.exec(key, { command: ['cat'], stdin: true });
    const writing = (async () => {
      for (;;) await exec.write(Buffer.alloc(64 * 1024));
    })();
    const failed = expect(writing).rejects.toSatisfy(isUnavailable);
    const reading = (async () => {
      for await (const _piece of exec.output()) server.stop();
    })();
    await expect(reading).rejects.toSatisfy(isUnavailable);
    await expect(exec.exitCode()).rejects.toSatisfy(isUnavailable);
    await failed;
  });

  it('ends the command when the loop over its output is left', async () => {
    let gone = () => {};
    const noticed = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const { client } = await setup({
      duplex: {
        'berth.core.v1.Pods/Exec': (call) => {
          call.onCancelled(gone);
          call.onMessage(() => void call.write({ stdout: Buffer.from('a') }));
        },
      },
    });
    const exec = client.pods.exec(key, { command: ['yes'] });
    for await (const _piece of exec.output()) break;
    await noticed;
    await expect(exec.exitCode()).rejects.toSatisfy(isCancelled);
  });

  it('says so when the connection ends before the command does', async () => {
    const { client } = await setup({ duplex: { 'berth.core.v1.Pods/Exec': (call) => call.end() } });
    const exec = client.pods.exec(key, { command: ['cat'] });
    await read(exec);
    await expect(exec.exitCode()).rejects.toThrow(/exec in pod "web": the connection ended before the command did/);
  });
});
