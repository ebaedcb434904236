import { expect, it } from 'vitest';
import { isOurs, linkNameOf, macOf, tagOf } from './link-commands.ts';
import { linkTo } from './node-routes.ts';

it('gives each link a name of 15 characters that says nothing of others', () => {
  const owner = { dataDir: '/d', nodeName: 'n' };
  const ifname = linkNameOf(owner, '10.42.1.2');
  expect(ifname).toMatch(/^bth[0-9a-f]{12}$/);
  expect(ifname).not.toBe(linkNameOf({ ...owner, nodeName: 'm' }, '10.42.1.2'));
  expect(isOurs({ ifname, ifalias: `berth ${tagOf(owner)}` }, owner)).toBe(true);
  expect(isOurs({ ifname, ifalias: `berth ${tagOf({ ...owner, nodeName: 'm' })}` }, owner)).toBe(false);
  expect(isOurs({ ifname: 'veth123', ifalias: `berth ${tagOf(owner)}` }, owner)).toBe(false);
});

it('computes hardware addresses that are no vendor’s', () => expect(macOf('10.42.1.2')).toBe('0a:58:0a:2a:01:02'));

it.each([
  ['[{"dst":"10.0.0.2","dev":"eth0","prefsrc":"10.0.0.1"}]', 'eth0'],
  ['[{"dst":"10.9.0.2","gateway":"10.0.0.254","dev":"eth0"}]', undefined],
  ['[{"type":"local","dst":"10.0.0.1","dev":"lo"}]', undefined],
  ['[]', undefined],
])('reads of %s the link to a neighbour', (answer, dev) => expect(linkTo(answer)).toBe(dev));
