import { describe, expect, it } from 'vitest';
import { blockContains, blockOfAddress, parseIpBlock } from './ip-block.ts';

describe('a block of addresses', () => {
  it.each([
    ['10.9.8.7/24', { version: 4, first: 0x0a_09_08_00n, length: 24 }],
    ['255.255.255.255/32', { version: 4, first: 0xff_ff_ff_ffn, length: 32 }],
    ['192.168.1.1/0', { version: 4, first: 0n, length: 0 }],
    ['2001:db8::1/64', { version: 6, first: 0x2001_0db8n << 96n, length: 64 }],
    ['::/0', { version: 6, first: 0n, length: 0 }],
    ['::1/128', { version: 6, first: 1n, length: 128 }],
    ['1:2:3:4:5:6:7:8/128', { version: 6, first: 0x0001_0002_0003_0004_0005_0006_0007_0008n, length: 128 }],
    ['::ffff:10.0.0.1/128', { version: 6, first: 0xffff_0a00_0001n, length: 128 }],
  ])('%s is read as its network', (text, block) => expect(parseIpBlock(text)).toEqual(block));

  it.each(['', '10.0.0.1', '10.0.0.0/33', '10.0.0/8', '::/129', 'fd00::/', 'a/8', '10.0.0.0/8/8', '10.0.0.0/+8'])(
    'is not what "%s" says',
    (text) => expect(parseIpBlock(text)).toBeUndefined(),
  );

  it.each([
    ['10.0.0.0/8', '10.255.0.0/16', true],
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['10.0.0.0/8', '11.0.0.0/16', false],
    ['10.0.0.0/16', '10.0.0.0/8', false],
    ['0.0.0.0/0', '::/0', false],
    ['::/0', '10.0.0.0/8', false],
    ['2001:db8::/32', '2001:db8:1::/48', true],
    ['2001:db8::/32', '2001:db9::/48', false],
  ])('%s contains %s: %s', (outer, inner, expected) =>
    expect(blockContains(parseIpBlock(outer)!, parseIpBlock(inner)!)).toBe(expected),
  );

  it('of one address is as long as addresses are; other texts have none', () => {
    expect(blockOfAddress('10.0.0.1')).toEqual({ version: 4, first: 0x0a_00_00_01n, length: 32 });
    expect(blockOfAddress('fd00::1')?.length).toBe(128);
    expect(blockOfAddress('10.0.0.1/8')).toBeUndefined();
  });
});
