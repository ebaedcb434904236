import { expect, it } from 'vitest';
import type { Probe, ProbeResult } from '../net-check/dns-probe.ts';
import { type MeasuredWay, measureWays } from './measure-ways.ts';

const tunnelMtu = 1_450;
const way: MeasuredWay = { gateway: '10.42.2.1', isTunnelled: true, most: tunnelMtu };

/** A network that answers what `passes`, and whose routers tell the kernel of `told` bytes, or nothing. */
async function measure(passes: (probe: Required<Probe>) => ProbeResult['result'], told?: number, ways = [way]) {
  let asked = 0;
  const probe = async (each: Probe): Promise<ProbeResult> => {
    asked++;
    return { result: passes({ packetSize: 0, port: 53, ...each }), why: '' } as ProbeResult;
  };
  const learned = async () => new Map(told === undefined ? [] : ways.map(({ gateway }) => [gateway, told] as const));
  return { found: await measureWays({ ways, probe, learned }), asked: () => asked };
}

const upTo = (room: number) => (probe: Required<Probe>) => (probe.packetSize <= room ? 'answered' : 'silent');

it('takes two packets where all is well', async () => {
  const { found, asked } = await measure(upTo(1_450));
  expect([found, asked()]).toEqual([[{ mtu: 1_450 }], 2]);
});

it('takes what a router has said, also where larger packets come through in fragments', async () => {
  expect((await measure(upTo(1_350), 1_350)).found).toEqual([{ mtu: 1_350 }]);
  expect((await measure(() => 'answered', 1_350)).found).toEqual([{ mtu: 1_350 }]);
});

it.each([600, 1_000, 1_399, 1_449])('finds %i bytes where no router says so, in a bounded number of packets', async (room) => {
  const { found, asked } = await measure(upTo(room));
  const [{ mtu } = { mtu: 0 }] = found as { mtu: number }[];
  expect(mtu).toBeLessThanOrEqual(room);
  expect(mtu).toBeGreaterThan(room - 8);
  expect(asked()).toBeLessThanOrEqual(10);
});

it('searches below what a router has said where that is too much', async () => {
  const [{ mtu } = { mtu: 0 }] = (await measure(upTo(1_200), 1_400)).found as { mtu: number }[];
  expect(mtu).toBeGreaterThan(1_192);
  expect(mtu).toBeLessThanOrEqual(1_200);
});

it('counts a machine whose resolver does not run as reached', async () =>
  expect((await measure(() => 'refused')).found).toEqual([{ mtu: 1_450 }]));

const card = ({ port, packetSize }: Required<Probe>) => (port !== 53 && packetSize > tunnelMtu ? 'refused' : 'silent');

it('finds a network card that leaves checksums unfinished, in tunnels alone', async () => {
  expect((await measure(card)).found).toEqual(['damaged']);
  expect((await measure(card, undefined, [{ ...way, isTunnelled: false }])).found).toEqual(['silent']);
});

it.each<[string, (probe: Required<Probe>) => ProbeResult['result']]>([
  ['is away', () => 'silent'],
  ['drops what is for its resolver', ({ port }) => (port === 53 ? 'silent' : 'refused')],
  ['has room for nothing', ({ packetSize }) => (packetSize === 0 ? 'answered' : 'silent')],
])('says nothing of a node that %s', async (_, passes) => expect((await measure(passes)).found).toEqual(['silent']));
