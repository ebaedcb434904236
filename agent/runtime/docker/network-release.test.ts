import { expect, it } from 'vitest';
import { RuntimeError } from '../runtime-error.ts';
import { createEngine, type Engine, type EngineCall } from './engine.ts';
import { createInventory } from './inventory.ts';
import { createReleaseNetworks } from './network-release.ts';

/** An engine whose calls are over when the test says so. */
function engineOf(version: string) {
  const calls: { readonly call: EngineCall; finish(error?: Error): void }[] = [];
  const engine = {
    apiVersion: async () => version,
    call: <T>(call: EngineCall) =>
      new Promise<T>((resolve, reject) => {
        calls.push({ call, finish: (error) => (error ? reject(error) : resolve(undefined as T)) });
      }),
  };
  return { engine, calls };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const inventory = { networksOf: (id: string) => (id === 'joined' ? [] : ['bridge']) };

it('takes containers out of their networks one after the other with Docker 20.10, also when one fails', async () => {
  const { engine, calls } = engineOf('1.41');
  const release = createReleaseNetworks(engine, inventory);
  const released = Promise.all(['a', 'b', 'joined', 'c'].map(release));
  await turn();
  expect(calls).toHaveLength(1);
  expect(calls[0]!.call).toMatchObject({
    method: 'POST',
    path: '/networks/bridge/disconnect',
    body: { Container: 'a', Force: true },
    timeoutMs: 5_000,
  });
  calls[0]!.finish(new RuntimeError('timeout', 'no answer'));
  await turn();
  expect(calls[1]!.call.body).toEqual({ Container: 'b', Force: true });
  calls[1]!.finish();
  await turn();
  expect(calls).toHaveLength(3);
  calls[2]!.finish();
  await released;
});

it('asks nothing of an engine that has no such deadlock', async () => {
  const { engine, calls } = engineOf('1.42');
  await createReleaseNetworks(engine, inventory)('a');
  expect(calls).toEqual([]);
});

it('knows the networks from the inventory, until the container has ended', async () => {
  const entry = (Id: string, State: string, Networks: object | null) => ({
    Id,
    State,
    Labels: {},
    NetworkSettings: { Networks },
  });
  const bridge = { bridge: { IPAddress: '172.17.0.2' } };
  let entries = [
    entry('sandbox', 'running', bridge),
    entry('made', 'created', bridge),
    entry('ended', 'exited', bridge),
    entry('app', 'running', null),
    entry('machine', 'running', { host: {} }),
  ];
  const engine: Engine = {
    ...createEngine({ socketPath: '/nowhere' }),
    call: async <T>({ path }: EngineCall) => {
      if (path === '/containers/json') return entries as T;
      const found = entries.find(({ Id }) => path === `/containers/${Id}/json`)!;
      const State = { Status: found.State, OOMKilled: false, Pid: 1, Error: '', StartedAt: '', FinishedAt: '' };
      return { ...found, Created: '', Image: '', Config: { Image: '', Labels: {} }, State } as T;
    },
  };
  const known = createInventory(engine, 'n1', { oomKills: { has: () => false } });
  const all = () => entries.map(({ Id }) => known.networksOf(Id));
  await known.inspect('sandbox');
  expect(all()).toEqual([['bridge'], [], [], [], []]);
  await known.list();
  expect(all()).toEqual([['bridge'], [], [], [], []]);
  entries = [entry('sandbox', 'exited', bridge)];
  await known.list();
  expect(known.networksOf('sandbox')).toEqual([]);
});
