import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createChance } from '../chaos/random.ts';
import { eventually, run } from './installation.ts';
import { createPodHouse, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// The server is killed over and over under people's commands and under running pods. It comes back by itself each time.
/** The supervisor backs off after each kill: more rounds would be mostly waiting. */
const rounds = 5;
const longestLifeMs = 2_500;
let house: PodHouse;
const begun: { isRunning(): boolean; end(): Promise<void> }[] = [];
beforeAll(async () => {
  house = await createPodHouse('server-kill');
  await house.apply(podOf('one', [script(stay), script(stay, { name: 'side' })]), podOf('two', [script(stay)]));
  for (const name of ['one', 'two']) await house.running(name);
});
afterAll(async () => {
  // A test that failed half-way has left them.
  for (const each of begun) if (each.isRunning()) await each.end();
  await house?.berth.purge();
});

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
const step = (index: number) => `step-${String(index).padStart(4, '0')}`;
const manifest = (index: number) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: step(index) }, data: { index: String(index) } });

/** What the engine has of the node's containers, with the time of their last start. */
async function engineView(): Promise<string[]> {
  const { stdout } = await run('docker', ['ps', '-aq', '--no-trunc', '--filter', `label=io.berth.node=${house.berth.nodeName}`]);
  const ids = stdout.split('\n').filter(Boolean);
  const view = await run('docker', ['inspect', '--format', '{{.Id}} {{.State.Status}} {{.State.StartedAt}}', ...ids]);
  return view.stdout.split('\n').filter(Boolean).sort();
}

/** A command that goes on until it is told to end; gives its lines. */
function begin(...args: string[]) {
  const child = spawn(process.execPath, [launcher, ...args], { env: { ...process.env, BERTH_CONFIG: house.berth.config } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const command = {
    lines: () => stdout.split('\n').filter(Boolean),
    errors: () => stderr,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async end() {
      child.kill('SIGINT');
      await ended;
    },
  };
  begun.push(command);
  return command;
}

/** Creates objects one after the other, whatever becomes of the server, and writes down which were acknowledged. */
async function writeOn(stop: AbortSignal): Promise<number[]> {
  const acknowledged: number[] = [];
  for (let index = 0; !stop.aborted; index++) {
    const { code, stderr } = await house.berth.berth(['create', '-f', '-'], manifest(index));
    if (code === 0) acknowledged.push(index);
    // No answer; anything else would be wrong.
    else expect(stderr).toMatch(/^error: .*(server|connect|127\.0\.0\.1)/);
  }
  return acknowledged;
}

describe('a server that is killed at any moment', () => {
  it('has every acknowledged write, watches go on without a gap or a double, and no container was touched', async () => {
    const chance = createChance('server killed');
    const before = await engineView();
    expect(before).toHaveLength(5);
    await house.berth.ok('create', 'configmap', 'first');
    const watch = begin('get', 'configmaps', '-w', '--no-headers');
    await eventually('the watch has begun', async () => (watch.lines().length > 0 ? true : undefined));
    const stop = new AbortController();
    const writing = writeOn(stop.signal);
    onTestFinished(() => stop.abort());
    const pids = new Set<number>();
    for (let round = 0; round < rounds; round++) {
      const pid = house.berth.pid('server');
      pids.add(pid);
      await delay(chance.below(longestLifeMs));
      process.kill(pid, 'SIGKILL');
      await eventually('the server answers again', async () => {
        expect(house.berth.pid('server')).not.toBe(pid);
        return (await house.berth.berth(['get', 'namespaces'])).code === 0 ? true : undefined;
      });
    }
    stop.abort();
    const acknowledged = await writing;
    expect(pids.size).toBe(rounds);
    expect(acknowledged.length).toBeGreaterThan(0);

    const stored = (await house.berth.ok('get', 'configmaps', '-o', 'name')).split('\n').filter((name) => name.includes('step-'));
    for (const index of acknowledged) expect(stored).toContain(`configmap/${step(index)}`);
    // The watch has shown each of them once, in order; also those whose acknowledgement was lost.
    const shown = () => watch.lines().flatMap((line) => /^step-\d+/.exec(line) ?? []);
    const names = stored.map((name) => name.replace('configmap/', '')).sort();
    await eventually('the watch shows the last one', async () => {
      if (shown().length >= names.length) return true;
      throw new Error(
        `it ${watch.isRunning() ? 'runs' : 'has ended'} and shows ${shown()} of ${names}, and says ${watch.errors()}`,
      );
    });
    expect(watch.isRunning()).toBe(true);
    expect(shown()).toEqual(names);
    expect(watch.errors()).toContain('going on when the server is back');
    await watch.end();

    expect(await engineView()).toEqual(before);
    for (const name of ['one', 'two'])
      for (const { restartCount, ready } of (await house.pod(name)).status.containerStatuses ?? [])
        expect({ restartCount, ready }).toEqual({ restartCount: 0, ready: true });
    process.stdout.write(`${acknowledged.length} writes acknowledged, ${names.length} stored, over ${rounds} kills\n`);
  });

  it('leaves the pods in the hands of the agent: they are served as before, and new ones start', async () => {
    await eventually('the tunnel is back', async () =>
      (await house.sh('one', 'echo here', 'side')) === 'here\n' ? true : undefined,
    );
    await house.apply(podOf('three', [script(stay)]));
    await house.running('three');
    await house.berth.ok('delete', 'pod', 'one', 'two', 'three');
    expect(await engineView()).toEqual([]);
  });
});
