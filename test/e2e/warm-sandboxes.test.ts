import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, run } from './installation.ts';
import { metricsPage, sum } from './metrics-page.ts';
import { containerOf, housed, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// Pods that get a sandbox network made in advance behave as other pods do, whatever is killed.
let berth: Installation;
let house: PodHouse;
beforeAll(async () => {
  berth = await createInstallation('warm');
  await berth.up('--warm-sandboxes', '1');
  house = housed(berth);
});
afterAll(() => berth?.purge());

interface Network {
  readonly id: string;
  readonly name: string;
  readonly isRunning: boolean;
}

async function networks(): Promise<Network[]> {
  const filters = ['--filter', `label=io.berth.node=${berth.nodeName}`, '--filter', 'label=io.berth.pool'];
  const { stdout } = await run('docker', ['ps', '-a', '--no-trunc', ...filters, '--format', '{{.ID}} {{.Names}} {{.State}}']);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' '))
    .map(([id = '', name = '', state]) => ({ id, name, isRunning: state === 'running' }));
}

const waits = ({ name, isRunning }: Network) => isRunning && name.startsWith('berth_pool_');
/** The agent has one to give away: it looks at what the engine has made before it does. */
const untilOneWaits = () =>
  eventually('a sandbox waits', async () => {
    const ready = sum(await metricsPage(berth.dataDir, 'agent'), 'berth_agent_warm_sandboxes');
    return ready === 0 ? undefined : (await networks()).find(waits);
  });
const untilOnly = (count: number) =>
  eventually(`${count} networks`, async () => ((await networks()).length === count ? true : undefined));

/** The label of the pod's sandbox that names the network it is in; '' when it has its own. */
async function networkOf(pod: string): Promise<string> {
  const sandbox = (await containersOf(berth.nodeName)).find((each) => each.pod === pod && each.container === 'POD');
  const { stdout } = await run('docker', [
    'inspect',
    '-f',
    '{{index .Config.Labels "io.berth.sandbox.network"}}',
    sandbox?.id ?? '',
  ]);
  return stdout.trim();
}

describe('a pod that finds a network made in advance', () => {
  it('has its own name, address, hosts and name servers, and answers', async () => {
    const ready = await untilOneWaits();
    await house.apply(podOf('warm-one', [script(`hostname > /name; cat /etc/hosts > /hosts; ${stay}`)]));
    const pod = await house.running('warm-one');
    expect(await networkOf('warm-one')).toBe(ready.id);
    expect((await networks()).find(({ id }) => id === ready.id)?.name).toMatch(/^berth_NETWORK_warm-one_default_/);
    const ip = pod.status.podIP ?? '';
    // What it saw when it began, not only what it sees now.
    expect(await house.sh('warm-one', 'cat /name /etc/hostname')).toBe('warm-one\nwarm-one\n');
    expect(await house.sh('warm-one', 'cat /hosts')).toMatch(new RegExp(`^${ip}\\s+warm-one$`, 'm'));
    expect(await house.sh('warm-one', 'cat /etc/resolv.conf')).toContain('nameserver');
    expect(await house.sh('warm-one', 'ip -4 addr show eth0')).toContain(`inet ${ip}/`);
    await untilOneWaits();
  });

  it('has the host name, the aliases and the name servers that it asks for all the same', async () => {
    const { id } = await untilOneWaits();
    await house.apply(
      podOf('called', [script(`cat /etc/hosts > /hosts; cat /etc/resolv.conf > /resolver; ${stay}`)], {
        hostname: 'db',
        subdomain: 'data',
        hostAliases: [{ ip: '10.1.2.3', hostnames: ['store'] }],
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['10.9.8.7'], searches: ['one.example'] },
      }),
    );
    const pod = await house.running('called');
    expect(await networkOf('called')).toBe(id);
    expect(await house.sh('called', 'hostname')).toBe('db\n');
    expect(await house.sh('called', 'cat /hosts')).toMatch(new RegExp(`^${pod.status.podIP}\\s+db\\.data\\..*\\sdb$`, 'm'));
    expect(await house.sh('called', 'grep store /hosts')).toBe('10.1.2.3\tstore\n');
    expect(await house.sh('called', 'cat /resolver')).toBe('search one.example\nnameserver 10.9.8.7\n');
    await berth.ok('delete', 'pod', 'called', '--timeout=60s');
    await untilOneWaits();
  });

  it('is recognized by an agent that starts again, and its network goes with it', async () => {
    const before = containerOf(await house.pod('warm-one'));
    process.kill(berth.pid('agent'), 'SIGKILL');
    await eventually('the agent serves', async () => ((await house.sh('warm-one', 'echo here')) === 'here\n' ? true : undefined));
    const network = await networkOf('warm-one');
    expect(containerOf(await house.pod('warm-one'))).toMatchObject({ containerID: before.containerID, restartCount: 0 });
    expect((await networks()).map(({ id }) => id)).toContain(network);
    await berth.ok('delete', 'pod', 'warm-one', '--timeout=60s');
    expect((await networks()).map(({ id }) => id)).not.toContain(network);
  });

  it('gets another sandbox when its network dies', async () => {
    await untilOneWaits();
    await house.apply(podOf('bereft', [script(stay)]));
    await house.running('bereft');
    const first = await networkOf('bereft');
    expect(first).not.toBe('');
    await run('docker', ['kill', first]);
    const again = await house.until(
      'bereft',
      'runs again',
      (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) === 1,
    );
    expect(await networkOf('bereft')).not.toBe(first);
    expect(await house.sh('bereft', 'ip -4 addr show eth0')).toContain(`inet ${again.status.podIP}/`);
    await berth.ok('delete', 'pod', 'bereft', '--timeout=60s');
  });
});

describe('networks made in advance', () => {
  it('that were claimed for a sandbox that was never made are removed, and others are made for them', async () => {
    const claimed = await untilOneWaits();
    process.kill(berth.pid('agent'), 'SIGKILL');
    await run('docker', ['rename', claimed.name, `berth_NETWORK_never_default_${process.pid}_0`]);
    const next = await eventually('another waits', async () =>
      (await networks()).find((each) => waits(each) && each.id !== claimed.id),
    );
    expect(next.id).not.toBe(claimed.id);
    await untilOnly(1);
  });

  it('that died are replaced when a pod needs one, which starts all the same', async () => {
    const { id } = await untilOneWaits();
    await run('docker', ['kill', id]);
    await house.apply(podOf('undeterred', [script(stay)]));
    await house.running('undeterred');
    expect(await networkOf('undeterred')).not.toBe(id);
    await eventually('another waits', async () => (await networks()).find((each) => waits(each) && each.id !== id));
  });

  it('are not for pods that need a network of their own kind', async () => {
    const { id } = await untilOneWaits();
    await house.apply(
      podOf('ported', [script(stay, { ports: [{ containerPort: 80, hostPort: 18_933 }] })]),
      podOf('machines', [script(stay)], { hostNetwork: true }),
      podOf('tuned', [script(stay)], {
        securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '7' }] },
      }),
    );
    const own = ['ported', 'machines', 'tuned'];
    await Promise.all(own.map(house.running));
    expect(await Promise.all(own.map(networkOf))).toEqual(['', '', '']);
    expect(await house.sh('tuned', 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start')).toBe('7\n');
    expect((await networks()).find(waits)?.id).toBe(id);
  });

  it('leave with their agent when it is stopped, and nothing of pods is left when Berth is purged', async () => {
    await untilOneWaits();
    await berth.ok('down', '--data-dir', berth.dataDir);
    expect((await networks()).filter(waits)).toEqual([]);
    await berth.up();
    await berth.ok('down', '--purge', '--yes', '--data-dir', berth.dataDir);
    expect(await containersOf(berth.nodeName)).toEqual([]);
    expect(await networks()).toEqual([]);
  });
});
