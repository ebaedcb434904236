import { expect, it } from 'vitest';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import type { Probe, ProbeResult } from '../net-check/dns-probe.ts';
import type { Neighbour } from './node-routes.ts';
import { WayMeasurer } from './way-measurer.ts';

const neighbour = (n: number): Neighbour => ({
  ...{ name: `h${n}`, address: `10.0.${n >> 8}.${n & 255}`, range: parseAddressRange(`10.${64 + (n >> 8)}.${n & 255}.0/24`) },
});

type Answer = (probe: Probe, scripts: readonly string[]) => ProbeResult['result'];

function start(known: readonly Neighbour[], answer: Answer, printed = '') {
  const [clock, ending] = [createFakeClock(), new AbortController()];
  const [warnings, scripts, probes]: [string[], string[], Probe[]] = [[], [], []];
  let small: ReadonlyMap<string, number> = new Map();
  let room = 1_450;
  const routes = {
    get neighbours() {
      return known.map((each) => ({ ...each, room }));
    },
    isTunnelled: () => true,
    tunnel: { name: 'bvx1', id: 1, port: 1, local: '' },
    get small() {
      return small;
    },
    measured: async (mtus: ReadonlyMap<string, number>) => {
      const byName = known.map(({ name, range }) => [name, mtus.get(range.text) ?? 1_450] as const);
      small = new Map(byName.filter(([, mtu]) => mtu < 1_450));
    },
  };
  const shell = {
    run: async (script: string) => {
      scripts.push(script);
      return script.includes('ethtool') ? printed : '';
    },
  };
  const probe = async (each: Probe) => {
    probes.push(each);
    return { result: answer(each, scripts), why: '' } as ProbeResult;
  };
  const warn = (message: string) => void warnings.push(message);
  const measurer = new WayMeasurer({ shell, routes, clock, warn, probe });
  const running = measurer.run(ending.signal);
  const stop = (): Promise<void> => {
    ending.abort();
    return running;
  };
  return {
    ...{ clock, measurer, warnings, scripts, probes, stop },
    small: () => small,
    takeWay: (of: number): void => {
      room = of;
    },
  };
}

const room = ({ packetSize = 0 }: Probe) => (packetSize <= 1_350 ? 'answered' : 'silent');

it('measures a way when it is new, every five minutes, and when it is told to', async () => {
  const { clock, measurer, probes, scripts, stop } = start([neighbour(2)], () => 'answered');
  await clock.advance(2_000);
  expect(probes).toHaveLength(2);
  await clock.advance(296_000);
  expect(probes).toHaveLength(2);
  await clock.advance(4_000);
  expect(probes).toHaveLength(4);
  measurer.again(['h2']);
  await clock.advance(0);
  expect(probes).toHaveLength(6);
  expect(scripts.some((script) => script.includes('flush'))).toBe(false);
  await stop();
});

it('measures a way again, with packets of its size, when it is another', async () => {
  const { clock, probes, stop, takeWay } = start([neighbour(2)], () => 'answered');
  await clock.advance(2_000);
  takeWay(1_500);
  await clock.advance(2_000);
  expect(probes.map(({ packetSize }) => packetSize)).toEqual([0, 1_450, 0, 1_500]);
  await stop();
});

it('says once that a way carries less, and lets the kernel forget it before it is measured again', async () => {
  const { clock, warnings, scripts, stop, small } = start([neighbour(2)], room);
  await clock.advance(600_000);
  expect([...small().values()][0]).toBeGreaterThan(1_342);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^packets to pods of node h2 have room for 13\d\d bytes, not for 1450/);
  expect(scripts.filter((script) => script.includes('flush'))).toHaveLength(2);
  await stop();
});

it('asks a silent node again after 15 s, and 64 nodes at a time', async () => {
  const many = Array.from({ length: 100 }, (_, n) => neighbour(n));
  const { clock, probes, stop } = start(many, () => 'silent');
  await clock.advance(0);
  // Each is asked once, and knocked at once or twice.
  expect(new Set(probes.map(({ address }) => address)).size).toBe(64);
  await clock.advance(2_000);
  expect(new Set(probes.map(({ address }) => address)).size).toBe(100);
  const before = probes.length;
  await clock.advance(12_000);
  expect(probes).toHaveLength(before);
  await clock.advance(4_000);
  expect(probes.length).toBeGreaterThan(before);
  await stop();
});

const card = ({ port, packetSize = 0 }: Probe) => (port !== undefined && packetSize > 1_450 ? 'refused' : 'silent');

/** The same until the kernel computes the checksums. */
const remedied: Answer = (probe, scripts) => (scripts.some((each) => each.includes('ethtool')) ? 'answered' : card(probe));

it('lets the kernel compute checksums where the network card does not', async () => {
  const { clock, measurer, warnings, scripts, stop } = start([neighbour(2)], remedied, 'finished\n');
  await clock.advance(60_000);
  await stop();
  expect(scripts.filter((each) => each.includes('ethtool'))).toEqual([
    expect.stringContaining('ethtool -K bvx1 tx-checksum-ip-generic off'),
  ]);
  expect(warnings).toEqual([expect.stringMatching(/reach h2 with wrong checksums.*: the kernel computes them from now on/)]);
  expect(measurer.damaged.size).toBe(0);
});

it.each([
  ['is missing, or fails', '', /would remedy it: install ethtool$/],
  ['does not help', 'finished\n', /"ethtool -K bvx1 tx-checksum-ip-generic off" did not help$/],
])('says once which nodes are cut off where ethtool %s, whatever is told between', async (_, printed, words) => {
  const { clock, measurer, warnings, stop } = start([neighbour(2)], card, printed);
  await clock.advance(120_000);
  await stop();
  expect([...measurer.damaged]).toEqual(['h2']);
  expect(warnings.at(-1)).toMatch(words);
  expect(warnings).toHaveLength(printed === '' ? 1 : 2);
});
