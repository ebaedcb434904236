import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { kubeconfigOf } from './kubeconfig.ts';

// Libraries of other languages for Kubernetes' API, unmodified, as Debian has them; containers in memory.
const run = promisify(execFile);
const program = (name: string): string => fileURLToPath(new URL(`../fixtures/clients/${name}`, import.meta.url));
/** Debian's, for which its packages are. */
const python = '/usr/bin/python3';

let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  await server.client.pods.create({
    metadata: { namespace: 'default', name: 'one' },
    spec: { nodeName: 'n1', containers: [{ name: 'app', image, command: ['sleep', '1000'] }] },
  });
  await podWhere(server.client, 'one', isRunning);
  for (const line of ['first', 'second', 'third']) machine.fake.writeLog(machine.fake.container('one', 'app').id, line);
  machine.fake.onExec(() => ({ echo: true }));
  folder = await mkdtemp(join(tmpdir(), 'berth-clients-'));
  kubeconfig = join(folder, 'config');
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(server)), { mode: 0o600 });
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program to its end; it prints one line of JSON. */
async function seenBy(command: string, ...args: string[]): Promise<Record<string, unknown>> {
  const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: kubeconfig };
  const { stdout } = await run(command, args, { env, timeout: 120_000 });
  return JSON.parse(stdout);
}

describe("Debian's python3-kubernetes", () => {
  it('writes, lists, watches, patches, reads logs and runs commands', async () => {
    expect(await seenBy(python, program('session.py'), kubeconfig)).toEqual({
      replaced: { x: '2' },
      stale: [409, 'Status', 'Conflict', 'a'],
      patched: { y: '3' },
      'json patched': { y: '4' },
      taken: [409, 'Status', 'AlreadyExists', 'a'],
      missing: [404, 'Status', 'NotFound', 'none'],
      'dry run': 'dry',
      created: 'datetime',
      pages: [['b', 'c', 'd'], ['e']],
      watched: ['ADDED watched', 'MODIFIED watched', 'DELETED watched'],
      scaled: 2,
      custom: [{ color: 'blue' }, { worn: true }],
      'custom list': ['ToyList', 1],
      log: 'second\nthird\n',
      followed: 'third',
      echoed: 'typed',
      review: [false, false],
      version: expect.stringMatching(/^v1\.\d+\.\d+\+berth/),
      left: ['a'],
    });
  }, 120_000);

  it('elects one leader, and another when that one is gone', async () => {
    expect(await seenBy(python, program('leader.py'), kubeconfig)).toEqual({ led: ['first', 'second'], holder: 'second' });
  }, 120_000);
});

it("Debian's ruby-kubeclient writes, lists, watches, patches and reads logs", async () => {
  expect(await seenBy('/usr/bin/ruby', program('session.rb'), kubeconfig)).toEqual({
    updated: { x: '2' },
    stale: ['Kubeclient::HttpError', 409],
    patched: { x: '2', y: '3' },
    merged: { y: '3' },
    'json patched': { y: '4' },
    applied: { z: '1' },
    missing: ['Kubeclient::ResourceNotFoundError', 404],
    taken: ['Kubeclient::HttpError', 409],
    pages: [['b', 'c'], ['d']],
    watched: ['ADDED watched', 'DELETED watched'],
    deployment: 0,
    log: 'third\n',
    followed: 'first',
    kinds: true,
  });
}, 120_000);

describe.each(['endpoints', 'configmaps'])('Patroni with its state in %s', (kind) => {
  it('elects one leader, which renews, loses and releases the lock', async () => {
    const namespace = `patroni-${kind}`;
    await server.client.namespaces.create({ metadata: { name: namespace } });
    for (const name of ['one', 'two']) {
      const labels = { application: 'patroni', 'cluster-name': 'demo' };
      await server.client.pods.create({ metadata: { namespace, name, labels }, spec: { containers: [{ name: 'db', image }] } });
    }
    expect(await seenBy(python, program('patroni_leader.py'), namespace, kind)).toEqual({
      empty: [true, null],
      initialized: [true, false],
      unlocked: [true, true],
      acquired: [true, false],
      renewed: [true, true],
      'renewed by the other': false,
      configured: true,
      history: true,
      'taken over': [true, false],
      lost: false,
      transitions: 1,
      'after release': true,
    });
  }, 120_000);
});
