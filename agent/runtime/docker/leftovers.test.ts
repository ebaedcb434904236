import { describe, expect, it } from 'vitest';
import { decideLeftovers, type Link, leftBoth, type NetworkLook, SweepPatience } from './leftovers.ts';

const cable = (ifindex: number, more: Partial<Link> = {}): Link => ({
  ifindex,
  ifname: `veth${String(ifindex).padStart(7, '0')}`,
  link_index: ifindex - 1,
  master: 'docker0',
  ...more,
});
const look = (more: Partial<NetworkLook>): NetworkLook => ({
  bridge: 'docker0',
  cables: [],
  used: new Set(),
  namespaces: [],
  usedNamespaces: new Set(),
  proxies: [],
  ...more,
});

it.each<[string, Partial<NetworkLook>, string[]]>([
  ['the cable of a running container stays', { cables: [cable(4)], used: new Set([4]) }, []],
  [
    'a cable in the bridge that leads to no running container goes',
    { cables: [cable(4), cable(6)], used: new Set([4]) },
    ['veth0000006'],
  ],
  ['a cable in a foreign bridge stays', { cables: [cable(4, { master: 'br-of-others' })] }, []],
  ['a cable with a name that the engine does not give stays', { cables: [cable(4, { ifname: 'veth-mine' })] }, []],
  [
    'a cable without a bridge whose other end is elsewhere stays',
    { cables: [{ ...cable(4), master: undefined } as unknown as Link] },
    [],
  ],
  [
    'both ends of a cable that never left the machine go',
    {
      cables: [
        { ifindex: 4, ifname: 'veth0000004', link: 'veth0000005' },
        { ifindex: 5, ifname: 'veth0000005', link: 'veth0000004' },
      ],
    },
    ['veth0000004', 'veth0000005'],
  ],
  [
    'both ends of a foreign cable stay',
    {
      cables: [
        { ifindex: 4, ifname: 'veth0000004', link: 'mine' },
        { ifindex: 5, ifname: 'mine', link: 'veth0000004' },
      ],
    },
    [],
  ],
])('%s', (_, given, expected) => {
  expect(decideLeftovers(look(given)).cables).toEqual(expected);
});

it('namespaces of running containers stay, also under another name of the folder, and so do files that are none', () => {
  const namespaces = ['/run/docker/netns/0123456789ab', '/run/docker/netns/ba9876543210', '/run/docker/netns/default'];
  const usedNamespaces = new Set(['0123456789ab']);
  expect(decideLeftovers(look({ namespaces, usedNamespaces })).namespaces).toEqual(['/run/docker/netns/ba9876543210']);
});

it('what only one look shows is on its way in or out', () => {
  const before = { cables: ['a', 'b'], namespaces: ['x'], proxies: [7] };
  const now = { cables: ['b', 'c'], namespaces: [], proxies: [7, 8] };
  expect(leftBoth(before, now)).toEqual({ cables: ['b'], namespaces: [], proxies: [7] });
});

it('a port proxy goes when its engine has ended', () => {
  const proxies = [
    { pid: 7, parent: 'dockerd' },
    { pid: 8, parent: 'init' },
    { pid: 9, parent: '' },
    // Of an engine that runs without root.
    { pid: 10, parent: 'rootlesskit-doc' },
  ];
  expect(decideLeftovers(look({ proxies })).proxies).toEqual([8, 9]);
});

describe('the patience of a sweep', () => {
  const looks = (patience: SweepPatience, count: number, isClean: boolean) => {
    for (let i = 0; i < count; i++) patience.looked(isClean);
    return patience.isOver;
  };

  it('is over after some clean looks in a row', () => {
    const patience = new SweepPatience();
    expect(looks(patience, 3, true)).toBe(false);
    expect(looks(patience, 1, false)).toBe(false);
    expect(looks(patience, 3, true)).toBe(false);
    expect(looks(patience, 1, true)).toBe(true);
  });

  it('has an end, which moves when the engine was away again', () => {
    const patience = new SweepPatience();
    expect(looks(patience, 29, false)).toBe(false);
    patience.renew();
    expect(looks(patience, 29, false)).toBe(false);
    expect(looks(patience, 1, false)).toBe(true);
  });
});
