import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../builders/index.ts';
import { startTcpProxy, type TcpProxy } from '../fakes/tcp-proxy.ts';
import {
  image,
  isGone,
  isRunning,
  type Machine,
  podWhere,
  type RunningAgent,
  startAgent,
  startMachine,
  until,
} from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// A node whose cable is pulled, with an agent that lives on.
let server: RunningServer;
let machine: Machine;
let cable: TcpProxy;
let agent: RunningAgent;

beforeEach(async () => {
  server = await startServer();
  machine = await startMachine();
  cable = await startTcpProxy(server.info.address);
  agent = startAgent({ ...server, admin: { ...server.admin, address: cable.address, keepalive } }, machine, 'far');
  await until('node', () => server.client.nodes.get({ name: 'far' }).catch(() => undefined));
});
afterEach(async () => {
  cable.heal();
  await agent.stop();
  await cable.close();
  await server.stop();
  await server.remove();
  await machine.remove();
});

/** The shortest that is possible, so that the agent notices soon that nothing comes through. */
const keepalive = { timeMs: 1_000, timeoutMs: 1_000 };

async function create(name: string): Promise<void> {
  const { metadata = {}, spec } = pod(name).on('far').container('app', { image }).build();
  await server.client.pods.create({ metadata: { namespace: 'default', name: metadata.name ?? '' }, spec: spec! });
}

const at = (name: string) => ({ namespace: 'default', name });
const ids = (name: string) =>
  machine.fake
    .containers()
    .filter(({ podName }) => podName === name)
    .map(({ id }) => id)
    .toSorted();

describe('an agent that was cut off', () => {
  it('keeps what is still wanted, and ends exactly what was evicted, deleted or replaced meanwhile', async () => {
    const names = ['kept', 'evicted', 'deleted', 'replaced'];
    for (const name of names) await create(name);
    for (const name of names) await podWhere(server.client, name, isRunning);
    const before = Object.fromEntries(names.map((name) => [name, ids(name)]));
    machine.fake.calls.length = 0;
    cable.cut();
    await server.client.pods.evict(at('evicted'), { gracePeriodSeconds: 1 });
    for (const name of ['deleted', 'replaced']) await server.client.pods.delete(at(name), { gracePeriodSeconds: 0 });
    await create('replaced');
    expect(machine.fake.containers().every(({ state }) => state === 'running')).toBe(true);
    cable.heal();
    await until('the evicted one is gone', () => isGone(server.client, 'evicted'));
    await podWhere(server.client, 'replaced', isRunning);
    await until('the deleted one is swept', () => ids('deleted').length === 0);
    await until('the old one of the name is swept', () => !ids('replaced').some((id) => before.replaced?.includes(id)));
    expect(ids('kept')).toEqual(before.kept);
    expect(machine.fake.calls.filter(({ target }) => target.startsWith('kept/'))).toEqual([]);
    const stopped = new Set(machine.fake.callsOf('stop').map(({ target }) => target));
    expect([...stopped].toSorted()).toEqual(['deleted/app', 'evicted/app', 'replaced/app']);
    const kept = await server.client.pods.get(at('kept'));
    expect(kept.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });
});
