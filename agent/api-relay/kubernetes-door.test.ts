import { expect, it } from 'vitest';
import { versionInfo } from '../../api/meta/version-info.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { chooseDoor, KubernetesDoor } from './kubernetes-door.ts';
import { parseServer } from './relay-keeper.ts';

it.each([
  ['the address at the host of the server', ['127.0.0.1:6443', '192.0.2.5:6443'], '192.0.2.5:7443', '192.0.2.5:6443'],
  ['loopback for the agent of the same machine', ['127.0.0.1:6443', '192.0.2.5:6443'], '127.0.0.1:7443', '127.0.0.1:6443'],
  ['loopback by name', ['127.0.0.1:6443', '192.0.2.5:6443'], 'localhost:7443', '127.0.0.1:6443'],
  ['the host of the server where it listens everywhere', ['0.0.0.0:6443'], '192.0.2.5:7443', '192.0.2.5:6443'],
  ['its own host for one that is not the server\u2019s', ['192.0.2.9:6443'], '127.0.0.1:7443', '192.0.2.9:6443'],
  ['the address besides loopback', ['127.0.0.1:6443', '192.0.2.5:6443'], 'berth.example.com:7443', '192.0.2.5:6443'],
  ['the host that forwards to the server', ['127.0.0.1:6443'], 'berth.example.com:7443', 'berth.example.com:6443'],
  ['IPv6', ['[::]:6443'], '[2001:db8::1]:7443', '[2001:db8::1]:6443'],
])('an agent dials %s', (_, doors, server, wanted) =>
  expect(chooseDoor(doors.map(parseServer), parseServer(server))).toEqual(parseServer(wanted)),
);

it('an agent dials nothing while the server has no such door', () =>
  expect(chooseDoor([], parseServer('127.0.0.1:7443'))).toBeUndefined());

function open() {
  const [clock, logger, ending] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const world = { fails: false, addresses: ['127.0.0.1:6443'] as string[] | undefined, calls: 0, clock };
  const pages = {
    async get(path: string) {
      world.calls++;
      if (world.fails) throw new Error('away');
      const body = Buffer.from(JSON.stringify({ ...versionInfo('0.1.0'), path, kubernetesAddresses: world.addresses }));
      return { status: 200, contentType: 'application/json', body };
    },
  };
  const door = new KubernetesDoor({ pages, server: parseServer('127.0.0.1:7443'), clock, logger });
  const ended = door.run(ending.signal);
  const end = () => {
    ending.abort();
    return ended;
  };
  return Object.assign(world, { door, end });
}

it('asks the server only when told that it may have changed, and has what it said last', async () => {
  const world = open();
  const { door, end } = world;
  expect([door.address, world.calls]).toEqual([undefined, 0]);
  door.look();
  await expect.poll(() => door.address).toEqual({ host: '127.0.0.1', port: 6443 });
  world.addresses = ['127.0.0.1:6444'];
  door.look();
  await expect.poll(() => door.address?.port).toBe(6444);
  world.addresses = undefined;
  door.look();
  await expect.poll(() => door.address).toBeUndefined();
  expect(world.calls).toBe(3);
  await end();
});

it('tries again while the server does not answer', async () => {
  const world = open();
  world.fails = true;
  world.door.look();
  await expect.poll(() => world.calls).toBe(1);
  await world.clock.advance(200);
  await expect.poll(() => world.calls).toBe(2);
  world.fails = false;
  await world.clock.advance(10_000);
  await expect.poll(() => world.door.address?.port).toBe(6443);
  await world.end();
});
