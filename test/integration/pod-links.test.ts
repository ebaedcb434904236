import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PodLinks } from '../../agent/pod-network/pod-links.ts';
import { createShell } from '../../agent/pod-network/shell.ts';

/** A process in a network namespace of its own; ends with its standard input. */
async function namespace(): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('unshare', ['-n', 'sh', '-c', 'echo ready; read line'], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child as unknown as ChildProcess & { readonly pid: number };
}

// What stands for the machine is a network namespace, too.
describe('a pod is joined to the network', () => {
  const link = { address: '10.99.0.2', mtu: 1_400, linkMtu: 1_400 };
  let [machine, pod]: (ChildProcess & { readonly pid: number })[] = [];
  let inside: string[] = [];
  let links: PodLinks;
  const devices = (pid: number) =>
    execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', '-brief', 'link'], { encoding: 'utf8' });
  beforeAll(async () => {
    [machine, pod] = [await namespace(), await namespace()];
    inside = ['nsenter', `--net=/proc/${machine.pid}/ns/net`];
    links = new PodLinks({ shell: createShell(inside), owner: { dataDir: '/d', nodeName: 'n' }, source: '10.99.0.1' });
    await createShell(inside).run('ip address add 10.99.0.1/32 dev lo; ip link set lo up');
  });
  afterAll(() => {
    for (const each of [machine, pod]) each?.stdin?.end();
  });

  it("through a pair of interfaces, of which one is the pod's", async () => {
    await links.attach({ ...link, pid: pod!.pid });
    expect(devices(pod!.pid)).toMatch(/^eth0@/m);
    expect(await links.list()).toEqual([links.nameOf(link.address)]);
    await links.detach(link.address);
  });

  it("but not by a process of the machine's, which may have the number of a pod's that has ended", async () => {
    const before = devices(machine!.pid);
    await expect(links.attach({ ...link, pid: machine!.pid })).rejects.toThrow('is in the network of the machine');
    expect(devices(machine!.pid)).toBe(before);
  });
});
