import { describe, expect, it } from 'vitest';
import { advertiseNotice, advertiseProblem, listenBesides } from './advertise.ts';

// Addresses of documentation: no machine has them.
const foreign = '192.0.2.7';

describe('an address that is advertised', () => {
  it.each([
    ['127.0.0.1:7443', '127.0.0.1', /this machine itself/],
    ['0.0.0.0:7443', '::1', /this machine itself/],
    ['127.0.0.1:7443', foreign, /no address of this machine.*with --listen 0\.0\.0\.0:7443/],
    ['[::1]:7443', foreign, /no address of this machine/],
    ['localhost:7443', foreign, /no address of this machine/],
  ])('is refused where no client would reach the server: %s, %s', async (listen, advertise, message) => {
    expect(await advertiseProblem(listen, advertise)).toMatch(message);
  });

  it.each([
    ['0.0.0.0:7443', foreign],
    ['192.0.2.8:7443', foreign],
  ])('may be of another device that forwards connections, with a notice: %s, %s', async (listen, advertise) => {
    expect(await advertiseProblem(listen, advertise)).toBeUndefined();
    expect(await listenBesides(listen, advertise)).toBeUndefined();
    expect(await advertiseNotice(listen, advertise)).toMatch(/192\.0\.2\.7 is no address of this machine.*port 7443/);
  });

  it('is nothing to talk of where the server listens there', async () => {
    expect(await advertiseNotice('192.0.2.7:7443', foreign)).toBeUndefined();
    expect(await advertiseNotice('0.0.0.0:7443', 'localhost')).toBeUndefined();
  });
});
