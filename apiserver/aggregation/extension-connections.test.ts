import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import type { ProxyTarget } from '../http/proxy/proxy-target.ts';
import { KeptConnections, type KeptOptions } from './extension-connections.ts';

/** An endpoint whose connections fail when the test says so. */
function failing() {
  const fails: (() => void)[] = [];
  const dial = () => new Promise<Duplex>((_, reject) => fails.push(() => reject(new Error('unreachable'))));
  const target: ProxyTarget = { scheme: 'https', host: '10.0.0.1:443', endpoint: '10.0.0.1:443 uid', dial };
  return { target, fails };
}

it('has 32 connections, those that are being opened among them, and none left of those that failed', async () => {
  const kept = new KeptConnections({});
  const { target, fails } = failing();
  const errors: Promise<Error>[] = [];
  for (let i = 0; i < 32; i++) {
    expect(kept.mayTake(target)).toBe(true);
    const over: KeptOptions = { agent: kept, target };
    const sent = request(over);
    errors.push(new Promise((resolve) => sent.once('error', resolve)));
    sent.end();
  }
  expect(kept.mayTake(target)).toBe(false);
  for (const fail of fails) fail();
  expect((await Promise.all(errors)).map(({ message }) => message)).toEqual(Array(32).fill('unreachable'));
  expect([kept.mayTake(target), kept.sockets, kept.requests]).toEqual([true, {}, {}]);
});
