import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createNamespaceDialers } from '../../agent/machine/namespace-dialers.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const listen = `require('node:net').createServer((s) => s.end('inside')).listen(7000, '127.0.0.1', () => console.log('ready'))`;

function dialers() {
  const made = createNamespaceDialers({ loopback: ['127.0.0.1'], warn: () => {} });
  cleanups.push(() => made.close());
  return made;
}

describe('a connection from inside of a network namespace', () => {
  it('reaches the loopback address of a process in a namespace of its own', async () => {
    const inside = spawn('unshare', ['-n', 'sh', '-c', 'ip link set lo up && exec "$0" -e "$1"', process.execPath, listen], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    cleanups.push(() => inside.kill());
    await once(inside.stdout, 'data');
    const socket = await dialers().dial({ podUid: 'u', pid: inside.pid! }, 7000);
    cleanups.push(() => socket?.destroy());
    const [said] = (await once(socket!, 'data')) as [Buffer];
    expect(said.toString()).toBe('inside');
  });

  it("never reaches the machine's, whose processes may have the number of a pod's that has ended", async () => {
    let reached = 0;
    const server = createServer((socket) => {
      reached++;
      socket.destroy();
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    cleanups.push(() => server.close());
    const { port } = server.address() as { port: number };
    expect(await dialers().dial({ podUid: 'u', pid: process.pid }, port)).toBeUndefined();
    expect(reached).toBe(0);
  });
});
