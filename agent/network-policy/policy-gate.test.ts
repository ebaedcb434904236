import { beforeEach, expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { PolicyGate } from './policy-gate.ts';

const pod = { uid: 'u', namespace: 'shop', labels: {}, ports: [] };
let clock = createFakeClock();
let gate = new PolicyGate(clock);
let log: string[] = [];
let settle: () => void = () => {};
let builds = 0;
let ending = new AbortController();

beforeEach(() => {
  [clock, log, builds] = [createFakeClock(), [], 0];
  gate = new PolicyGate(clock);
  ending = new AbortController();
});

function open(): void {
  gate.open({
    signal: ending.signal,
    feed: {
      admit: (address, uid) => void log.push(`admit ${address} ${uid}`),
      found: (all) => void log.push(`found ${all.map(({ address }) => address).join()}`),
      left: (address) => void log.push(`left ${address}`),
    },
    table: {
      settled: () =>
        new Promise((resolve) => {
          settle = resolve;
        }),
      figures: () => ({ policies: 0, elements: 0, builds, syncedAt: 0, closedPods: 0, pieces: 0 }),
    },
  });
}

/** "waits", "in", or why not. */
async function stateOf(admitted: Promise<void>): Promise<string> {
  const outcome = admitted.then(
    () => 'in',
    (error: Error) => error.message,
  );
  for (let i = 0; i < 10; i++) await Promise.resolve();
  return Promise.race([outcome, Promise.resolve('waits')]);
}

it('lets pods in at once where there is nothing that carries policies, and tells of them later', async () => {
  await gate.admit('10.42.0.2', pod);
  await gate.admit('10.42.0.3', pod);
  gate.left('10.42.0.3');
  gate.found([{ address: '10.42.0.2', uid: 'u' }]);
  open();
  expect(log).toEqual(['found 10.42.0.2', 'admit 10.42.0.2 u']);
});

it('lets a pod in when its policies are in force, not before', async () => {
  open();
  const admitted = gate.admit('10.42.0.2', pod);
  expect(await stateOf(admitted)).toBe('waits');
  settle();
  expect(await stateOf(admitted)).toBe('in');
  gate.left('10.42.0.2');
  expect(log).toEqual(['found ', 'admit 10.42.0.2 u', 'left 10.42.0.2']);
});

it.each([
  ['the server has told nothing', 0, /are not known yet: the server has not told them/],
  ['the table cannot be written', 1, /could not be written within 10 s: see the log/],
])('refuses a pod after 10 s when %s', async (_, count, message) => {
  builds = count;
  open();
  const admitted = expect(gate.admit('10.42.0.2', pod)).rejects.toThrow(message);
  await clock.advance(10_000);
  await admitted;
});

it('refuses pods when the agent ends, whose table nothing keeps any more', async () => {
  open();
  const admitted = expect(gate.admit('10.42.0.2', pod)).rejects.toThrow('the agent is being stopped');
  ending.abort();
  settle();
  await admitted;
});

it('asks every 2 s which addresses are in use, until it is told or aborted', async () => {
  let asked = 0;
  const look = async () => {
    asked++;
    throw new Error('the engine is away');
  };
  const other = new AbortController();
  const [first, second] = [gate.untilFound(look, other.signal), gate.untilFound(look, ending.signal)];
  other.abort();
  await first;
  await clock.advance(2_000);
  expect([await stateOf(second), asked]).toEqual(['waits', 3]);
  gate.found([]);
  await second;
  await gate.untilFound(look, ending.signal);
  expect(asked).toBe(3);
});
