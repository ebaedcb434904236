import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isNotFound } from '../../api/errors/index.ts';
import { runAttached } from '../../cli/run/run-attached.ts';
import type { Pod } from '../../client/index.ts';
import { testProgram } from '../fixtures/test-program.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// `berth run` against a real API server without nodes: no pod ever runs here. test/e2e/run.test.ts has real containers.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  await cli.close();
  await server.stop();
  await server.remove();
});

const pod = (name: string): Promise<Pod | undefined> =>
  server.client.pods.get({ namespace: 'default', name }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
const run = (name: string, ...words: string[]) => cli.berth('run', name, '--image=busybox', ...words);

describe('flags of the pod', () => {
  it('are printed and not stored with --dry-run', async () => {
    const words = [
      '-l',
      'a=b',
      '--env=A=1',
      '--port=80',
      '--annotations=n=v',
      '--overrides={"spec":{"priority":0,"hostNetwork":true}}',
    ];
    for (const where of ['client', 'server']) {
      const { code, out } = await run('dry', ...words, `--dry-run=${where}`, '-o', 'json', '--', 'sleep', '1');
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({
        metadata: { name: 'dry', namespace: 'default', labels: { a: 'b' }, annotations: { n: 'v' } },
        spec: { hostNetwork: true, containers: [{ name: 'dry', args: ['sleep', '1'], env: [{ name: 'A', value: '1' }] }] },
      });
    }
    expect(await pod('dry')).toBeUndefined();
  });

  it.each([
    [['--overrides={"spec":{"container":[]}}', '--dry-run=client'], 'spec.container: unknown field; did you mean "containers"?'],
    [['--overrides={"metadata":{"namespace":"other"}}'], 'does not match the namespace "default"; add --namespace=other'],
    [['--rm'], '--rm should only be used for attached containers'],
    [['-t'], '-i/--stdin is required'],
    [['-i', '--dry-run=client'], "--dry-run=client can't be used with attached containers"],
    [['-i', '--pod-running-timeout=soon'], '"soon" is not a span of time'],
    [['-i', '--pod-running-timeout=0'], '--pod-running-timeout must be higher than zero'],
  ])('%j is refused and nothing is stored', async (words, message) => {
    expect(await run('bad', ...words)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) });
    expect(await pod('bad')).toBeUndefined();
  });
});

describe('an attached pod that does not run', () => {
  it('is an error after --pod-running-timeout, and with --rm the pod is deleted', async () => {
    const words = ['--attach', '--pod-running-timeout=1s', '--restart=Never'];
    expect(await run('late', ...words, '--rm')).toEqual({
      code: 1,
      out: 'pod "late" deleted\n',
      err: 'error: timed out after 1s waiting for pod default/late to run\n',
    });
    expect(await pod('late')).toBeUndefined();
    expect(await run('late', ...words)).toMatchObject({ code: 1, out: '' });
    expect(await pod('late')).toBeDefined();
  });

  it('is not deleted when another one of its name is there', async () => {
    const before = await pod('late');
    expect(await run('late', '-i', '--rm')).toMatchObject({ code: 1, out: '', err: expect.stringContaining('already exists') });
    expect((await pod('late'))?.metadata?.uid).toBe(before?.metadata?.uid);
  });

  it('is deleted when a signal comes before the answer to its creation', async () => {
    const create = async (): Promise<Pod> => {
      const spec = { containers: [{ name: 'early', image: 'busybox' }] };
      const made = await server.client.pods.create({ metadata: { namespace: 'default', name: 'early' }, spec });
      const told = once(process, 'SIGHUP');
      process.kill(process.pid, 'SIGHUP');
      await told;
      return made;
    };
    const flags = { rm: true, quiet: true, podRunningTimeout: '1m' };
    // It waits for the pod no longer: a rejection of that wait, unhandled, would end the command with code 1.
    await expect(runAttached(server.client, create, flags)).rejects.toMatchObject({ exitCode: 129 });
    expect(await pod('early')).toBeUndefined();
  });

  it('ends the command with the reason when the pod fails before, or is deleted', async () => {
    const failing = run('fails', '--attach', '--rm', '-q', '--restart=Never');
    await vi.waitFor(async () => expect(await pod('fails')).toBeDefined(), { timeout: 30_000 });
    const status = { phase: 'Failed', reason: 'Evicted', message: 'the disk is full' };
    await server.client.pods.updateStatus({ metadata: { namespace: 'default', name: 'fails' }, status });
    expect(await failing).toEqual({
      code: 1,
      out: '',
      err: 'error: pod default/fails ended before its container ran (Evicted: the disk is full)\n',
    });
    expect(await pod('fails')).toBeUndefined();
    const deleted = run('gone', '--attach', '--rm');
    await vi.waitFor(async () => expect(await pod('gone')).toBeDefined(), { timeout: 30_000 });
    await server.client.pods.delete({ namespace: 'default', name: 'gone' });
    expect(await deleted).toEqual({ code: 1, out: '', err: 'error: pod "gone" in namespace "default" not found\n' });
  });
});

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)(
  'deletes the pod after %s and ends as a program that the signal ended',
  async (signal, code) => {
    const name = signal.toLowerCase();
    const program = await testProgram('test/integration/cli-process.ts');
    const child = spawn(process.execPath, [program, 'run', name, '--image=busybox', '-i', '--rm'], { stdio: 'pipe' });
    let said = '';
    for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    await vi.waitFor(async () => expect(await pod(name)).toBeDefined(), { timeout: 60_000 });
    child.kill(signal);
    const ended = await once(child, 'close');
    expect([...ended, said]).toEqual([code, null, `pod "${name}" deleted\n`]);
    expect(await pod(name)).toBeUndefined();
  },
  120_000,
);
