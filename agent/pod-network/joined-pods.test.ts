import { expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { JoinedPods } from './joined-pods.ts';

/** A machine with links of two pods, whose processes 1 and 2 see the other ends. */
function start() {
  const clock = createFakeClock();
  const links = new Map<number | undefined, ReadonlySet<string>>([
    [undefined, new Set(['lo', 'link of a', 'link of b'])],
    [1, new Set(['lo', 'eth0'])],
    [2, new Set(['lo', 'eth0'])],
  ]);
  const looks: (number | undefined)[] = [];
  const linksOf = async (pid?: number): Promise<ReadonlySet<string>> => {
    looks.push(pid);
    return links.get(pid) ?? new Set();
  };
  const pods = new JoinedPods({ linksOf, nameOf: (address) => `link of ${address}`, clock });
  const look = async (...pids: readonly (number | undefined)[]) => {
    looks.length = 0;
    const found = await pods.among(['a', 'b'].map((address, index) => ({ address, pid: pids[index] })));
    return { joined: found.map(({ address }) => address).join(''), looks: [...looks] };
  };
  return { clock, links, look };
}

it('looks into each pod, and not again for a minute', async () => {
  const { clock, look } = start();
  expect(await look(1, 2)).toEqual({ joined: 'ab', looks: [undefined, 1, 2] });
  await clock.advance(59_000);
  expect(await look(1, 2)).toEqual({ joined: 'ab', looks: [undefined] });
  await clock.advance(1_000);
  expect(await look(1, 2)).toEqual({ joined: 'ab', looks: [undefined, 1, 2] });
});

it('leaves out a pod as soon as its link is gone, and looks into it again when the link is back', async () => {
  const { links, look } = start();
  await look(1, 2);
  links.set(undefined, new Set(['lo', 'link of b']));
  expect(await look(1, 2)).toEqual({ joined: 'b', looks: [undefined] });
  links.set(undefined, new Set(['lo', 'link of a', 'link of b']));
  expect(await look(1, 2)).toEqual({ joined: 'ab', looks: [undefined, 1] });
});

it('looks at once into a pod with another process, which may have another network', async () => {
  const { look } = start();
  await look(1, 2);
  expect(await look(3, 2)).toEqual({ joined: 'b', looks: [undefined, 3] });
  expect(await look(3, 2)).toEqual({ joined: 'b', looks: [undefined, 3] });
});

it('sees within a minute that a process sees its end no more', async () => {
  const { clock, links, look } = start();
  await look(1, 2);
  links.set(1, new Set(['lo', 'renamed']));
  await clock.advance(60_000);
  expect((await look(1, 2)).joined).toBe('b');
  expect((await look(1, 2)).joined).toBe('b');
});

it('counts a pod with an unknown process as joined while its link is there', async () => {
  const { links, look } = start();
  expect(await look(undefined, 2)).toEqual({ joined: 'ab', looks: [undefined, 2] });
  links.set(undefined, new Set(['lo']));
  expect((await look(undefined, 2)).joined).toBe('');
});
