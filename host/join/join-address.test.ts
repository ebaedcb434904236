import { describe, expect, it } from 'vitest';
import { type AddressFacts, decideJoinAddress, defaultInterface } from './join-address.ts';

const local: AddressFacts = { context: '127.0.0.1:7443', record: { listen: '127.0.0.1:7443' }, own: '10.0.0.5' };

describe('the address at which other machines join', () => {
  it.each<[string, Partial<AddressFacts>, string]>([
    ['the context, from another machine', { context: '10.9.9.9:7443', record: undefined }, '10.9.9.9:7443'],
    ['what is advertised', { record: { listen: '127.0.0.1:7443', advertise: 'berth.example.com' } }, 'berth.example.com:7443'],
    ['IPv6 in brackets', { record: { listen: '127.0.0.1:7443', advertise: 'fd00::5' } }, '[fd00::5]:7443'],
    ['where the server listens', { context: '10.0.0.7:7000', record: { listen: '10.0.0.7:7000' } }, '10.0.0.7:7000'],
    ['of all, that of the default route', { record: { listen: '0.0.0.0:7443' } }, '10.0.0.5:7443'],
  ])('is %s', (_, facts, address) => {
    expect(decideJoinAddress({ ...local, ...facts })).toEqual({ address });
  });

  it.each<[string, Partial<AddressFacts>]>([
    ['a server for this machine only', {}],
    ['a server that "berth up" did not start', { record: undefined }],
    ['the installation of another port', { context: '127.0.0.1:7555', record: { listen: '0.0.0.0:7443' } }],
  ])('is none: %s; the command that helps is named', (_, facts) => {
    expect(decideJoinAddress({ ...local, ...facts })).toEqual({
      problem: expect.stringMatching(/other machines do not reach.*berth up --advertise 10\.0\.0\.5/),
    });
  });

  it('is on the interface of the default route with the least metric', () => {
    const line = (name: string, destination: string, metric: number) =>
      `${name}\t${destination}\t0100000A\t0003\t0\t0\t${metric}\t${destination === '00000000' ? '00000000' : '00FFFFFF'}\t0\t0\t0`;
    const table = [
      'Iface\tDestination',
      line('wlan0', '00000000', 600),
      line('eth1', '0000000A', 0),
      line('eth0', '00000000', 100),
    ];
    expect(defaultInterface(table.join('\n'))).toBe('eth0');
    expect(defaultInterface('')).toBeUndefined();
  });
});
